"""O2 and O3: a run ends in the reference's state, and creates and deletes each object as often."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from fakekube.simulation.allocations import Allocations
from fakekube.simulation.anchor import numbered
from fakekube.simulation.observation import CLUSTER, TEST, Commit, Observation, Violation
from fakekube.simulation.oracles.numbering import State, handed_out
from fakekube.simulation.statemask import HISTORY, Mask, changed_status, is_compared

Object = Mapping[str, Any]

#: Kinds that say what has happened to nodes, or that list pods in the order in which they came.
_OF_NODES = frozenset({"node", "endpointslice", "ep"})

#: More differences of one object are counted, not listed.
_LISTED = 3


def final_state(
    reference: Observation, run: Observation, mask: Mask, oracle: str = "O2", *, new: Observation | None = None
) -> Iterator[Violation]:
    """O2: the final objects are those of the reference, but for what the mask leaves out.

    Where the reference is not at rest, they may also be as it leaves them when everything is reconciled once more.
    `new`: a run with the last spec alone, if the operator may have missed a spec: they may also be as in that one.
    Nothing is judged if an object is gone that the test did not create, because it met the one that was being deleted.
    """
    if any(target not in run.final for target in _not_created(reference, run)):
        return
    mask = mask.for_moves() if run.moved else mask
    expected = _compared(reference.final, run.moved)
    allocated = mask.allocations(reference.final, run.final, moved=run.moved)
    found = _matched(expected, _compared(run.final, run.moved), mask, allocated)
    rested = _at_rest(reference)
    numbers: Mapping[tuple[str, str], frozenset[Any]] | None = None
    for target in dict.fromkeys([*expected, *found]):
        if (
            target in rested
            and not _is_wiped(reference, target)
            and _is_as(rested[target], found.get(target), target, mask, allocated)
        ):
            continue
        if run.skipped and _may_be_history(reference, target, expected, found):
            continue
        if target not in found:
            if not _need_not_exist(target, reference, new):
                yield Violation(oracle, target, "is absent at the end (the reference has it)")
        elif target not in expected:
            yield Violation(oracle, target, "is there at the end (the reference does not have it)")
        elif differing := mask.differences(target, expected[target], found[target], allocated):
            if numbers is None:
                numbers = handed_out(State(expected, _deleted(reference)), State(found, _deleted(run)))
            of_new = _differing_from_new(target, new, found[target], mask, allocated)
            differing = [one for one in differing if of_new(one[0]) and not _is_handed_out(target, one, numbers)]
            if not differing:
                continue
            shown = "; ".join(f"{path} {was!r} (reference) != {now!r}" for path, was, now in differing[:_LISTED])
            more = f"; {len(differing) - _LISTED} more" if len(differing) > _LISTED else ""
            yield Violation(oracle, target, f"{shown}{more}")
    usual = mask.items(reference.external)
    for target in (usual if new is None else usual & mask.items(new.external)) - mask.items(run.external):
        yield Violation(oracle, target, "is absent at the end (the reference has it)")


def _need_not_exist(target: str, reference: Observation, new: Observation | None) -> bool:
    """Whether an object is not missed: with the last spec alone it does not exist, or it exists in the reference only
    because no garbage collector runs there: its owners are gone."""
    return is_garbage(reference.final[target], reference.final) or (new is not None and target not in new.final)


def _differing_from_new(
    target: str, new: Observation | None, found: Object, mask: Mask, allocated: Allocations
) -> Callable[[str], bool]:
    """Whether a field also differs from a run with the last spec alone, if there is one."""
    if new is None or target not in new.final:
        return lambda path: True
    return {path for path, *_ in mask.differences(target, new.final[target], found, allocated)}.__contains__


def _is_handed_out(
    target: str, difference: tuple[str, Any, Any], numbers: Mapping[tuple[str, str], frozenset[Any]]
) -> bool:
    path, *values = difference
    known = numbers.get((target.partition("/")[0], path), frozenset())
    return all(isinstance(one, str | int) and one in known for one in values)


def _not_created(reference: Observation, run: Observation) -> Iterator[str]:
    """What the test has created less often than in the reference."""
    before, after = (
        Counter(one.anchor.target for one in each.commits if one.actor == TEST and one.anchor.verb == "create")
        for each in (reference, run)
    )
    return (target for target, times in before.items() if 0 < after[target] < times)


def _deleted(run: Observation) -> Mapping[str, Object]:
    """The last states of objects that were deleted."""
    return {
        one.anchor.target: one.before
        for one in run.commits
        if one.anchor.verb == "delete" and one.before is not None and is_compared(one.kind)
    }


def _at_rest(reference: Observation) -> Mapping[str, Object | None]:
    """What the reference makes of objects when everything is reconciled once more: it has not been at rest before."""
    return {one.anchor.target: one.after for one in reference.commits if one.rest and "*" not in one.anchor.target}


def _is_wiped(reference: Observation, target: str) -> bool:
    """Whether a reconcile once more changes a field of the status that the test has written last."""
    writers: dict[str, str] = {}
    for one in reference.commits:
        if one.anchor.target != target or one.anchor.verb != "update":
            continue
        changed = changed_status(one.before, one.after)
        if one.rest and one.by_operator and any(writers.get(path) == TEST for path in changed):
            return True
        writers.update(dict.fromkeys(changed, one.actor))
    return False


def _is_of_former_spec(reference: Observation, target: str) -> bool:
    """Whether an object of a kind that keeps history was made for a spec that the test has changed since.

    An operator whose watch is late, or that is down, may never see that spec.
    """
    if target.partition("/")[0] not in HISTORY:
        return False
    made = [one.revision for one in reference.commits if one.anchor.target == target and one.anchor.verb == "create"]
    return bool(made) and any(
        one.actor == TEST and one.before is not None and one.revision > made[-1] for one in reference.commits
    )


def _may_be_history(
    reference: Observation, target: str, expected: Mapping[str, Object], found: Mapping[str, Object]
) -> bool:
    """Whether an operator that has not seen a former spec explains that an object is missing, differs, or is left."""
    if target in expected:
        return _is_of_former_spec(reference, target)
    return _is_kept_instead(reference, target, expected, found)


def _is_kept_instead(
    reference: Observation, target: str, expected: Mapping[str, Object], found: Mapping[str, Object]
) -> bool:
    """Whether an object is left over that the cluster itself limits the number of, and the limit is kept.

    An operator whose watch was late has made fewer revisions, so that the cluster has deleted others of them.
    """
    if target.partition("/")[0] not in HISTORY:
        return False
    deletions = [one.actor for one in reference.commits if one.anchor.target == target and one.anchor.verb == "delete"]
    if deletions[-1:] != [CLUSTER]:
        return False
    kept, usual = (sum(_owner(one) == _owner(found[target]) for one in each.values()) for each in (found, expected))
    return kept <= usual


def is_left_revision(reference: Observation, run: Observation, target: str) -> bool:
    """Whether a revision of a workload is left that another release of the operator has rolled out."""
    obj = run.final.get(target)
    if obj is None or target in reference.final or target.partition("/")[0] not in ("rs", "replicaset"):
        return False
    return not (obj.get("spec") or {}).get("replicas") and not is_garbage(obj, run.final)


def _owner(obj: Object) -> tuple[Any, Any, Any]:
    """The kind of an object, and its owner."""
    owners = (obj.get("metadata") or {}).get("ownerReferences") or [{}]
    return obj.get("kind"), owners[0].get("kind"), owners[0].get("name")


def _is_as(expected: Object | None, found: Object | None, target: str, mask: Mask, allocated: Allocations) -> bool:
    if expected is None or found is None:
        return expected is found
    return not mask.differences(target, expected, found, allocated)


def _matched(
    expected: Mapping[str, Object], found: Mapping[str, Object], mask: Mask, allocated: Allocations
) -> Mapping[str, Object]:
    """`found`, with objects whose names are generated under the targets of the equal ones in the reference, if any.

    `pod/a-*` and `pod/a-*~2` are numbered as they are created, which another order does not make wrong.
    """
    result = {target: obj for target, obj in found.items() if "*" not in target}
    waiting = {target: obj for target, obj in found.items() if "*" in target}
    unmatched = []
    for target, obj in expected.items():
        if "*" in target:
            alike = [one for one in waiting if _base(one) == _base(target)]
            same = [one for one in alike if not mask.differences(target, obj, waiting[one], allocated)]
            if same:
                result[target] = waiting.pop(same[0])
            else:
                unmatched.append(target)
    for target in unmatched:
        other = next((one for one in waiting if _base(one) == _base(target)), None)
        if other is not None:
            result[target] = waiting.pop(other)
    for target, obj in waiting.items():
        result[numbered(_base(target), result)] = obj
    return result


def _base(target: str) -> str:
    return target.partition("~")[0]


def is_garbage(obj: Object, final: Mapping[str, Object]) -> bool:
    """Whether an object has owners, all of which are gone."""
    owners = (obj.get("metadata") or {}).get("ownerReferences") or ()
    if not owners:
        return False
    uids = {(one.get("metadata") or {}).get("uid") for one in final.values()}
    return all(owner.get("uid") not in uids for owner in owners)


def _compared(final: Mapping[str, Object], moved: bool) -> Mapping[str, Object]:
    """The objects that are compared. If pods have moved, those about nodes and addresses of pods are not."""
    left_out = _OF_NODES if moved else ()
    return {
        target: obj for target, obj in final.items() if is_compared(target) and target.partition("/")[0] not in left_out
    }


def counts(reference: Observation, run: Observation, mask: Mask, expected: Sequence[str] = ()) -> Iterator[Violation]:
    """O3: no object is created or deleted more often than in the reference.

    It may happen less often: what an operator does not see because it is down, it need not do. What the reference does
    when everything is reconciled once more may be done earlier.

    `expected`: shell patterns of changes whose number may differ, `create job/*`.
    """
    before = _counted(reference.commits, mask)
    after = _counted([one for one in run.commits if not one.rest], mask)
    if run.moved:
        after -= _replaced(reference, run, mask)
    for change in dict.fromkeys([*before, *after]):
        if after[change] > before[change] and not any(fnmatchcase(change, one) for one in expected):
            verb, _, target = change.partition(" ")
            text = f"is {verb}d {_times(after[change])}, in the reference {_times(before[change])}"
            yield Violation("O3", target, text)


def _counted(commits: Sequence[Commit], mask: Mask) -> Counter[str]:
    """How often operators and controllers create and delete each object, but for those that are created as garbage."""
    garbage = _created_as_garbage(commits)
    return Counter(
        f"{one.anchor.verb} {mask.external(one.anchor.target)}"
        for one in commits
        if one.anchor.verb != "update"
        and one.actor not in ("test", "race")
        and is_compared(one.kind)
        and one.uid not in garbage
    )


def _replaced(reference: Observation, run: Observation, mask: Mask) -> Counter[str]:
    """What is due to pods that had to leave their nodes: that they are deleted, and created again."""
    usual, made = (
        Counter(
            mask.external(one.anchor.target)
            for one in each.commits
            if one.anchor.verb == "delete" and (one.kind == "pod" or not one.by_operator)
        )
        for each in (reference, run)
    )
    return Counter(
        {f"{verb} {target}": times for target, times in (made - usual).items() for verb in ("create", "delete")}
    )


def _created_as_garbage(commits: Sequence[Commit]) -> frozenset[str]:
    """The uids of objects that are created when all their owners are gone, and that the garbage collector deletes.

    An operator cannot know at once that an owner is gone. What controllers make for such an object is garbage, too:
    it has that object as its owner, or it is the Endpoints of a Service.
    """
    services: set[tuple[str, str]] = set()
    gone: set[str] = set()
    found: set[str] = set()
    deleted: set[str] = set()
    for one in commits:
        owners = ((one.after or {}).get("metadata") or {}).get("ownerReferences") or ()
        is_orphan = bool(owners) and all(owner.get("uid") in gone | found for owner in owners)
        if one.anchor.verb == "create" and (is_orphan or (one.kind == "ep" and (one.namespace, one.name) in services)):
            found.add(one.uid)
            services |= {(one.namespace, one.name)} if one.kind == "svc" else set()
        if one.anchor.verb == "delete":
            gone.add(one.uid)
            deleted |= set() if one.by_operator else {one.uid}
    return frozenset(found & deleted)


def _times(number: int) -> str:
    return "once" if number == 1 else "never" if number == 0 else f"{number} times"
