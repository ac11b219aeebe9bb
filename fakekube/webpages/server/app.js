// The page of a running server.
import { follow, get, keepToken, latest, say } from "./asking.js";
import { $, el } from "./element.js";
import { drawLines } from "./longlist.js";
import { drawObjects, drawRows, loadKinds, loadRows, takeChanges } from "./objects.js";
import { drawAllRequests, drawFindings, drawRequests, drawTimeline, loadFindings, loadRequests, loadTimeline, takeRequests } from "./records.js";
import { clock, faults } from "./steering.js";

const TABS = {
  Objects: {load: async () => { await loadKinds(); return loadRows(); }, draw: drawRows, filter: () => drawObjects(false)},
  Requests: {load: loadRequests, draw: drawAllRequests, filter: () => drawRequests(false)},
  Timeline: {load: loadTimeline, draw: drawTimeline, filter: fill},
  Findings: {load: loadFindings, draw: drawFindings, filter: fill},
  Faults: {...faults, filter: () => {}},
  Clock: {...clock, filter: () => {}},
};

let tab = "Objects", changes = [], requests = [], waiting = false;

function fill() { return latest("rows", TABS[tab].load, TABS[tab].draw); }

function show(name) {
  tab = name;
  document.body.classList.toggle("wide", name !== "Objects");
  latest("details", () => [], parts => $("details").replaceChildren(...parts));  // nor is an object shown that is being loaded
  $("tabs").replaceChildren(...Object.keys(TABS).map(one => { const made = el("button", {"aria-pressed": String(one === tab), "data-tab": one}, one); made.onclick = () => show(one); return made; }));
  fill();
}

/** Draw what has arrived once in a while: many changes are one drawing. */
function later() {
  if (waiting) return;
  waiting = true;
  setTimeout(async () => {
    waiting = false;
    const [some, asked] = [changes, requests];
    [changes, requests] = [[], []];
    if (takeChanges(some, tab === "Objects") && tab === "Objects") await loadKinds().catch(problem => say("rows", problem));
    if (asked.length) takeRequests(asked, tab === "Requests");
  }, 100);
}

async function facts() {
  const {version, revision, objects, clock} = await get("/health");
  $("facts").textContent = `Kubernetes ${version} · ${objects} objects · revision ${revision} · clock ${clock.mode}`;
}

let first = true;
follow("/changes", {
  change: one => { changes.push(one); later(); },
  request: one => { requests.push(one); later(); },
  again: () => { facts().catch(() => {}); if (!first) show(tab); first = false; },
  lost: () => { $("facts").textContent = "the server does not answer"; },
});
setInterval(() => document.hidden || facts().catch(() => {}), 5000);
$("rows").addEventListener("scroll", drawLines);
addEventListener("resize", drawLines);
$("query").addEventListener("input", () => TABS[tab].filter());
$("token").addEventListener("change", () => { keepToken($("token").value); $("token").hidden = true; show(tab); });
$("theme").onclick = () => { const root = document.documentElement; root.dataset.theme = (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark" ? "light" : "dark"; };
addEventListener("keydown", event => { if (event.key === "/" && !/INPUT|TEXTAREA/.test(event.target.tagName)) { event.preventDefault(); $("query").focus(); } });
show("Objects");
