// What the user has chosen, and which entries are shown by it.
import { all, chainOf, rank } from "./entries.js";

export const KINDS = {reconcile: "Reconciles", request: "Requests", stored: "Server", informer: "Informers", note: "Notes"};

/** zoom: the width of the lanes as a multiple of the window's; 0: as wide as the shown entries need. */
export const state = {selected: 0, zoom: 0, mode: "order", query: "", kinds: new Set(Object.keys(KINDS)), system: true,
  hidden: new Set(), unfolded: new Set(), only: false};

/** What a page with two timelines replaces. */
export const view = {
  lane: e => e.actor, group: () => "", columns: shown => [shown.length, new Map(shown.map((e, i) => [e.serial, i]))],
  header: () => {}, marks: () => {}, rows: () => {}, overview: () => [], beside: () => [], following: () => true, opened: () => {},
};

/** The entries that pass the filters; those of hidden lanes do not. */
export function visible(withHidden = false) {
  const words = state.query.toLowerCase().split(/\s+/).filter(Boolean);
  const chain = state.only && state.selected ? chainOf(state.selected) : null;
  return all.filter(e => state.kinds.has(e.kind) && (state.system || !e.system) && (!chain || chain.has(e.serial)) &&
    (withHidden || !state.hidden.has(view.lane(e))) &&
    words.every(w => `${e.actor} ${e.what} ${e.cause} ${e.object}`.toLowerCase().includes(w)));
}

/** The lanes of entries from top to bottom: the test, operators, then the cluster's own, which are folded into one.
 *
 * Lanes have a `name`, a `key`, an `entry` of theirs, and `folds` if they stand for others. An actor without an entry
 * that is shown has no lane, unless the user has hidden it. Returns the lanes, and the number of the lane of each.
 */
export function lanesOf(entries) {
  const groups = new Map();
  for (const e of entries) {
    const name = view.lane(e), group = groups.get(view.group(e)) || groups.set(view.group(e), new Map()).get(view.group(e));
    if (!group.has(name)) group.set(name, {key: name, name, entry: e, rank: rank(e)});
  }
  const lanes = [], numbers = new Map();
  for (const [group, found] of [...groups].sort(([, a], [, b]) => side(a) - side(b))) {
    const ordered = [...found.values()].sort((a, b) => a.rank - b.rank), own = ordered.filter(lane => lane.rank === 2);
    for (const lane of own.length > 1 ? ordered.slice(0, -own.length) : ordered) { numbers.set(lane.key, lanes.length); lanes.push(lane); }
    if (own.length < 2) continue;
    const key = `system ${group}`, open = state.unfolded.has(key);
    own.forEach(lane => numbers.set(lane.key, lanes.length));
    lanes.push({key, name: `${group ? `${group} · ` : ""}system (${own.length})`, entry: own[0].entry, folds: true, open});
    if (open) for (const lane of own) { numbers.set(lane.key, lanes.length); lanes.push({...lane, inside: true}); }
  }
  return [lanes, numbers];
}
const side = group => group.values().next().value.entry.side || 0;
