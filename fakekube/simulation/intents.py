"""What a test asked for at the end, as far as the record of a run shows it: the last spec of each object that it wrote.

Two runs of the test are made with it: `fresh` gives a new cluster the last spec at once (O8), and `rollback` takes the
last change back (O9).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fakekube.simulation.lastspec import Intent, Intents, Step
from fakekube.simulation.observation import TEST, Commit, Observation

Object = Mapping[str, Any]

#: The metadata that a client writes.
_WRITTEN = ("name", "namespace", "labels", "annotations", "finalizers", "ownerReferences")


def intents_of(reference: Observation) -> Intents:
    """The intents of the test that made these changes."""
    found: dict[tuple[str, str, str], Intent] = {}
    others = 0
    for one in reference.commits:
        if one.rest or one.actor != TEST or one.is_external:
            continue
        key = (one.kind, one.namespace, one.name)
        before = found.get(key)
        if one.before is None and one.after is not None:
            content = written(one.after)
            first = content if before is None else before.first
            found[key] = Intent(*key, first, content, changed=before is not None)
        elif before is None or before.wanted is None or not _writes_main(one):
            others += 1
        elif one.is_deletion:
            found[key] = Intent(*key, before.first, None, changed=True)
        else:
            wanted = carried(before.wanted, written(one.before or {}), written(one.after or {}))
            found[key] = Intent(*key, before.first, wanted, changed=True)
    return Intents(tuple(found.values()), others, reference.ended)


def _writes_main(commit: Commit) -> bool:
    """Whether a change is more than one of the status."""
    return any(field.partition(".")[0] != "status" for field in commit.anchor.fields) or commit.is_deletion


def written(obj: Object) -> Object:
    """What a client writes of an object, without what the server sets."""
    meta = obj.get("metadata") or {}
    content = {name: value for name, value in obj.items() if name not in ("metadata", "status")}
    return {**content, "metadata": {name: meta[name] for name in _WRITTEN if name in meta}}


def carried(wanted: Object, before: Object, after: Object) -> Object:
    """`wanted` with the difference of `after` from `before`. Lists are replaced as a whole."""
    found = dict(wanted)
    for name in dict.fromkeys([*before, *after]):
        was, now = before.get(name), after.get(name)
        if was == now:
            continue
        if name not in after:
            found.pop(name, None)
        elif isinstance(was, Mapping) and isinstance(now, Mapping) and isinstance(found.get(name), Mapping):
            found[name] = carried(found[name], was, now)
        else:
            found[name] = now
    return found


def last_step(reference: Observation) -> Step | None:
    """The last change of the test, if it updates an object of its own that exists, and the cluster was at rest before.

    None otherwise: then there is nothing to take back.
    """
    made = [one for one in reference.commits if one.actor == TEST and not one.rest and not one.is_external]
    if not made:
        return None
    last = made[-1]
    before = max((one.revision for one in reference.commits if one.revision < last.revision), default=0)
    if last.before is None or last.after is None or not _writes_main(last) or last.is_deletion:
        return None
    if before not in reference.rests or intents_of(reference).find(last.kind, last.namespace, last.name) is None:
        return None
    return Step(last.revision, last.kind, last.namespace, last.name, written(last.before), written(last.after))


def state_before(reference: Observation, revision: int) -> Mapping[str, Object]:
    """The objects right before a revision, by target, as far as changes of the run show them."""
    found: dict[str, Object] = {}
    for one in reference.commits:
        if one.revision >= revision:
            break
        if one.after is None:
            found.pop(one.anchor.target, None)
        elif "*" not in one.anchor.target:
            found[one.anchor.target] = one.after
    return found
