// What clients did: requests, findings, the timeline.
import { get } from "./asking.js";
import { $, el } from "./element.js";
import { showLines } from "./longlist.js";

/** The most requests that are kept. */
const KEPT = 20000;

let requests = [];

const fits = text => $("query").value.toLowerCase().split(/\s+/).every(word => text.toLowerCase().includes(word));

export const loadRequests = () => get("/requests", {limit: KEPT});

export function drawAllRequests({items}) { requests = items; drawRequests(false); }

export function takeRequests(found, draw) {
  requests.push(...found);
  if (requests.length > KEPT * 1.1) requests = requests.slice(-KEPT);
  if (draw) drawRequests();
}

const worded = one => `${one.verb || ""} ${one.path} ${one.userAgent || ""} ${one.code}`;

export function drawRequests(keep = true) {
  showLines(requests.filter(one => fits(worded(one))).reverse(), request, requests.length ? "No request matches the filter." : "There were no requests.", keep);
}

function request(one) {
  const made = el("button", {class: `line request${one.code >= 400 ? " failed" : ""}`}, el("span", {class: "time"}, new Date(one.at * 1000).toISOString().slice(11, 23)),
    el("span", {class: "what mono"}, String(one.code)), el("span", {}, one.verb || ""), el("span", {class: "what", title: one.path}, one.path), el("span", {class: "soft", title: one.userAgent || ""}, one.userAgent || ""));
  made.onclick = () => $("details").replaceChildren(el("h2", {}, one.path), el("pre", {}, JSON.stringify(one, null, 2)));
  return made;
}

export const loadFindings = () => get("/findings");

export function drawFindings(found) {
  const items = found.items.filter(one => fits(`${one.detector} ${one.who} ${one.text}`));
  $("rows").replaceChildren(...items.map(one => el("div", {class: "line text finding"}, el("span", {class: one.level === "error" ? "problem" : ""}, one.detector),
    el("span", {}, el("b", {}, one.who), ` ${one.text}`), el("span", {class: "soft"}, one.times > 1 ? `× ${one.times}` : ""))));
  if (!items.length) $("rows").replaceChildren(el("p", {class: "empty"}, "No client has a defect that its requests show."));
}

export const loadTimeline = () => get("/timeline", {last: 5000});

export function drawTimeline({entries}) {
  const items = entries.filter(one => fits(`${one.actor} ${one.what}`)).reverse();
  showLines(items, one => {
    const made = el("button", {class: `line request${one.failed ? " failed" : ""}`}, el("span", {class: "time"}, `+${(one.at / 1e6).toFixed(3)} s`), el("span", {class: "soft"}, one.kind),
      el("span", {title: one.actor}, one.actor), el("span", {class: "what", title: one.what}, one.what), el("span", {class: "soft", title: one.cause}, one.cause));
    made.onclick = () => $("details").replaceChildren(el("h2", {}, one.what), el("pre", {}, JSON.stringify(one, null, 2)));
    return made;
  }, "Nothing was recorded.");
}
