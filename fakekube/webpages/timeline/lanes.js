// The lanes: one for each actor, and a dot for each entry. Only the part that is in sight is drawn.
import { causesOf, color, edges, effectsOf } from "./entries.js";
import { $, el } from "./element.js";
import { lanesOf, state, view, visible } from "./state.js";
import { clock } from "./text.js";

/** Pixels: of a lane, beside the first and the last entry, for each entry, and the space below which dots touch. */
const LANE = 30, MARGIN = 30, SPACE = 9, DENSE = 6;

/** The greatest zoom. */
const WIDEST = 400;

/** The place of each shown entry in the lanes: x, y. */
export let place = new Map();
let drawn = null;

const room = () => Math.max(120, $("lanes").clientWidth - $("names").offsetWidth);
const fitting = count => Math.min(40, Math.max(1, count * SPACE / Math.max(400, room())));

export function drawLanes(shown, marks) {
  const [lanes, numbers] = lanesOf(visible(true)), height = lanes.length * LANE, laneOf = e => numbers.get(view.lane(e));
  $("names").replaceChildren(...lanes.map(nameOf));
  const [count, column] = view.columns(shown), zoom = state.zoom || fitting(count), width = Math.round(room() * zoom), inner = width - 2 * MARGIN;
  const first = shown.reduce((t, e) => Math.min(t, e.at), shown.length ? shown[0].at : 0), last = shown.reduce((t, e) => Math.max(t, e.at + e.took), first + 1);
  const x = e => MARGIN + inner * (state.mode === "time" ? (e.at - first) / (last - first) : count < 2 ? .5 : column.get(e.serial) / (count - 1));
  place = new Map(shown.map(e => [e.serial, [x(e), laneOf(e) * LANE + LANE / 2]]));
  drawn = {shown: shown.toSorted((a, b) => x(a) - x(b)), marks, lanes, height, width, zoom, inner, count, total: last - first,
    radius: Math.max(3, Math.min(7, inner / Math.max(1, count) / 2.2)), from: NaN, to: NaN};
  $("chart").style.width = $("axis").style.width = `${width}px`;
  drawSight();
}

function nameOf(lane) {
  const style = `--lane:${lane.folds ? "var(--soft)" : color(lane.entry)}`;
  if (lane.folds) return el("button", {class: "fold", style, "data-fold": lane.key, "aria-expanded": String(lane.open),
    title: "The cluster's own controllers: show each, or all in one lane"}, lane.name);
  const shown = !state.hidden.has(lane.key);
  return el("button", {class: lane.inside ? "inside" : null, title: `${lane.name}: show or hide`, style: shown ? style : `${style};opacity:.55`,
    "data-lane": lane.key, "aria-pressed": String(shown)}, lane.name);
}

