// What is done to the server: faults, and its clock.
import { ask, get, latest } from "./asking.js";
import { $, el } from "./element.js";

const EXAMPLE = {verb: "update", resource: "configmaps", error: 409, times: 1};

/** A button that acts and then draws its panel again, if that is still in sight: `sign` is an element that only it has. */
function button(text, act, {sign, load, draw}) {
  const made = el("button", {}, text), tell = error => { if ($(sign)) $("rows").querySelector(".problem").textContent = error.message; };
  made.onclick = async () => {
    try { await act(); } catch (error) { tell(error); return; }
    if ($(sign)) await latest("rows", load, draw, tell);
  };
  return made;
}

export const faults = {sign: "fault", load: () => get("/faults"), draw: drawFaults};

function drawFaults({items}) {
  const text = $("fault")?.value ?? JSON.stringify(EXAMPLE);
  const area = el("textarea", {id: "fault", spellcheck: "false", "aria-label": "Fault as JSON"}, text);
  const lines = items.map(({id, seen, hits, ...fault}) => el("div", {class: "line text fault"}, button("Disarm", () => ask("DELETE", `/faults/${id}`), faults),
    el("span", {class: "mono"}, JSON.stringify(fault)), el("span", {class: "soft", title: `${seen} requests matched`}, `${hits} / ${seen}`)));
  $("rows").replaceChildren(el("div", {class: "panel"}, el("p", {class: "soft"}, "A fault as POST /faults takes it:"), area,
    el("p", {}, button("Arm", () => ask("POST", "/faults", JSON.parse(area.value)), faults), " ", button("Disarm all", () => ask("DELETE", "/faults"), faults)),
    el("p", {class: "problem", role: "alert"}), ...lines));
}

export const clock = {sign: "now", load: () => get("/clock"), draw: drawClock};

function drawClock({mode, now, elapsed}) {
  const by = el("input", {type: "search", value: "1m", "aria-label": "Advance by"}), pace = value => button(value, () => ask("PUT", "/clock", {mode: value}), clock);
  $("rows").replaceChildren(el("div", {class: "panel"}, el("h2", {id: "now"}, now), el("p", {}, `${elapsed} s since the start, in the mode ${mode}`),
    el("p", {class: "group"}, pace("real"), pace("x60"), pace("stepped")), el("p", {}, by, " ", button("Advance", () => ask("POST", "/clock:advance", {by: by.value}), clock)),
    el("p", {class: "problem", role: "alert"})));
}
