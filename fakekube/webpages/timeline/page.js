"use strict";
const doc = JSON.parse(document.getElementById("document").textContent);
const $ = id => document.getElementById(id), SVG = "http://www.w3.org/2000/svg", LANE = 30;
const all = doc.entries, bySerial = new Map(all.map(e => [e.serial, e])), effects = new Map();
for (const e of all) for (const c of e.because) effects.has(c) ? effects.get(c).push(e.serial) : effects.set(c, [e.serial]);
const actors = [...new Set(all.map(e => e.role || e.actor))];
const KINDS = {reconcile: "Reconciles", request: "Requests", stored: "Server", informer: "Informers", note: "Notes"};
const HUES = [221, 152, 28, 283, 190, 340, 88, 255, 12, 172];
const state = {selected: 0, zoom: 1, mode: "order", query: "", kinds: new Set(Object.keys(KINDS)), hidden: new Set(), only: false};

function el(name, attributes = {}, ...children) {
  const svg = ["svg", "g", "circle", "rect", "line", "path", "text", "title"].includes(name);
  const made = svg ? document.createElementNS(SVG, name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes))
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== false && value !== null) made.setAttribute(key, value === true ? "" : value);
  made.append(...children.filter(c => c !== null && c !== false));
  return made;
}
/** What a page with two timelines replaces. */
const view = {
  lane: e => e.actor, laneOf: lane => lane, columns: shown => [shown.length, new Map(shown.map((e, i) => [e.serial, i]))],
  header: () => {}, marks: () => {}, rows: drawRows, overview: () => [], beside: () => [], following: () => true, opened: () => {},
};
const color = e => { if (fact(e, "atom")) return "var(--fault)";
  const h = HUES[actors.indexOf(e.role || e.actor) % HUES.length];
  return `light-dark(hsl(${h} 72% 28%), hsl(${h} 74% 70%))`; };
const pad = n => String(n).padStart(2, "0");
function clock(us) {
  const s = Math.floor(us / 1e6), rest = us % 1e6, d = Math.floor(s / 86400);
  const text = `${pad(Math.floor(s / 3600) % 24)}:${pad(Math.floor(s / 60) % 60)}:${pad(s % 60)}`;
  return (d ? `+${d}d ${text}` : `+${text}`) + (rest ? "." + String(rest).padStart(6, "0").replace(/0+$/, "") : "");
}
function span(us) {
  const units = [["d", 864e8], ["h", 36e8], ["min", 6e7], ["s", 1e6], ["ms", 1e3], ["µs", 1]];
  const parts = [];
  for (const [name, size] of units) { const n = Math.floor(us / size); us -= n * size; if (n) parts.push(`${n} ${name}`); }
  return parts.slice(0, 2).join(" ") || "0 s";
}
const ordinal = n => n + (n % 100 > 10 && n % 100 < 14 ? "th" : ["th", "st", "nd", "rd"][n % 10] || "th");
const fact = (e, name) => (e.facts.find(f => f[0] === name) || [])[1];

