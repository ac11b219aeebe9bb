// Elements of HTML and SVG.
const SVG = "http://www.w3.org/2000/svg", DRAWN = new Set(["svg", "g", "circle", "rect", "line", "path", "text", "title"]);

export const $ = id => document.getElementById(id);

/** A new element; an attribute that is false or null is left out, and so is such a child. */
export function el(name, attributes = {}, ...children) {
  const made = DRAWN.has(name) ? document.createElementNS(SVG, name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes))
    if (value !== false && value !== null && value !== undefined) made.setAttribute(key, value === true ? "" : value);
  made.append(...children.filter(c => c !== null && c !== false));
  return made;
}
