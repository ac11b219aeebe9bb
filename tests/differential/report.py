"""The report of a run: the rules that differ, each with an example, and the shares."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.differential.differences import CODE, OBJECT, WORDS, Difference, distinct, first_difference, without_messages
from tests.differential.session import Count, Outcome

#: Characters of a request or an answer that are shown.
SHOWN = 1500


def lines(outcome: Outcome, *, most: int = 0) -> Iterator[str]:
    """The report as lines. most: the number of rules that are shown (0: all)."""
    rules = list(distinct(outcome.differences))
    for rule, found in rules[: most or None]:
        yield f"## {len(found)} × {rule.area} {rule.kind}: {rule.path}"
        yield f"   {rule.message}".replace("\n", "⏎")
        yield from _example(found[0])
        yield ""
    if most and len(rules) > most:
        yield f"({len(rules) - most} more rules)"
    for name, reason in outcome.failures[:20]:
        yield f"not run: {name}: {reason}"
    yield from summary(outcome)


def _example(one: Difference) -> Iterator[str]:
    yield f"   repeat: --seed {one.name.seed} --only {one.name}"
    yield f"   request: {one.step.shown()[:SHOWN]}"
    if one.rule.kind == OBJECT:
        their, our = (without_messages(answer, []) for answer in (one.theirs, one.ours))
        first = first_difference(their, our)
        if first is not None and not first[0].startswith("body.details"):
            yield f"   theirs: {_short(first[1])}"
            yield f"   ours:   {_short(first[2])}"
            return
    yield f"   theirs: {_answer(one.theirs)}"
    yield f"   ours:   {_answer(one.ours)}"


def _answer(answer: Any) -> str:
    body = answer["body"]
    warning = answer["headers"].get("warning")
    words = body.get("message") if isinstance(body, dict) and body.get("kind") == "Status" else None
    text = f"{answer['status']} {words if words else _short(body)[:400]}"
    return (f"{text} [Warning: {warning}]" if warning else text).replace("\n", "⏎")


def _short(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)[:SHOWN]


def summary(outcome: Outcome) -> Iterator[str]:
    """The shares of the areas and of all of them."""
    yield f"{'area':<16} {'requests':>9} {'exact':>8} {'but for words':>14} {'rules':>6} {'accepted':>9}"
    rules = {(one.rule) for one in outcome.differences}
    total = Count()
    for area, count in outcome.counts.items():
        total.requests += count.requests
        total.exact += count.exact
        total.words += count.words
        total.accepted += count.accepted
        yield _row(area, count, sum(rule.area == area for rule in rules))
    yield _row("all", total, len(rules))
    kinds = {kind: sum(rule.kind == kind for rule in rules) for kind in (CODE, OBJECT, WORDS)}
    yield ", ".join(f"{count} rules of {kind}" for kind, count in kinds.items())


def _row(name: str, count: Count, rules: int) -> str:
    requests = max(count.requests, 1)
    exact, words = count.exact / requests, (count.exact + count.words) / requests
    return f"{name:<16} {count.requests:>9} {exact:>8.2%} {words:>14.2%} {rules:>6} {count.accepted / requests:>9.0%}"