/** The serials that `next` leads to from an entry, with their distance, nearest branch first. */
function walk(serial, next) {
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
const causesOf = s => bySerial.get(s).because, effectsOf = s => effects.get(s) || [];

function visible() {
  const words = state.query.toLowerCase().split(/\s+/).filter(Boolean);
  const chain = state.only && state.selected ? new Set([state.selected, ...walk(state.selected, causesOf).map(p => p[0]),
    ...walk(state.selected, effectsOf).map(p => p[0])]) : null;
  return all.filter(e => state.kinds.has(e.kind) && !state.hidden.has(view.lane(e)) && (!chain || chain.has(e.serial)) &&
    words.every(w => `${e.actor} ${e.what} ${e.cause} ${e.object}`.toLowerCase().includes(w)));
}

function drawHeader() {
  $("title").textContent = doc.title || "fakekube timeline"; document.title = `${doc.title || "fakekube"} · timeline`;
  const end = all.reduce((t, e) => Math.max(t, e.at + e.took), 0);
  $("facts").textContent = `${all.length} entries in ${span(end)} of virtual time` + (doc.dropped ? `; ${doc.dropped} earlier ones left out` : "");
  for (const [kind, name] of Object.entries(KINDS)) {
    const n = all.filter(e => e.kind === kind).length;
    if (n) $("kinds").append(el("button", {class: "kind", "aria-pressed": "true", title: `${n} entries`, onclick: event => {
      state.kinds.has(kind) ? state.kinds.delete(kind) : state.kinds.add(kind);
      event.target.setAttribute("aria-pressed", state.kinds.has(kind)); draw(); }}, name));
  }
}

let place = new Map();
function drawLanes(shown, marks) {
  const owners = new Map(all.toSorted((a, b) => (a.side || 0) - (b.side || 0)).map(e => [view.lane(e), e])), lanes = [...owners.keys()], height = lanes.length * LANE;
  $("names").replaceChildren(...lanes.map(a => el("button", {title: `${a}: show or hide`, style: `--lane:${color(owners.get(a))};opacity:${state.hidden.has(a) ? .4 : 1}`,
    onclick: () => { state.hidden.has(a) ? state.hidden.delete(a) : state.hidden.add(a); draw(); }}, a)));
  const room = Math.max(200, $("chart").clientWidth), width = room * state.zoom, inner = width - 60;
  const first = shown.reduce((t, e) => Math.min(t, e.at), shown.length ? shown[0].at : 0), [count, column] = view.columns(shown), last = shown.reduce((t, e) => Math.max(t, e.at + e.took), first + 1);
  const x = e => 30 + inner * (state.mode === "time" ? (e.at - first) / (last - first) : count < 2 ? .5 : column.get(e.serial) / (count - 1));
  place = new Map(shown.map(e => [e.serial, [x(e), lanes.indexOf(view.lane(e)) * LANE + LANE / 2]]));
  const svg = el("svg", {width, height: height + 22, class: state.selected ? "chain" : ""});
  lanes.forEach((a, i) => i % 2 || svg.append(el("rect", {class: "band", x: 0, y: i * LANE, width, height: LANE})));
  let labelled = -1e9, moment = -1, ticked = -1e9;
  shown.toSorted((a, b) => x(a) - x(b)).forEach(e => {
    if (e.at === moment) return;
    moment = e.at;
    const at = x(e);
    if (at - ticked > 7) { svg.append(el("line", {class: "tick", x1: at, x2: at, y1: 0, y2: height})); ticked = at; }
    if (at - labelled > 104) { svg.append(el("text", {class: "label", x: at, y: height + 15, "text-anchor": at < 50 ? "start" : at > width - 50 ? "end" : "middle"}, clock(e.at))); labelled = at; }
  });
  const arcs = (pairs, kind) => pairs.forEach(([from, to]) => {
    if (!place.has(from) || !place.has(to)) return;
    const [x1, y1] = place.get(from), [x2, y2] = place.get(to), bend = y1 === y2 ? -Math.min(16, 4 + Math.abs(x2 - x1) / 8) : 0;
    svg.append(el("path", {class: `arc ${kind}`, d: `M${x1} ${y1} C${(x1 + x2) / 2} ${y1 + bend} ${(x1 + x2) / 2} ${y2 + bend} ${x2} ${y2}`}));
  });
  const R = Math.max(3, Math.min(7, inner / Math.max(1, count) / 2.2));
  view.marks(svg, height);
  for (const e of shown) {
    const [cx, cy] = place.get(e.serial), dim = state.selected && !marks.has(e.serial) ? " dim" : "";
    if (e.took && state.mode === "time")
      svg.append(el("rect", {class: "span" + dim, x: cx, y: cy - 5, width: Math.max(1, inner * e.took / (last - first)), height: 10, rx: 5, fill: color(e)}));
    const common = {class: `dot${e.failed ? " failed" : ""}${e.serial === state.selected ? " selected" : ""}${dim}`, "data-serial": e.serial,
      style: `fill:${color(e)}`, onclick: () => select(e.serial)};
    const tip = el("title", {}, `${clock(e.at)}  ${e.actor}: ${e.what}`);
    svg.append(e.kind === "reconcile" ? el("rect", {...common, x: cx - R, y: cy - R - 1, width: 2 * R, height: 2 * R + 2, rx: 2.5}, tip)
      : el("circle", {...common, cx, cy, r: e.kind === "request" ? R : R * .75}, tip));
  }
  if (state.selected) {
    arcs(edges(state.selected, causesOf).map(([a, b]) => [b, a]), "cause");
    arcs(edges(state.selected, effectsOf), "effect");
  }
  const keep = $("chart").scrollLeft;
  $("chart").replaceChildren(svg);
  $("chart").scrollLeft = keep;
}
function edges(serial, next) {
  const found = [], nodes = [serial, ...walk(serial, next).map(p => p[0])];
  for (const a of nodes) for (const b of next(a)) if (bySerial.has(b)) found.push([a, b]);
  return found;
}

function drawRows(shown, marks) {
  const made = [];
  let before = null;
  for (const e of shown) {
    if (before !== null && e.at - before >= 1e6) made.push(el("div", {class: "gap"}, `${span(e.at - before)} later`));
    before = e.at;
    const mark = e.serial === state.selected ? " selected" : marks.has(e.serial) ? ` is-${marks.get(e.serial)}` : "";
    made.push(el("button", {class: `row${e.failed ? " failed" : ""}${mark}`, "data-serial": e.serial, style: `--lane:${color(e)}`,
      onclick: () => select(e.serial)}, el("span", {class: "time"}, clock(e.at)), el("span", {class: "who", title: e.actor}, e.actor),
      el("span", {class: "what", title: e.what}, e.what), el("span", {class: "cause", title: e.cause}, e.cause)));
  }
  $("rows").className = state.selected ? "chain" : "";
  $("rows").replaceChildren(...(made.length ? made : [el("p", {class: "empty"}, all.length ? "No entry matches the filter." : "Nothing was recorded.")]));
}

/** One sentence: why this happened. */
function answer(e) {
  const by = e.because.map(s => bySerial.get(s)).filter(Boolean).map(c =>
    c.kind === "reconcile" ? `reconcile #${fact(c, "number")} of ${fact(c, "key")} by ${c.actor}` : `${c.actor}'s ${c.what}`);
  if (e.kind === "reconcile") {
    const causes = e.facts.filter(f => f[0] === "cause").map(f => f[1]);
    const named = {requeue_after: "its last result asked for it (requeue_after)", requeue: "its last result asked for it (requeue)",
      retry: "it failed before and is retried", generic: "it was enqueued without an event of an object"};
    const text = [...new Set(causes)].map(c => named[c] || c.replace(/^(\w+) (.*?)@(\d+)$/, (_, what, of, rv) =>
      what === "resync" || what === "relist" ? `of a ${what} (${of})` : `${of} was ${what} (resourceVersion ${rv})`)).join(", and ");
    return `${fact(e, "key")} was reconciled the ${ordinal(+fact(e, "number"))} time because ${text || "of an unknown cause"}` + (by.length ? `: after ${by.join(", and ")}.` : ".");
  }
  if (by.length && fact(e, "atom")) return `Took effect at ${by.join(", and ")}.`;
  if (by.length) return `Made by ${by.join(", and ")}.`;
  return e.kind === "request" ? `Made by ${e.actor}, outside of a reconcile.` : "";
}

function steps(path, edge) {
  return path.slice(0, 60).map(([serial, depth]) => { const e = bySerial.get(serial);
    return el("button", {class: `step ${edge}${e.failed ? " failed" : ""}`, "data-serial": serial, style: `--edge:var(--${edge});--lane:${color(e)};margin-left:${Math.min(depth - 1, 8) * 12}px;width:auto`,
      onclick: () => select(serial)}, el("b", {}, e.actor), ` ${e.what}`, el("small", {}, clock(e.at) + (e.cause ? ` · ${e.cause}` : ""))); });
}
const json = value => typeof value === "string" ? value : JSON.stringify(value);
function changed(c) {
  const out = [el("h3", {}, c.verb), el("div", {class: "soft object"}, `${c.object} · rv ${c.revision}`)];
  if (c.fields.length) out.push(el("table", {class: "fields"}, ...c.fields.map(([path, before, after, added, removed]) => el("tr", {},
    el("td", {}, path), el("td", {}, added ? "" : el("del", {}, json(before)), added || removed ? "" : " → ", removed ? "" : el("ins", {}, json(after)))))));
  else if (c.verb === "updated") out.push(el("p", {class: "soft"}, c.known ? "Only resourceVersion or managedFields changed." : "The version before is not known."));
  if (c.more) out.push(el("p", {class: "soft"}, `${c.more} more fields`));
  if (c.stored) out.push(el("details", {open: c.verb === "created"}, el("summary", {}, "The stored object"), el("pre", {}, JSON.stringify(c.stored, null, 2))));
  return out;
}
function drawDetails() {
  const e = bySerial.get(state.selected), panel = $("details");
  if (!e) { panel.replaceChildren(el("h2", {}, "What happened"), ...view.overview(), el("p", {class: "soft"},
    "Click an entry to see why it happened, what it led to and what it changed. Keys: ↑ ↓ select, ← its cause, → its effect, / filter, Esc clear."),
    el("h3", {}, "Failed"), ...(all.some(x => x.failed) ? steps(all.filter(x => x.failed).map(x => [x.serial, 1]), "bad") : [el("p", {class: "soft"}, "Nothing failed.")])); return; }
  const causes = walk(e.serial, causesOf), led = walk(e.serial, effectsOf), text = answer(e);
  panel.replaceChildren(el("h2", {class: e.failed ? "failed" : ""}, e.what),
    el("div", {class: "soft"}, `${clock(e.at)} · ${e.actor}` + (e.took ? ` · took ${span(e.took)}` : "") + (e.rv ? ` · rv ${e.rv}` : "")),
    ...(e.object ? [el("button", {style: "margin-top:8px", title: "Show only this object", onclick: () => { $("query").value = state.query = e.object.split(" ").pop(); draw(); }}, e.object)] : []),
    ...(text ? [el("p", {id: "answer"}, text)] : []), ...view.beside(e),
    el("h3", {}, "Because of"), ...(causes.length ? steps(causes, "cause") : [el("p", {class: "soft"}, "No recorded entry.")]),
    el("h3", {}, "Led to"), ...(led.length ? steps(led, "effect") : [el("p", {class: "soft"}, "Nothing recorded.")]),
    ...e.changes.flatMap(changed),
    ...(e.kind === "reconcile" ? e.because.map(s => bySerial.get(s)).filter(Boolean).flatMap(c => c.changes.flatMap(changed)) : []),
    ...(e.facts.length ? [el("h3", {}, "Details"), el("dl", {}, ...e.facts.flatMap(([k, v]) => [el("dt", {}, k), el("dd", {}, v)]))] : []));
  panel.scrollTop = 0;
}

function draw() {
  const marks = new Map();
  if (state.selected) {
    walk(state.selected, effectsOf).forEach(([s]) => marks.set(s, "effect"));
    walk(state.selected, causesOf).forEach(([s]) => marks.set(s, "cause"));
    marks.set(state.selected, "selected");
  }
  const shown = visible();
  $("order").setAttribute("aria-pressed", state.mode === "order"); $("time").setAttribute("aria-pressed", state.mode === "time");
  drawLanes(shown, marks); view.rows(shown, marks); drawDetails();
}
function select(serial) {
  state.selected = serial && bySerial.has(serial) ? serial : 0;
  history.replaceState(null, "", state.selected ? `#e=${state.selected}` : location.pathname + location.search);
  draw();
  const row = document.querySelector(".row.selected"), at = place.get(state.selected), chart = $("chart");
  if (row) row.scrollIntoView({block: "nearest"});
  if (at && (at[0] < chart.scrollLeft || at[0] > chart.scrollLeft + chart.clientWidth)) chart.scrollLeft = at[0] - chart.clientWidth / 2;
}
function zoom(factor, around = $("chart").clientWidth / 2) {
  const chart = $("chart"), share = (chart.scrollLeft + around) / (chart.clientWidth * state.zoom);
  state.zoom = factor ? Math.min(400, Math.max(1, state.zoom * factor)) : 1;
  draw();
  chart.scrollLeft = share * chart.clientWidth * state.zoom - around;
}
$("query").addEventListener("input", event => { state.query = event.target.value; draw(); });
$("order").onclick = () => { state.mode = "order"; draw(); }; $("time").onclick = () => { state.mode = "time"; draw(); };
$("in").onclick = () => zoom(1.6); $("out").onclick = () => zoom(1 / 1.6); $("fit").onclick = () => zoom(0);
$("only").onclick = () => { state.only = !state.only; $("only").setAttribute("aria-pressed", state.only); draw(); };
$("theme").onclick = () => { const dark = getComputedStyle(document.documentElement).colorScheme === "dark" || (!document.documentElement.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset.theme = dark ? "light" : "dark"; };
$("chart").addEventListener("wheel", event => { if (!event.ctrlKey && !event.altKey) return; event.preventDefault();
  zoom(event.deltaY < 0 ? 1.25 : .8, event.clientX - $("chart").getBoundingClientRect().left); }, {passive: false});
addEventListener("keydown", event => {
  if (event.target === $("query")) { if (event.key === "Escape") event.target.blur(); return; }
  const shown = visible().filter(view.following), i = shown.findIndex(e => e.serial === state.selected);
  const to = {ArrowDown: () => shown[i + 1]?.serial, ArrowUp: () => shown[Math.max(0, i - 1)]?.serial,
    ArrowLeft: () => causesOf(state.selected)?.[0], ArrowRight: () => effectsOf(state.selected)[0]}[event.key];
  if (event.key === "/") { event.preventDefault(); $("query").focus(); }
  else if (event.key === "Escape") select(0);
  else if (to && (state.selected || event.key === "ArrowDown")) { event.preventDefault(); const s = to(); if (s) select(s); }
});
addEventListener("resize", draw);
addEventListener("hashchange", fromAddress);
function fromAddress() { select(+(/^#e=(\d+)$/.exec(location.hash) || [])[1] || 0); }
state.zoom = Math.min(40, Math.max(1, all.length * 9 / Math.max(400, $("chart").clientWidth)));
function start() { drawHeader(); view.header(); fromAddress(); view.opened(); }
