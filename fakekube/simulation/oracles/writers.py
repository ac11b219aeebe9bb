"""O2, O7, O11: no write of others is lost, no two writers fight over a field, nothing is deleted for an old reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fakekube.simulation.atoms import MARK
from fakekube.simulation.observation import CLUSTER, RACE, TEST, Commit, Observation, ReconcileRecord, Violation
from fakekube.simulation.statemask import is_compared, leaves

#: So often each of two writers takes back the other's value in a fight.
_ROUNDS = 3


def flips(reference: Observation, run: Observation) -> Iterator[Violation]:
    """O7: no field changes from A to B and back to A by two writers, unless it does so in the reference.

    Two controllers of an operator are two writers.
    """
    known = {(target, path) for target, path, _ in _flips(reference.commits)}
    for target, path, text in _flips(run.commits):
        if (target, path) not in known:
            yield Violation("O7", target, text)


def fights(reference: Observation) -> Iterator[Violation]:
    """O7 of the reference: no two writers set a field of a spec or of data in turn, each to its own value, again and
    again, while the test writes nothing.

    What goes to and fro in a status may be a protocol.
    """
    found: dict[tuple[str, str], Violation] = {}
    turns: dict[tuple[str, str], list[tuple[str, Any]]] = {}
    for one in reference.commits:
        if one.rest:
            break
        if one.actor in (TEST, RACE):
            turns.clear()
        if one.anchor.verb != "update" or not (one.by_operator or one.actor == CLUSTER) or not is_compared(one.kind):
            continue
        old, new = _fields(one.before, one.after), _fields(one.after, one.before)
        for path in [path for path in dict.fromkeys([*old, *new]) if not path.startswith("status")]:
            was, now = old.get(path), new.get(path)
            if was == now:
                continue
            past = turns.setdefault((one.uid, path), [])
            past.append((_writer(one), now))
            if _is_fight(past[-2 * _ROUNDS - 1 :]):
                values = [f"{who} sets {value!r}" for who, value in sorted(past[-2:])]
                text = f"{path} is set by two writers in turn, without a fault: {', '.join(values)}, again and again"
                found.setdefault((one.uid, path), Violation("O7", one.anchor.target, text))
    yield from found.values()


def _is_fight(past: Sequence[tuple[str, Any]]) -> bool:
    """Whether the last changes are of two writers in turn, each to its own value."""
    if len(past) < 2 * _ROUNDS + 1 or past[0][0] == past[1][0]:
        return False
    return all(one == past[number % 2] for number, one in enumerate(past))


def _writer(commit: Commit) -> str:
    return f"{commit.actor} ({commit.controller})" if commit.controller else commit.actor


def _flips(commits: Sequence[Commit]) -> Iterator[tuple[str, str, str]]:
    """The target, the path and a text for each field that two writers change to and fro."""
    history: dict[tuple[str, str], list[tuple[Any, str]]] = {}
    for one in commits:
        if one.anchor.verb == "delete":
            history = {key: value for key, value in history.items() if key[0] != one.uid}
        if one.anchor.verb != "update" or not is_compared(one.kind):
            continue
        old, new = _fields(one.before, one.after), _fields(one.after, one.before)
        for path in dict.fromkeys([*old, *new]):
            was, now = old.get(path), new.get(path)
            if was == now:
                continue
            past = history.setdefault((one.uid, path), [(was, "")])
            past.append((now, _writer(one)))
            if _has_flipped(past):
                writers = f"{past[-2][1]} and {past[-1][1]}"
                yield one.anchor.target, path, f"{path} changes from {was!r} back to {now!r} by {writers}"


def _has_flipped(past: Sequence[tuple[Any, str]]) -> bool:
    """Whether the last three changes go A, B, A, by two writers of which neither is the test."""
    if len(past) < 4:
        return False
    (_, _), (first, who), (_, other), (last, again) = past[-4:]
    return first == last and who == again != other and "test" not in (who, other) and "race" not in (who, other)


def _fields(obj: Mapping[str, Any] | None, other: Mapping[str, Any] | None) -> dict[str, Any]:
    """The fields of an object in those parts that are not equal in another version of it."""
    found: dict[str, Any] = {}
    for name in ("spec", "data", "status"):
        value = (obj or {}).get(name)
        if value != (other or {}).get(name):
            found.update(leaves(value, name))
    return found


def lost_updates(run: Observation) -> Iterator[Violation]:
    """O2: no operator overwrites what another client writes between its read and its write, in an object of the test.

    An object of its own it may write as a whole.
    """
    made_by_test = {one.uid for one in run.commits if one.anchor.verb == "create" and one.actor == TEST}
    for one in run.commits:
        if one.revision in run.raced and one.uid in made_by_test and one.after is not None:
            lost = _marks(one.before) - _marks(one.after)
            if lost:
                text = f"loses {', '.join(sorted(lost))}, which another client wrote after {one.actor} had read it"
                yield Violation("O2", one.anchor.target, text)


def _marks(obj: Mapping[str, Any] | None) -> set[str]:
    """What a competing writer has set."""
    meta = (obj or {}).get("metadata") or {}
    return {f"metadata.{field}.{MARK}" for field in ("annotations", "labels") if MARK in (meta.get(field) or ())}


def stale_decisions(run: Observation) -> Iterator[Violation]:
    """O11: no deletion by a reconcile that has read an older generation of its object than the current one.

    A reconcile that has read its object from the server itself has read the current one, and it knows what it has
    written itself. What is deleted because of an object that is being deleted, or is gone by then, would go with it.
    """
    by_key: dict[tuple[str, str, str], list[Commit]] = {}
    for one in run.commits:
        by_key.setdefault((one.kind, one.namespace, one.name), []).append(one)
    for deletion in run.by_operators():
        if deletion.anchor.verb != "delete" or not deletion.key or not is_compared(deletion.kind):
            continue
        record = _reconcile_of(run.reconciles, deletion)
        if record is None:
            continue
        for (kind, namespace, name), changes in by_key.items():
            if _key(namespace, name) != deletion.key or kind not in record.seen or kind == deletion.kind:
                continue
            if any(one.startswith(f"{kind}/") for one in record.read):
                continue
            seen = _generation(changes, record.seen[kind])
            by_others = [one for one in changes if not _is_within(record, one)]
            current = _generation(by_others, deletion.revision)
            if seen is not None and seen != current and not _is_going(by_others, deletion.revision):
                text = f"is deleted because of {kind}/{name} at {seen}, which is at {current} by then"
                yield Violation("O11", deletion.anchor.target, text)


def _reconcile_of(records: Sequence[ReconcileRecord], commit: Commit) -> ReconcileRecord | None:
    for one in records:
        if (one.controller, one.key, one.incarnation) == (commit.controller, commit.key, commit.incarnation) and (
            one.first < commit.revision <= one.last
        ):
            return one
    return None


def _is_within(record: ReconcileRecord, commit: Commit) -> bool:
    """Whether a reconcile has made a change itself, and so knows of it."""
    made_by = (commit.controller, commit.key, commit.incarnation)
    return made_by == (record.controller, record.key, record.incarnation) and commit.revision > record.first


def _key(namespace: str, name: str) -> str:
    return f"{namespace}/{name}" if namespace else name


def _is_going(changes: Sequence[Commit], revision: int) -> bool:
    """Whether an object is being deleted, or is gone, as of a revision."""
    last = next((one for one in reversed(changes) if one.revision <= revision), None)
    if last is None or last.after is None:
        return last is not None
    return "deletionTimestamp" in (last.after.get("metadata") or {})


def _generation(changes: Sequence[Commit], revision: int) -> str | None:
    """What identifies the spec of an object as of a revision: uid and generation; None before its creation."""
    found: str | None = None
    for one in changes:
        if one.revision > revision:
            break
        if one.after is None:
            found = "deletion"
        else:
            meta = one.after.get("metadata") or {}
            found = f"generation {meta.get('generation', '-')} of {str(meta.get('uid', ''))[:8]}"
    return found
