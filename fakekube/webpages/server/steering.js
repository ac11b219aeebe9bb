// What is done to the server: faults, and its clock.
import { ask, get, latest } from "./asking.js";
import { $, el } from "./element.js";

const EXAMPLE = {verb: "update", resource: "configmaps", error: 409, times: 1};

/** A button that acts and then draws its panel again, if it is still in sight. */
function button(text, act, load, draw) {
  const made = el("button", {}, text);
  made.onclick = async () => {
    const problem = made.closest(".panel").querySelector(".problem");
    try { await act(); problem.textContent = ""; if (made.isConnected) await latest("rows", load, draw); } catch (error) { problem.textContent = error.message; }
  };
  return made;
}

export const loadFaults = () => get("/faults");

export function drawFaults({items}) {
  const text = $("fault")?.value ?? JSON.stringify(EXAMPLE);
  const area = el("textarea", {id: "fault", spellcheck: "false", "aria-label": "Fault as JSON"}, text);
  const lines = items.map(({id, seen, hits, ...fault}) => el("div", {class: "line text fault"}, button("Disarm", () => ask("DELETE", `/faults/${id}`), loadFaults, drawFaults),
    el("span", {class: "mono"}, JSON.stringify(fault)), el("span", {class: "soft", title: `${seen} requests matched`}, `${hits} / ${seen}`)));
  $("rows").replaceChildren(el("div", {class: "panel"}, el("p", {class: "soft"}, "A fault as POST /faults takes it:"), area,
    el("p", {}, button("Arm", () => ask("POST", "/faults", JSON.parse(area.value)), loadFaults, drawFaults), " ", button("Disarm all", () => ask("DELETE", "/faults"), loadFaults, drawFaults)),
    el("p", {class: "problem", role: "alert"}), ...lines));
}

export const loadClock = () => get("/clock");

export function drawClock({mode, now, elapsed}) {
  const by = el("input", {type: "search", value: "1m", "aria-label": "Advance by"}), pace = value => button(value, () => ask("PUT", "/clock", {mode: value}), loadClock, drawClock);
  $("rows").replaceChildren(el("div", {class: "panel"}, el("h2", {id: "now"}, now), el("p", {}, `${elapsed} s since the start, in the mode ${mode}`),
    el("p", {class: "group"}, pace("real"), pace("x60"), pace("stepped")), el("p", {}, by, " ", button("Advance", () => ask("POST", "/clock:advance", {by: by.value}), loadClock, drawClock)),
    el("p", {class: "problem", role: "alert"})));
}
