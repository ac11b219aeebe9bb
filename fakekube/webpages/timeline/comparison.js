// Two timelines beside each other: what replaces parts of the page of one.
import { all, bySerial, color, doc } from "./entries.js";
import { $, el } from "./element.js";
import { state, view } from "./state.js";
import { place } from "./lanes.js";
import { isNarrow, none, scrollToItem, showList } from "./rows.js";
import { steps } from "./details.js";
import { select } from "./main.js";
import { clock, span } from "./text.js";

const both = doc.comparison, names = both.names, rowOf = new Map(), PER_ROW = 4;
both.rows.forEach(([left, right], i) => { if (left) rowOf.set(left, i); if (right) rowOf.set(right, i); });
const hits = new Map((both.atoms || []).filter(a => a.serial).map(a => [a.serial, a.text]));
const operators = new Set(all.filter(e => e.kind === "reconcile").map(e => e.role));
const first = (both.rows[both.first] || [0, 0]).slice(0, 2);
const step = (serial, edge) => steps([[serial, 1]], edge)[0];
const nothing = text => el("p", {class: "soft none"}, text);

/** The actor without its operator, where only one operator has a controller of this name: `vault@2`. */
const owners = new Map();
for (const e of all) if (e.actor.includes("/")) owners.set(e.role, (owners.get(e.role) || new Set()).add(e.actor.replace(/(@\d+)?\/.*/, "")));
const shortActor = e => owners.get(e.role)?.size === 1 ? e.role + (/@\d+(?=\/)/.exec(e.actor) || [""])[0] : e.actor;

view.group = e => names[e.side];
view.lane = e => `${names[e.side]} · ${e.actor}`;
view.columns = shown => {
  const used = [...new Set(shown.map(e => rowOf.get(e.serial)))].sort((a, b) => a - b), at = new Map(used.map((row, i) => [row, i]));
  return [used.length, new Map(shown.map(e => [e.serial, at.get(rowOf.get(e.serial))]))];
};
view.following = e => !bySerial.has(state.selected) || e.side === bySerial.get(state.selected).side;

/** Lines in the lanes at the first difference and at the faults. */
view.marks = (svg, height) => {
  const line = (serial, kind, text) => { if (!place.has(serial)) return;
    const [at] = place.get(serial);
    svg.append(el("line", {class: `mark ${kind}`, x1: at, x2: at, y1: 0, y2: height}, el("title", {}, text))); };
  hits.forEach((text, serial) => line(serial, "fault", text));
  line(first.find(s => place.has(s)), "differs", "The first difference");
};

view.header = () => {
  document.body.classList.add("compares");
  const result = el("section", {id: "result", "aria-label": "Result"}), code = text => el("code", {}, text);
  const button = (attributes, text, act) => { const made = el("button", attributes, text); made.addEventListener("click", act); return made; };
  const row = (name, id, ...parts) => result.append(el("div", {class: "line", id}, el("span", {class: "soft", title: {passes: "The nearest plan that passes"}[id] || ""}, name), el("div", {}, ...parts)));
  if (both.violations) row("Failed", "violations", ...(both.violations.length ? violations(both.violations) : [el("p", {}, "No oracle fails.")]));
  if (both.replay) row("Replay", "replay", code(both.replay), " ", button({id: "copy", title: "Copy the command"}, "Copy", copy));
  if (both.passes) row("Passes", "passes", code(both.passes));
  row("Go to", "goto", button({id: "to-first", class: "to differs", disabled: both.first < 0}, both.first < 0 ? "No difference" : "≠ First difference", toFirst),
    ...(both.atoms || []).flatMap((a, i) => [" ", button({id: `atom-${i}`, class: "to fault", disabled: !a.serial, title: a.serial ? "Where this fault took effect" : "It did not take effect at one place"},
      `⚡ ${a.text}`, () => show(a.serial))]));
  $("lanes").before(result);
};
function violations(texts) {
  const made = texts.map(text => el("p", {class: "violation"}, text)), more = made.slice(3);
  return [...made.slice(0, 3), ...(more.length ? [el("details", {}, el("summary", {}, `${more.length} more`), ...more)] : [])];
}
function copy() {
  const range = document.createRange(), text = document.querySelector("#replay code");
  range.selectNodeContents(text);
  getSelection().removeAllRanges(); getSelection().addRange(range);
  const copied = () => { $("copy").textContent = "Copied"; };
  if (navigator.clipboard) navigator.clipboard.writeText(text.textContent).then(copied, () => document.execCommand("copy") && copied());
  else if (document.execCommand("copy")) copied();
}
function show(serial) { select(serial, .4); }
function toFirst() { show(first.find(s => s && bySerial.has(s))); }
view.opened = () => { if (!state.selected) toMark(); };
function toMark() {
  if (mark >= 0) scrollToItem(mark, 1 / 3);
  const at = first.map(s => place.get(s)).find(Boolean);
  if (at) $("lanes").scrollLeft = at[0] - $("lanes").clientWidth / 2;
}

