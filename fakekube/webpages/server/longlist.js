// A list of which only the part in sight is in the document.
import { $, el } from "./element.js";

const HEIGHT = 26, BEYOND = 20;

let shown = {items: [], make: null, made: new Map(), sheet: null};

/** Show items in lines of one height; `make(item)` is the element of one. `keep`: stay where the list is scrolled to. */
export function showLines(items, make, empty, keep = false) {
  const rows = $("rows"), top = keep ? rows.scrollTop : 0, sheet = el("div", {class: "sheet"});
  sheet.style.height = `${items.length * HEIGHT}px`;
  shown = {items, make, made: new Map(), sheet};
  rows.replaceChildren(items.length ? sheet : el("p", {class: "empty"}, empty));
  rows.scrollTop = top;
  drawLines();
}

export function drawLines() {
  const {items, make, made, sheet} = shown, rows = $("rows");
  if (!sheet?.isConnected) return;
  const first = Math.max(0, Math.floor(rows.scrollTop / HEIGHT) - BEYOND);
  const last = Math.min(items.length, Math.ceil((rows.scrollTop + rows.clientHeight) / HEIGHT) + BEYOND);
  for (const [i, element] of made) if (i < first || i >= last) { element.remove(); made.delete(i); }
  for (let i = first; i < last; i++) {
    if (made.has(i)) continue;
    const element = make(items[i]);
    element.style.top = `${i * HEIGHT}px`;
    made.set(i, element);
    sheet.append(element);
  }
}
