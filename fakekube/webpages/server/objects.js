// Objects by kind, with a live watch; one object with its YAML, relatives and versions.
import { get, latest } from "./asking.js";
import { $, el } from "./element.js";
import { showLines } from "./longlist.js";

let kinds = [], collection = "", rows = new Map(), selected = "", recent = new Set();

const fits = text => $("query").value.toLowerCase().split(/\s+/).every(word => text.toLowerCase().includes(word));

export async function loadKinds() {
  kinds = (await get("/kinds")).items;
  if (!collection) collection = (kinds.find(one => one.collection === "pods" && one.objects) || kinds.toSorted((a, b) => b.objects - a.objects)[0]).collection;
  drawKinds();
}

function drawKinds() {
  const shown = kinds.toSorted((a, b) => !!b.objects - !!a.objects);
  $("kinds").replaceChildren(...shown.map(one => {
    const button = el("button", {"aria-pressed": String(one.collection === collection), class: one.objects ? null : "none", title: one.apiVersion, "data-collection": one.collection},
      el("span", {}, one.kind), el("span", {}, String(one.objects)));
    button.onclick = () => { collection = one.collection; rows = new Map(); selected = ""; $("rows").scrollTop = 0; drawKinds(); latest("rows", loadRows, drawRows); };
    return button;
  }));
}

export const loadRows = () => get("/objects", {collection});

export function drawRows(found) {
  rows = new Map(found.rows.map(row => [row[0], row]));
  drawObjects(true);
}

export function drawObjects(keep = true) {
  const items = [...rows.values()].filter(row => fits(row[0])).sort((a, b) => a[0] < b[0] ? -1 : 1);
  showLines(items, line, rows.size ? "No object matches the filter." : "There is none.", keep);
}

function line([path, created, phase]) {
  const at = path.lastIndexOf("/"), mark = `${path === selected ? " selected" : ""}${recent.has(path) ? " changed" : ""}`;
  const made = el("button", {class: `line${mark}`, "data-path": path}, el("span", {class: "soft"}, path.slice(0, Math.max(at, 0))), el("span", {class: "what", title: path}, path.slice(at + 1)),
    el("span", {class: "late"}, phase), el("span", {class: "time late"}, created.replace("T", " ").replace("Z", "")));
  made.onclick = () => showObject(collection, path);
  return made;
}

/** Take changes into account; `draw`: whether objects are in sight. */
export function takeChanges(changes, draw) {
  recent = new Set();
  let counted = false;
  for (const {collection: where, path, row} of changes) {
    const kind = kinds.find(one => one.collection === where);
    if (where !== collection) { counted ||= !!kind; continue; }
    if (kind && rows.has(path) !== !!row) { kind.objects += row ? 1 : -1; }
    row ? rows.set(path, row) : rows.delete(path);
    recent.add(path);
  }
  if (draw) { if (recent.size) drawObjects(); drawKinds(); if (recent.has(selected)) showObject(collection, selected); }
  return counted;
}

export function showObject(where, path) {
  if (where === collection) { selected = path; for (const one of document.querySelectorAll(".line[data-path]")) one.classList.toggle("selected", one.dataset.path === path); }
  latest("details", () => get("/object", {collection: where, path}), found => drawObject(where, path, found));
}

function drawObject(where, path, {yaml, exists, versions, owners, dependents}) {
  const parts = [el("h2", {}, path), el("div", {class: "soft"}, where + (exists ? "" : ", deleted"))];
  if (owners.length) parts.push(el("h3", {}, "Owners"), tree(owners, "owners"));
  if (dependents.length) parts.push(el("h3", {}, "Dependents"), tree(dependents, "dependents"));
  parts.push(el("h3", {}, "YAML"), el("pre", {id: "yaml"}, yaml), el("h3", {}, `Versions (${versions.length})`));
  for (const one of versions.toReversed().slice(0, 50)) parts.push(version(one));
  $("details").replaceChildren(...parts);
}

function tree(items, next) {
  return el("ul", {class: "tree"}, ...items.map(one => {
    const name = `${one.kind} ${one.name}`;
    const shown = one.exists === false ? el("span", {class: "problem"}, `${name} (gone)`) : el("button", {}, name);
    if (one.collection) shown.onclick = () => showObject(one.collection, one.path);
    return el("li", {}, shown, one[next]?.length ? tree(one[next], next) : null);
  }));
}

/** The leaves of an object with their paths. */
function leaves(value, path = "", found = new Map()) {
  if (value && typeof value === "object" && Object.keys(value).length)
    for (const [key, one] of Object.entries(value)) leaves(one, path ? `${path}.${key}` : key, found);
  else found.set(path, JSON.stringify(value));
  return found;
}

const QUIET = /^metadata\.(managedFields|resourceVersion|generation)/;

function version({revision, verb, object, before}) {
  const old = before ? leaves(before) : new Map(), now = object ? leaves(object) : new Map();
  const paths = verb === "update" ? [...new Set([...old.keys(), ...now.keys()])].filter(path => old.get(path) !== now.get(path) && !QUIET.test(path)) : [];
  const table = el("table", {class: "fields"}, ...paths.map(path => el("tr", {}, el("td", {}, path), el("td", {},
    old.has(path) ? el("del", {}, old.get(path)) : null, now.has(path) ? el("ins", {}, now.get(path)) : null))));
  return el("div", {class: "object version"}, `${verb} at ${revision}`, paths.length ? table : null);
}

