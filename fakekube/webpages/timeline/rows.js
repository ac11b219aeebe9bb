// The rows: a list of which only the part in sight is in the document.
import { all, color } from "./entries.js";
import { $, el } from "./element.js";
import { state, view } from "./state.js";
import { clock, span } from "./text.js";

/** Pixels above and below the window that are in the document, too. */
const BEYOND = 600, SECOND = 1e6;

/** The most characters of a cause that is never cut. */
const SHORT = 14;

let list = {items: [], tops: [0], made: new Map(), of: new Map()};

/** Whether there is room for two lines of a row only. */
export const isNarrow = () => matchMedia("(max-width: 820px)").matches;

/** Show items: each has a `height` in pixels, `make()` for its element, and the `serials` of its entries, if any. */
export function showList(items, head = null) {
  const tops = [0], of = new Map();
  items.forEach((item, i) => {
    tops.push(tops[i] + item.height);
    (item.serials || []).forEach(serial => of.set(serial, i));
  });
  const focused = $("rows").contains(document.activeElement) && +document.activeElement.dataset.serial;
  list = {items, tops, of, made: new Map(), sheet: el("div", {class: "sheet", style: `height:${tops.at(-1)}px`}), head};
  $("rows").replaceChildren(...(head ? [head] : []), list.sheet);
  drawWindow();
  if (focused) (document.querySelector(".row.selected") || document.querySelector(`.row[data-serial="${focused}"]`))?.focus({preventScroll: true});
}

const above = () => list.head ? list.head.offsetHeight : 0;

/** The number of the item at a height. */
function itemAt(top) {
  let low = 0, high = list.items.length;
  while (low < high) { const middle = (low + high) >> 1; list.tops[middle + 1] <= top ? low = middle + 1 : high = middle; }
  return low;
}

export function drawWindow() {
  if (!list.sheet) return;
  const rows = $("rows"), first = itemAt(rows.scrollTop - BEYOND), last = itemAt(rows.scrollTop + rows.clientHeight + BEYOND);
  for (const [i, element] of list.made) if (i < first || i > last) { element.remove(); list.made.delete(i); }
  for (let i = first; i <= last && i < list.items.length; i++) {
    if (list.made.has(i)) continue;
    const element = list.items[i].make();
    element.style.top = `${list.tops[i]}px`;
    list.made.set(i, element);
    let next = i + 1;
    while (next <= last && !list.made.has(next)) next++;
    list.sheet.insertBefore(element, list.made.get(next) || null);
  }
}

/** Scroll so that an entry is in sight; `share`: at which part of the window, if not the nearest. */
export function scrollToEntry(serial, share = NaN) {
  if (list.of.has(serial)) scrollToItem(list.of.get(serial), share);
}
export function scrollToItem(i, share = NaN) {
  const rows = $("rows"), top = list.tops[i], end = list.tops[i + 1], high = rows.clientHeight - above();
  if (!Number.isNaN(share)) rows.scrollTop = top - high * share;
  else if (top < rows.scrollTop) rows.scrollTop = top;
  else if (end > rows.scrollTop + high) rows.scrollTop = end - high;
  drawWindow();
}

export function none(text) { return {height: 100, make: () => el("p", {class: "empty"}, text)}; }

view.rows = (shown, marks) => {
  const items = [], height = isNarrow() ? 44 : 26, longest = shown.reduce((n, e) => Math.max(n, e.actor.length), 4);
  let before = null;
  for (const e of shown) {
    if (before !== null && e.at - before >= SECOND) { const waited = e.at - before; items.push({height: 20, make: () => el("div", {class: "gap"}, `${span(waited)} later`)}); }
    before = e.at;
    items.push({height, serials: [e.serial], make: () => row(e, marks)});
  }
  $("rows").className = state.selected ? "chain" : "";
  $("rows").style.setProperty("--who", `${Math.min(24, longest + 1)}ch`);
  showList(items.length ? items : [none(all.length ? "No entry matches the filter." : "Nothing was recorded.")]);
};

function row(e, marks) {
  const mark = e.serial === state.selected ? " selected" : marks.has(e.serial) ? ` is-${marks.get(e.serial)}` : "";
  return el("button", {class: `row${e.cause.length > SHORT ? "" : " short"}${e.failed ? " failed" : ""}${mark}`, "data-serial": e.serial, style: `--lane:${color(e)}`,
    "aria-current": e.serial === state.selected ? "true" : null}, el("span", {class: "time"}, clock(e.at)), el("span", {class: "who", title: e.actor}, e.actor),
    el("span", {class: "what", title: e.what}, e.what), ...(e.cause ? [el("span", {class: "cause", title: e.cause}, e.cause)] : []));
}
