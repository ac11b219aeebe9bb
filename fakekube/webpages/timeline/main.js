// The page of a timeline: its header, what is drawn when, keys and clicks.
import { all, bySerial, causesOf, doc, effectsOf, walk } from "./entries.js";
import { $, el } from "./element.js";
import { KINDS, state, view, visible } from "./state.js";
import { drawLanes, drawSight, reveal, zoomed } from "./lanes.js";
import { drawWindow, scrollToEntry } from "./rows.js";
import { drawDetails } from "./details.js";
import { span } from "./text.js";

function drawHeader() {
  const title = doc.title || "fakekube timeline";
  $("title").textContent = title;
  $("title").title = title;
  document.title = `${doc.title || "fakekube"} · timeline`;
  const end = all.reduce((t, e) => Math.max(t, e.at + e.took), 0);
  $("facts").textContent = `${all.length} entries in ${span(end)} of virtual time` + (doc.dropped ? `; ${doc.dropped} earlier ones left out` : "");
  if (doc.failure) {
    $("failure").hidden = false;
    $("failure").textContent = doc.failure.split("\n")[0];
  }
  for (const [kind, name] of Object.entries(KINDS))
    toggle(name, all.filter(e => e.kind === kind).length, () => { state.kinds.has(kind) ? state.kinds.delete(kind) : state.kinds.add(kind); return state.kinds.has(kind); });
  toggle("System", all.filter(e => e.system).length, () => { state.system = !state.system; return state.system; });
}
function toggle(name, count, act) {
  if (!count) return;
  const button = el("button", {class: "kind", "aria-pressed": "true", title: `${name}: ${count} entries, show or hide`}, name);
  button.addEventListener("click", () => { button.setAttribute("aria-pressed", String(act())); redraw(); });
  $("kinds").append(button);
}

export function draw() {
  const marks = new Map();
  if (state.selected) {
    walk(state.selected, effectsOf).forEach(([s]) => marks.set(s, "effect"));
    walk(state.selected, causesOf).forEach(([s]) => marks.set(s, "cause"));
    marks.set(state.selected, "selected");
  }
  const shown = visible();
  $("order").setAttribute("aria-pressed", String(state.mode === "order"));
  $("time").setAttribute("aria-pressed", String(state.mode === "time"));
  $("only").setAttribute("aria-pressed", String(state.only));
  $("only").disabled = !state.selected && !state.only;
  drawLanes(shown, marks);
  view.rows(shown, marks);
  drawDetails();
}

/** Draw what is shown now, and keep the selected entry in sight. */
export function redraw() {
  draw();
  reveal(state.selected);
  scrollToEntry(state.selected);
}

/** Select an entry, or none (0); `share`: at which part of the rows it is shown, if not the nearest. */
export function select(serial, share = NaN) {
  state.selected = serial && bySerial.has(serial) ? serial : 0;
  history.replaceState(null, "", state.selected ? `#e=${state.selected}` : location.pathname + location.search);
  draw();
  reveal(state.selected);
  scrollToEntry(state.selected, share);
  $("details").scrollTop = 0;
}

/** Draw other entries than before: zoom so that there is room for them. */
function refit() { state.zoom = 0; redraw(); }

function clicked(event) {
  const hit = event.target.closest("[data-serial], [data-lane], [data-fold], [data-filter]");
  if (!hit) return;
  const {serial, lane, fold, filter} = hit.dataset, flip = (set, key) => { set.has(key) ? set.delete(key) : set.add(key); redraw(); };
  if (serial) select(+serial);
  else if (lane) { flip(state.hidden, lane); $("names").querySelector(`[data-lane="${CSS.escape(lane)}"]`)?.focus(); }
  else if (fold) { flip(state.unfolded, fold); $("names").querySelector(`[data-fold="${CSS.escape(fold)}"]`)?.focus(); }
  else { $("query").value = state.query = filter; refit(); }
}

function pressed(event) {
  if (event.target === $("query")) { if (event.key === "Escape") event.target.blur(); return; }
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  const shown = visible().filter(view.following), i = shown.findIndex(e => e.serial === state.selected);
  const to = {ArrowDown: () => shown[i + 1]?.serial, ArrowUp: () => shown[Math.max(0, i - 1)]?.serial,
    ArrowLeft: () => causesOf(state.selected)[0], ArrowRight: () => effectsOf(state.selected)[0]}[event.key];
  if (event.key === "/") { event.preventDefault(); $("query").focus(); }
  else if (event.key === "Escape") select(0);
  else if (to && (state.selected || event.key === "ArrowDown")) { event.preventDefault(); const s = to(); if (s) select(s); }
}

function turnTheme() {
  const dark = (document.documentElement.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  document.documentElement.dataset.theme = dark ? "light" : "dark";
}

function fromAddress() { select(+(/^#e=(\d+)$/.exec(location.hash) || [])[1] || 0); }

function listen() {
  $("query").addEventListener("input", event => { state.query = event.target.value; refit(); });
  $("order").onclick = () => { state.mode = "order"; redraw(); };
  $("time").onclick = () => { state.mode = "time"; redraw(); };
  $("in").onclick = () => zoomed(1.6, draw);
  $("out").onclick = () => zoomed(1 / 1.6, draw);
  $("fit").onclick = () => zoomed(0, draw);
  $("only").onclick = () => { state.only = !state.only; refit(); };
  $("theme").onclick = turnTheme;
  $("failure").onclick = () => select(0);
  $("lanes").addEventListener("scroll", drawSight, {passive: true});
  $("rows").addEventListener("scroll", drawWindow, {passive: true});
  $("lanes").addEventListener("wheel", event => { if (!event.ctrlKey && !event.altKey) return; event.preventDefault();
    zoomed(event.deltaY < 0 ? 1.25 : .8, draw, event.clientX - $("names").getBoundingClientRect().right); }, {passive: false});
  document.addEventListener("click", clicked);
  addEventListener("keydown", pressed);
  addEventListener("resize", redraw);
  addEventListener("hashchange", fromAddress);
}

/** Show the first entry of the test or an operator: parts of the cluster may have been busy before. */
function toBeginning() {
  const first = all.find(e => !e.system);
  if (state.selected || !first) return;
  reveal(first.serial);
  scrollToEntry(first.serial, .15);
}

export function start() { listen(); drawHeader(); view.header(); fromAddress(); toBeginning(); view.opened(); }
