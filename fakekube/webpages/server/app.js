// The page of a running server.
import { follow, get, keepToken } from "./asking.js";
import { $, el } from "./element.js";
import { drawLines } from "./longlist.js";
import { drawObjects, loadKinds, loadRows, takeChanges } from "./objects.js";
import { drawRequests, loadRequests, showFindings, showTimeline, takeRequests } from "./records.js";
import { showClock, showFaults } from "./steering.js";

const TABS = {
  Objects: {show: async () => { await loadKinds(); await loadRows(); }, filter: () => drawObjects(false)},
  Requests: {show: loadRequests, filter: () => drawRequests(false)},
  Timeline: {show: showTimeline, filter: showTimeline},
  Findings: {show: showFindings, filter: showFindings},
  Faults: {show: showFaults, filter: () => {}},
  Clock: {show: showClock, filter: () => {}},
};

let tab = "Objects", changes = [], requests = [], waiting = false;

const say = problem => $("rows").replaceChildren(el("p", {class: "empty problem"}, problem.message));

async function show(name) {
  tab = name;
  document.body.classList.toggle("wide", name !== "Objects");
  $("details").replaceChildren();
  $("tabs").replaceChildren(...Object.keys(TABS).map(one => { const made = el("button", {"aria-pressed": String(one === tab), "data-tab": one}, one); made.onclick = () => show(one); return made; }));
  await TABS[name].show().catch(say);
}

/** Draw what has arrived once in a while: many changes are one drawing. */
function later() {
  if (waiting) return;
  waiting = true;
  setTimeout(async () => {
    waiting = false;
    const [some, asked] = [changes, requests];
    [changes, requests] = [[], []];
    if (takeChanges(some, tab === "Objects") && tab === "Objects") await loadKinds().catch(say);
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
