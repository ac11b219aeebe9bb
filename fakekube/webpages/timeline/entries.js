// The entries of the document, and how they are joined by cause.
export const doc = JSON.parse(document.getElementById("document").textContent);
export const all = doc.entries, bySerial = new Map(all.map(e => [e.serial, e]));

const effects = new Map();
for (const e of all) for (const c of e.because) effects.has(c) ? effects.get(c).push(e.serial) : effects.set(c, [e.serial]);

export const causesOf = s => bySerial.get(s)?.because || [], effectsOf = s => effects.get(s) || [];
export const fact = (e, name) => (e.facts.find(f => f[0] === name) || [])[1];

/** The serials that `next` leads to from an entry, with their distance, nearest branch first. */
export function walk(serial, next) {
  const seen = new Map([[serial, 0]]), path = [], pending = [[serial, 0]];
  while (pending.length) {
    const [at, depth] = pending.pop();
    if (depth) path.push([at, depth]);
    const fresh = next(at).filter(s => !seen.has(s) && bySerial.has(s));
    fresh.forEach(s => seen.set(s, depth + 1));
    pending.push(...fresh.reverse().map(s => [s, depth + 1]));
  }
  return path;
}

/** The pairs of entries that `next` joins, from an entry on. */
export function edges(serial, next) {
  const found = [], nodes = [serial, ...walk(serial, next).map(p => p[0])];
  for (const a of nodes) for (const b of next(a)) if (bySerial.has(b)) found.push([a, b]);
  return found;
}

/** An entry, all its causes and all its effects. */
export const chainOf = serial => new Set([serial, ...walk(serial, causesOf).map(p => p[0]), ...walk(serial, effectsOf).map(p => p[0])]);

/** 0: the test; 1: operators and other clients; 2: parts of the cluster itself. */
export const rank = e => e.system ? 2 : e.actor === "test" ? 0 : 1;

const HUES = [221, 152, 28, 283, 190, 340, 88, 255, 12, 172];
const actorOf = e => e.role || e.actor;
const actors = [...new Set(all.toSorted((a, b) => rank(a) - rank(b)).map(actorOf))], numbers = new Map(actors.map((a, i) => [a, i]));

/** The color of an entry's actor. */
export function color(e) {
  if (fact(e, "atom")) return "var(--fault)";
  const h = HUES[numbers.get(actorOf(e)) % HUES.length];
  return `light-dark(hsl(${h} 72% 28%), hsl(${h} 74% 70%))`;
}
