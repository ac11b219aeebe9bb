// Times and numbers as text. Times are in microseconds.
const pad = n => String(n).padStart(2, "0");

/** A time since the start of the cluster: `+1d 02:03:04.005`. */
export function clock(us) {
  const s = Math.floor(us / 1e6), rest = us % 1e6, d = Math.floor(s / 86400);
  const text = `${pad(Math.floor(s / 3600) % 24)}:${pad(Math.floor(s / 60) % 60)}:${pad(s % 60)}`;
  return (d ? `+${d}d ${text}` : `+${text}`) + (rest ? "." + String(rest).padStart(6, "0").replace(/0+$/, "") : "");
}

/** A duration in its two largest units: `2 h 5 min`. */
export function span(us) {
  const units = [["d", 864e8], ["h", 36e8], ["min", 6e7], ["s", 1e6], ["ms", 1e3], ["µs", 1]], parts = [];
  for (const [name, size] of units) {
    const n = Math.floor(us / size);
    us -= n * size;
    if (n) parts.push(`${n} ${name}`);
  }
  return parts.slice(0, 2).join(" ") || "0 s";
}

/** `1st`, `2nd`, `3rd`, `4th`. */
export const ordinal = n => n + (n % 100 > 10 && n % 100 < 14 ? "th" : ["th", "st", "nd", "rd"][n % 10] || "th");
