"""Assertions on what happened, whose failures show the whole story."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from difflib import SequenceMatcher
from fnmatch import fnmatchcase
from typing import Any

from fakekube.apiserver.requestlog import RequestRecord
from fakekube.harness.records.entry import offset
from fakekube.harness.records.reconciles import Reconcile

Object = dict[str, Any]

#: Rows of a story that are shown.
ROWS = 40

#: Hints at why a key was not reconciled.
NOT_STARTED = "but no operator was started: call start(build) first"
NOT_SETTLED = "but the cluster is not settled: call settle() first (`await` it in an async test)"

# --- reconciles ---


def check_reconciled(
    key: str,
    history: Sequence[Reconcile],
    epoch: datetime,
    *,
    times: int | None = None,
    causes: Sequence[str] | None = None,
    results: Sequence[str] | None = None,
    hint: str = "",
) -> None:
    """Raises AssertionError unless the reconciles of a key are those expected. None: any; without any, at least one.

    `hint`: why there may be none.
    """
    problems = []
    if times is not None and len(history) != times:
        problems.append(f"{_times(times)} expected")
    if times is None and causes is None and results is None and not history:
        problems.append("at least once expected")
    if causes is not None and not _match([one.cause for one in history], causes):
        problems.append("other causes expected")
    if results is not None and [one.label for one in history] != list(results):
        problems.append(f"results {list(results)} expected, not {[one.label for one in history]}")
    if problems:
        story = "\n".join(_story(history, epoch, causes))
        if hint and not history:
            problems.append(hint)
        raise AssertionError(f"{key} was reconciled {_times(len(history))}: {', '.join(problems)}\n{story}")


def _times(number: int) -> str:
    return {0: "never", 1: "once"}.get(number, f"{number} times")


def _match(found: Sequence[str], wanted: Sequence[str]) -> bool:
    return len(found) == len(wanted) and all(fnmatchcase(one, other) for one, other in zip(found, wanted, strict=True))


def _story(history: Sequence[Reconcile], epoch: datetime, causes: Sequence[str] | None) -> Iterator[str]:
    """A line for each reconcile; `+` marks those that were not expected, `-` expected ones that did not happen."""
    if causes is None:
        yield from (f"  {_line(one, epoch)}" for one in history[-ROWS:])
        return
    for kind, start, end, start_wanted, end_wanted in SequenceMatcher(
        None, [one.cause for one in history], list(causes), autojunk=False
    ).get_opcodes():
        for one in history[start:end]:
            yield f"{' ' if kind == 'equal' else '+'} {_line(one, epoch)}"
        if kind != "equal":
            yield from (f"- [{cause}] expected" for cause in causes[start_wanted:end_wanted])


def _line(one: Reconcile, epoch: datetime) -> str:
    because = ", ".join(map(str, one.causes))
    outcome = f"{type(one.error).__name__}: {one.error}" if one.error is not None else one.label
    writes = "".join(f"; {write.verb} {write.path} -> {write.code}" for write in one.writes)
    return f"#{one.number} {offset(one.started - epoch)} [{one.cause}] {outcome}{writes} (because: {because})"


def recent(history: Sequence[Reconcile], now: datetime, within: timedelta | None) -> Sequence[Reconcile]:
    """The reconciles that have started in the last `within` of virtual time (None: all)."""
    return history if within is None else [one for one in history if one.started > now - within]


# --- requests ---


def check_requests(
    found: Sequence[RequestRecord],
    every: Sequence[RequestRecord],
    wanted: Mapping[str, Any],
    times: int | None,
) -> None:
    """Raises AssertionError unless there are `times` requests (None: at least one)."""
    if len(found) == times or (times is None and found):
        return
    shown = ", ".join(f"{name}={value!r}" for name, value in wanted.items()) or "any"
    expected = "at least one" if times is None else str(times)
    near = found if found else _nearest(every, wanted)
    title = "they are:" if found else "the most similar ones are:" if near else "there was no request"
    lines = [f"  at {record.at:g} s  {record.user_agent or record.user}  {record}" for record in near[-ROWS:]]
    raise AssertionError(
        "\n".join([f"{expected} request(s) expected with {shown}, but there were {len(found)}; {title}", *lines])
    )


def _nearest(every: Sequence[RequestRecord], wanted: Mapping[str, Any]) -> Sequence[RequestRecord]:
    """The requests that share the most fields with `wanted`."""
    scores = [sum(_is(getattr(record, name), value) for name, value in wanted.items()) for record in every]
    best = max(scores, default=0)
    return [record for record, score in zip(every, scores, strict=True) if score == best][-10:]


def _is(value: Any, wanted: Any) -> bool:
    both = isinstance(value, str) and isinstance(wanted, str)
    return bool(value == wanted) or (both and fnmatchcase(value, wanted))


# --- written fields ---

Matcher = Any
"""A value, or a function of the value that returns whether it is as wanted."""


def check_written(
    what: str,
    versions: Sequence[tuple[datetime, Object | None]],
    writers: Mapping[str, str],
    fields: Mapping[str, Matcher],
    by: str,
    epoch: datetime,
) -> None:
    """Raises AssertionError unless one version of an object, written by `by`, has all these fields.

    `fields`: by path (`field_of`). `writers`: the User-Agent by the resourceVersion that it has made.
    """
    for path in fields:
        field_of(None, path)
    lines = []
    for at, obj in versions:
        if obj is None:
            lines.append(f"  {offset(at - epoch)} deleted")
            continue
        version = obj["metadata"]["resourceVersion"]
        writer = writers.get(version, "the cluster")
        values = {path: field_of(obj, path) for path in fields}
        right = [path for path, wanted in fields.items() if _fits(values[path], wanted)]
        if len(right) == len(fields) and fnmatchcase(writer, by):
            return
        marks = {path: "" if path in right else " (not as wanted)" for path in fields}
        shown = ", ".join(f"{path}={value!r}{marks[path]}" for path, value in values.items())
        lines.append(f"  {offset(at - epoch)} rv {version} by {writer}: {shown}")
    wanted = ", ".join(f"{path}={_shown(value)}" for path, value in fields.items())
    author = "" if by == "*" else f" by {by}"
    story = "; its versions:\n" + "\n".join(lines[-ROWS:]) if lines else ": it was never stored"
    raise AssertionError(f"no version of {what} was written{author} with {wanted}{story}")


def field_of(obj: Any, path: str) -> Any:
    """The value at a path like `spec.containers[0].image` or `status.conditions[Ready].status`, None if there is none.

    Brackets contain the number of an item, its `name`, `type` or `key` (as in anchors), or the key of a mapping. `\\.`
    is a dot in a name. Raises ValueError for text that is no path.
    """
    value = obj
    for name, item in _steps(path):
        if isinstance(value, dict):
            value = value.get(name or item)
        elif isinstance(value, list) and item:
            value = _item(value, item)
        else:
            return None
    return value


def _item(items: list[Any], wanted: str) -> Any:
    if _NUMBER.fullmatch(wanted):
        return items[int(wanted)] if -len(items) <= int(wanted) < len(items) else None
    for key in ("name", "type", "key"):
        for item in items:
            if isinstance(item, dict) and item.get(key) == wanted:
                return item
    return None


_NUMBER = re.compile(r"-?[0-9]+")

#: A step of a path: a name, or an item in brackets.
_STEP = re.compile(r"\.*(?:((?:\\\.|[^.\[\]])+)|\[([^\[\]]+)\])")


def _steps(path: str) -> Sequence[tuple[str, str]]:
    """The steps of a path: the name of a field, or an item in brackets."""
    steps, at = [], 0
    while at < len(path):
        found = _STEP.match(path, at)
        if found is None:
            raise ValueError(
                f"{path!r} is no path: write 'spec.replicas', 'spec.containers[0].image' or "
                "'status.conditions[Ready].status'"
            )
        steps.append(((found[1] or "").replace("\\.", "."), found[2] or ""))
        at = found.end()
    return steps


def _fits(value: Any, wanted: Matcher) -> bool:
    if not callable(wanted):
        return bool(value == wanted)
    try:
        return bool(wanted(value))
    except (AttributeError, TypeError):  # a function of text that is called with None
        return False


def _shown(wanted: Matcher) -> str:
    return getattr(wanted, "__name__", repr(wanted)) if callable(wanted) else repr(wanted)