/** The number of the item that marks the first difference. */
let mark = -1;

view.rows = (shown, marks) => {
  const wanted = new Set(shown.map(e => e.serial)), items = [], before = [null, null], height = isNarrow() ? 44 : 26;
  const longest = shown.reduce((n, e) => Math.max(n, shortActor(e).length), 4);
  mark = -1;
  both.rows.forEach(([left, right, sign], i) => {
    if (!wanted.has(left) && !wanted.has(right)) return;
    const waits = [left, right].map((s, side) => waited(wanted.has(s) ? bySerial.get(s) : null, before, side));
    if (waits[0] || waits[1]) items.push({height: 20, make: () => pause(waits)});
    if (i === both.first) { mark = items.length; items.push({height: 26, make: () => el("div", {id: "first"}, "First difference")}); }
    items.push({height, serials: [left, right].filter(s => wanted.has(s)), make: () => pair(i, [left, right].map(s => wanted.has(s) ? s : 0), sign, marks)});
  });
  $("rows").className = state.selected ? "chain" : "";
  $("rows").style.setProperty("--who", `${Math.min(16, longest + 1)}ch`);
  showList(items.length ? items : [none("No entry matches the filter.")],
    el("div", {class: "pair heads"}, el("b", {}, names[0]), el("i"), el("b", {}, names[1])));
};
/** The time since the entry before on the same side, if it is a second or more. */
function waited(e, before, side) {
  if (!e) return 0;
  const found = before[side] === null ? 0 : e.at - before[side];
  before[side] = e.at;
  return found >= 1e6 ? found : 0;
}
function pause(waits) {
  return el("div", {class: "pair waits"}, ...waits.flatMap((w, side) => [w ? el("span", {class: "gap"}, `${span(w)} later`) : el("span"), ...(side ? [] : [el("i")])]));
}
function pair(i, [left, right], sign, marks) {
  return el("div", {class: `pair${sign === "≠" ? " differs" : sign ? " varies" : ""}${i === both.first ? " first" : ""}`}, cell(left, marks),
    el("i", {title: {"≠": "Not the same event", "~": "The same event with another result or value"}[sign] || ""}, sign), cell(right, marks));
}
function cell(serial, marks) {
  const e = bySerial.get(serial);
  if (!e) return el("span", {class: "blank"});
  const chosen = serial === state.selected ? " selected" : marks.has(serial) ? ` is-${marks.get(serial)}` : "";
  return el("button", {class: `row${e.failed ? " failed" : ""}${chosen}${hits.has(serial) ? " hit" : ""}`, "data-serial": serial, style: `--lane:${color(e)}`,
    "aria-current": serial === state.selected ? "true" : null},
    el("span", {class: "time", title: clock(e.at)}, clock(e.at)), el("span", {class: "who", title: e.actor}, hits.has(serial) ? "⚡ fault" : shortActor(e)),
    el("span", {class: "what", title: e.cause ? `${e.what} · ${e.cause}` : e.what}, e.what));
}

/** What one side did after a row: the next entries of an actor, or of all operators. */
function next(side, row, role) {
  const found = [];
  for (let i = row + 1; i < both.rows.length && found.length < PER_ROW; i++) {
    const e = bySerial.get(both.rows[i][side]);
    if (e && (role ? e.role === role : operators.has(e.role)) && (e.kind === "reconcile" || e.kind === "request")) found.push(e.serial);
  }
  return found;
}
function then(row, role) {
  return [0, 1].flatMap(side => { const found = next(side, row, role);
    return [el("h3", {}, `Next ${role ? `by ${role}` : "by operators"} in ${names[side]}`),
      el("div", {class: `then side-${side}`}, ...(found.length ? found.map(s => step(s, "accent")) : [nothing("Nothing.")]))]; });
}
const operatorOf = serials => serials.map(s => bySerial.get(s)).filter(Boolean).map(e => e.role).find(role => operators.has(role));
view.overview = () => {
  const faults = [...hits.keys()].flatMap(serial => [el("h3", {}, "Fault"), step(serial, "fault")]), title = el("h3", {}, "First difference");
  if (both.first < 0) return [title, nothing("The timelines do not differ."), ...faults];
  const sides = first.map((serial, side) => el("div", {class: `side-${side} at-first`}, el("small", {class: "soft"}, names[side]),
    bySerial.has(serial) ? step(serial, "bad") : nothing("Nothing at this point.")));
  return [title, ...sides, ...faults, ...then(both.first, operatorOf(first))];
};
view.beside = e => {
  const row = rowOf.get(e.serial), [left, right, mark] = both.rows[row], other = e.side ? left : right, name = names[1 - e.side];
  const same = {"": "The same", "~": "The same event with another result or value", "≠": "Another event at this place"}[mark];
  return [el("h3", {}, `In ${name}`), ...(bySerial.has(other) ? [el("p", {class: "soft none"}, `${same}:`), step(other, "accent")] : [nothing("No such event.")]),
    ...then(row, operators.has(e.role) ? e.role : undefined)];
};
