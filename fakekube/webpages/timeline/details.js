// The panel of the selected entry: why it happened, what it led to and what it changed.
import { all, bySerial, causesOf, color, doc, effectsOf, fact, walk } from "./entries.js";
import { $, el } from "./element.js";
import { state, view } from "./state.js";
import { clock, ordinal, span } from "./text.js";

/** The most entries of a list. */
const MOST = 60;

/** One sentence: why this happened. */
function answer(e) {
  const by = e.because.map(s => bySerial.get(s)).filter(Boolean).map(c =>
    c.kind === "reconcile" ? `reconcile #${fact(c, "number")} of ${fact(c, "key")} by ${c.actor}` : `${c.actor}'s ${c.what}`);
  if (e.kind === "reconcile") {
    const causes = e.facts.filter(f => f[0] === "cause").map(f => f[1]);
    const named = {requeue_after: "its last result asked for it (requeue_after)", requeue: "its last result asked for it (requeue)",
      retry: "it failed before and is retried", generic: "it was enqueued without an event of an object"};
    const text = [...new Set(causes)].map(c => named[c] || c.replace(/^(\w+) (.*?)@(\d+)$/, (_, what, of, rv) =>
      what === "resync" || what === "relist" ? `of a ${what} (${of})` : `${of} was ${what} (resourceVersion ${rv})`)).join(", and ");
    return `${fact(e, "key")} was reconciled the ${ordinal(+fact(e, "number"))} time because ${text || "of an unknown cause"}` + (by.length ? `: after ${by.join(", and ")}.` : ".");
  }
  if (by.length && fact(e, "atom")) return `Took effect at ${by.join(", and ")}.`;
  if (by.length) return `Made by ${by.join(", and ")}.`;
  return e.kind === "request" ? `Made by ${e.actor}, outside of a reconcile.` : "";
}

export function steps(path, edge) {
  return path.slice(0, MOST).map(([serial, depth]) => { const e = bySerial.get(serial);
    return el("button", {class: `step ${edge}${e.failed ? " failed" : ""}`, "data-serial": serial, style: `--edge:var(--${edge});--lane:${color(e)};margin-left:${Math.min(depth - 1, 8) * 12}px;width:auto`}, el("b", {}, e.actor), ` ${e.what}`, el("small", {}, clock(e.at) + (e.cause ? ` · ${e.cause}` : ""))); });
}
const json = value => typeof value === "string" ? value : JSON.stringify(value);
function changed(c) {
  const out = [el("h3", {}, c.verb), el("div", {class: "soft object"}, `${c.object} · rv ${c.revision}`)];
  if (c.fields.length) out.push(el("table", {class: "fields"}, ...c.fields.map(([path, before, after, added, removed]) => el("tr", {},
    el("td", {}, path), el("td", {}, added ? "" : el("del", {}, json(before)), added || removed ? "" : " → ", removed ? "" : el("ins", {}, json(after)))))));
  else if (c.verb === "updated") out.push(el("p", {class: "soft"}, c.known ? "Only resourceVersion or managedFields changed." : "The version before is not known."));
  if (c.more) out.push(el("p", {class: "soft"}, `${c.more} more fields`));
  if (c.stored) out.push(el("details", {open: c.verb === "created"}, el("summary", {}, "The stored object"), el("pre", {}, JSON.stringify(c.stored, null, 2))));
  return out;
}
export function drawDetails() {
  const e = bySerial.get(state.selected), panel = $("details");
  if (!e) {
    const failed = all.filter(x => x.failed).sort((a, b) => (a.system || 0) - (b.system || 0));
    panel.replaceChildren(el("h2", {}, "What happened"), ...(doc.failure ? [el("h3", {}, "The test failed"), el("pre", {id: "error"}, doc.failure)] : []), ...view.overview(),
      el("h3", {}, "Failed requests and reconciles"), ...(failed.length ? steps(failed.map(x => [x.serial, 1]), "bad") : [el("p", {class: "soft"}, "None.")]),
      ...(failed.length > MOST ? [el("p", {class: "soft"}, `${failed.length - MOST} more`)] : []),
      el("h3", {}, "Help"), el("p", {class: "soft"},
        "Click an entry to see why it happened, what it led to and what it changed. Keys: ↑ ↓ select, ← its cause, → its effect, / filter, Esc clear."));
    return;
  }
  const causes = walk(e.serial, causesOf), led = walk(e.serial, effectsOf), text = answer(e);
  panel.replaceChildren(el("h2", {class: e.failed ? "failed" : ""}, e.what),
    el("div", {class: "soft"}, `${clock(e.at)} · ${e.actor}` + (e.took ? ` · took ${span(e.took)}` : "") + (e.rv ? ` · rv ${e.rv}` : "")),
    ...(e.object ? [el("button", {style: "margin-top:8px", title: "Show only this object", "data-filter": e.object.split(" ").pop()}, e.object)] : []),
    ...(text ? [el("p", {id: "answer"}, text)] : []), ...view.beside(e),
    el("h3", {}, "Because of"), ...(causes.length ? steps(causes, "cause") : [el("p", {class: "soft"}, "No recorded entry.")]),
    el("h3", {}, "Led to"), ...(led.length ? steps(led, "effect") : [el("p", {class: "soft"}, "Nothing recorded.")]),
    ...e.changes.flatMap(changed),
    ...(e.kind === "reconcile" ? e.because.map(s => bySerial.get(s)).filter(Boolean).flatMap(c => c.changes.flatMap(changed)) : []),
    ...(e.facts.length ? [el("h3", {}, "Details"), el("dl", {}, ...e.facts.flatMap(([k, v]) => [el("dt", {}, k), el("dd", {}, v)]))] : []));
  panel.scrollTop = 0;
}
