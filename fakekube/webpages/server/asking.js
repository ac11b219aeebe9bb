// Requests for the control API, and its events.
import { $, el } from "./element.js";

const ROOT = "/_fakekube/v1";

/** The token of the administrator, which a server needs that other machines reach. It stays in this tab. */
const token = () => sessionStorage.getItem("fakekube-token") || "";

const headers = () => token() ? {Authorization: `Bearer ${token()}`} : {};

/** The answer to a request; throws an Error with the message of the server. */
export async function ask(method, path, body) {
  const more = body === undefined ? {} : {body: JSON.stringify(body)};
  const type = body === undefined ? {} : {"Content-Type": "application/json"};
  const answer = await fetch(ROOT + path, {method, headers: {...headers(), ...type}, ...more});
  const text = await answer.text(), found = text ? JSON.parse(text) : null;
  if (answer.status === 401) $("token").hidden = false;
  if (!answer.ok) throw new Error(found?.message || `${answer.status}`);
  return found;
}

export const get = (path, query = {}) => ask("GET", `${path}?${new URLSearchParams(query)}`);

/** Show an Error in the place with this id. */
export const say = (place, problem) => $(place).replaceChildren(el("p", {class: "empty problem"}, problem.message));

const turns = new Map();

/** Draw what `load()` finds, or tell `failed` its Error, unless something else was asked for the same place meanwhile. */
export async function latest(place, load, draw, failed = problem => say(place, problem)) {
  const turn = (turns.get(place) || 0) + 1, isLatest = () => turns.get(place) === turn;
  turns.set(place, turn);
  try {
    const found = await load();
    if (isLatest()) draw(found);
  } catch (problem) { if (isLatest()) failed(problem); }
}

/** Call `handlers[name](data)` for each server-sent event, for ever; `handlers.again` after a new connection. */
export async function follow(path, handlers) {
  for (let waited = 250; ; waited = Math.min(2 * waited, 5000)) {
    try {
      const answer = await fetch(ROOT + path, {headers: headers()});
      if (!answer.ok) throw new Error(`${answer.status}`);
      waited = 250;
      handlers.again();
      await eventsOf(answer.body.pipeThrough(new TextDecoderStream()).getReader(), handlers);
    } catch { handlers.lost(); }
    await new Promise(done => setTimeout(done, waited));
  }
}

async function eventsOf(reader, handlers) {
  for (let rest = ""; ;) {
    const {value, done} = await reader.read();
    if (done) return;
    const parts = (rest + value).split("\n\n");
    rest = parts.pop();
    for (const part of parts) {
      const found = /^event: (\w+)\ndata: (.*)$/s.exec(part);
      if (found) handlers[found[1]]?.(JSON.parse(found[2]));
    }
  }
}

export function keepToken(text) { sessionStorage.setItem("fakekube-token", text); }