/** Draw the entries in sight and one window's width beside them, if that has not been done. */
export function drawSight() {
  if (!drawn) return;
  const {shown, marks, lanes, height, width, inner, count, total, radius: R} = drawn, left = $("lanes").scrollLeft, wide = room();
  if (left >= drawn.from && left + wide <= drawn.to) return;
  drawn.from = left <= wide ? -Infinity : left - wide;
  drawn.to = left + 2 * wide >= width ? Infinity : left + 2 * wide;
  const near = shown.filter(e => { const [at] = place.get(e.serial); return at >= drawn.from && at <= drawn.to; });
  const svg = el("svg", {width, height, class: `${state.selected ? "chain" : ""}${inner / count < DENSE ? " dense" : ""}`}), axis = el("svg", {width, height: 20});
  lanes.forEach((_, i) => i % 2 || svg.append(el("rect", {class: "band", x: 0, y: i * LANE, width, height: LANE})));
  let labelled = -1e9, moment = -1, ticked = -1e9;
  for (const e of near) {
    if (e.at === moment) continue;
    moment = e.at;
    const [at] = place.get(e.serial), text = clock(e.at), half = text.length * 3.4;
    if (at - ticked > 7) { svg.append(el("line", {class: "tick", x1: at, x2: at, y1: 0, y2: height})); ticked = at; }
    const middle = Math.min(Math.max(at, half + 4), width - half - 4);
    if (middle - half - labelled > 14) {
      axis.append(el("text", {class: "label", x: middle, y: 14, "text-anchor": "middle"}, text));
      labelled = middle + half;
    }
  }
  view.marks(svg, height);
  for (const e of distinct(near, marks)) {
    const [cx, cy] = place.get(e.serial), dim = state.selected && !marks.has(e.serial) ? " dim" : "";
    if (e.took && state.mode === "time")
      svg.append(el("rect", {class: "span" + dim, x: cx, y: cy - 5, width: Math.max(1, inner * e.took / total), height: 10, rx: 5, fill: color(e)}));
    const common = {class: `dot${e.failed ? " failed" : ""}${e.serial === state.selected ? " selected" : ""}${dim}`, "data-serial": e.serial, style: `fill:${color(e)}`};
    const tip = el("title", {}, `${clock(e.at)}  ${e.actor}: ${e.what}`);
    svg.append(e.kind === "reconcile" ? el("rect", {...common, x: cx - R, y: cy - R - 1, width: 2 * R, height: 2 * R + 2, rx: 2.5}, tip)
      : el("circle", {...common, cx, cy, r: e.kind === "request" ? R : R * .75}, tip));
  }
  if (state.selected) {
    arcs(svg, edges(state.selected, causesOf).map(([a, b]) => [b, a]), "cause");
    arcs(svg, edges(state.selected, effectsOf), "effect");
  }
  $("chart").replaceChildren(svg);
  $("axis").replaceChildren(axis);
}

/** One entry for each pixel of a lane: the selected one, else a failed one, else one of its chain, else the first. */
function distinct(entries, marks) {
  const weight = e => e.serial === state.selected ? 3 : e.failed ? 2 : marks.has(e.serial) ? 1 : 0, found = new Map();
  for (const e of entries) {
    const [x, y] = place.get(e.serial), key = Math.round(x) + y * 1e6, before = found.get(key);
    if (!before || weight(e) > weight(before)) found.set(key, e);
  }
  return [...found.values()].sort((a, b) => weight(a) - weight(b));
}

function arcs(svg, pairs, kind) {
  for (const [from, to] of pairs) {
    if (!place.has(from) || !place.has(to)) continue;
    const [x1, y1] = place.get(from), [x2, y2] = place.get(to), bend = y1 === y2 ? -Math.min(12, 4 + Math.abs(x2 - x1) / 8) : 0;
    svg.append(el("path", {class: `arc ${kind}`, d: `M${x1} ${y1} C${(x1 + x2) / 2} ${y1 + bend} ${(x1 + x2) / 2} ${y2 + bend} ${x2} ${y2}`}));
  }
}

/** Scroll the lanes so that an entry is in sight. */
export function reveal(serial) {
  const lanes = $("lanes"), at = place.get(serial);
  if (!at) return;
  const [x, y] = at, wide = room(), high = lanes.clientHeight - $("axis").offsetHeight;
  if (x < lanes.scrollLeft + 8 || x > lanes.scrollLeft + wide - 8) lanes.scrollLeft = x - wide / 2;
  if (y - LANE / 2 < lanes.scrollTop) lanes.scrollTop = y - LANE / 2;
  else if (y + LANE / 2 > lanes.scrollTop + high) lanes.scrollTop = y + LANE / 2 - high;
  drawSight();
}

/** Zoom by a factor, or to all entries (0), and keep what is `around` pixels from the left, or the selected entry. */
export function zoomed(factor, draw, around = NaN) {
  const lanes = $("lanes"), at = place.get(state.selected), wide = room();
  if (Number.isNaN(around)) around = at && at[0] >= lanes.scrollLeft && at[0] <= lanes.scrollLeft + wide ? at[0] - lanes.scrollLeft : wide / 2;
  const share = (lanes.scrollLeft + around) / drawn.width;
  state.zoom = factor ? Math.min(WIDEST, Math.max(1, drawn.zoom * factor)) : 1;
  draw();
  lanes.scrollLeft = share * drawn.width - around;
  drawSight();
}
