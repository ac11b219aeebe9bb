"""Records a run: what was committed and by whom, what informers were sent, what reconciles did."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from linecache import getline
from pathlib import Path
from typing import Any

from controllerlib.observer import current_run
from fakekube.apiserver.resource import Resource
from fakekube.apiserver.storage.store import Change, Store
from fakekube.simulation.anchor import CALL, Anchor, Occurrences, changed_fields, numbered, target_of
from fakekube.simulation.observation import OPERATOR, RACE, TEST, Commit, Delivery, Observation, ReconcileRecord

Object = Mapping[str, Any]

#: The packages whose frames are not those of a test.
_NOT_THE_TEST = ("fakekube", "controllerlib", "_pytest", "pluggy", "asyncio", "contextlib")

#: Kinds whose lower-case name is longer than this are shown by their short name, if they have one.
_LONG = 6


class Kinds:
    """The names of kinds in anchors, by the collection in which their objects are stored."""

    def __init__(self, resources: Iterable[Resource]) -> None:
        self._resources = resources
        self._names: dict[str, str] = {}

    def name(self, collection: str) -> str:
        """The short name of the resource, if its kind is long and it has one, else the lower-case kind.

        The group follows if another kind has that name, as for a custom Job: `job.example.com`.
        """
        found = self._names.get(collection)
        if found is None:
            self._name_new()
            found = self._names.setdefault(collection, collection.partition(".")[0])
        return found

    def _name_new(self) -> None:
        """Name the kinds that have no name, built-in ones first."""
        taken = set(self._names.values())
        for one in sorted(self._resources, key=lambda one: one.stored_version is not None):
            if one.collection not in self._names:
                name = kind_name(one)
                self._names[one.collection] = f"{name}.{one.group}" if name in taken else name
                taken.add(name)

    def by_alias(self) -> Mapping[str, str]:
        """The name of each kind by all its names: the kind, plural, singular and short ones, each also with the group.

        Of several kinds with one name, the first one has it: a built-in one.
        """
        self._name_new()
        found = {name: name for name in self._names.values()}
        for one in sorted(self._resources, key=lambda one: one.stored_version is not None):
            for alias in (one.kind.lower(), one.plural, one.singular, *one.short_names):
                found.setdefault(alias, self._names[one.collection])
                found.setdefault(f"{alias}.{one.group}", self._names[one.collection])
        return found

    def resource(self, name: str) -> Resource | None:
        """The resource whose kind has this name, in the version in which its objects are stored."""
        found = [one for one in self._resources if self.name(one.collection) == name]
        return next((one for one in found if one.stored_version in (None, one.version)), found[0] if found else None)


def kind_name(resource: Resource) -> str:
    """The name of a kind in anchors."""
    kind = resource.kind.lower()
    return resource.short_names[0] if len(kind) > _LONG and resource.short_names else kind


@dataclass(frozen=True, slots=True)
class Actor:
    """Who makes a request: the name that the record shows, and the incarnation of an operator."""

    name: str = TEST
    incarnation: int = 0


@dataclass(slots=True)
class _Running:
    """A reconcile that has not ended."""

    started: float
    first: int
    seen: Mapping[str, int]
    read: list[str] = field(default_factory=list)


class Recorder:
    """The record of one run, and the observation that is made of it at the end."""

    racing: bool = False
    """Whether what is written now is a competing write."""
    resting: bool = False
    """Whether the check for writes at rest runs."""

    def __init__(self, kinds: Kinds) -> None:
        self.kinds = kinds
        self.commits: list[Commit] = []
        self.deliveries: list[Delivery] = []
        self.reconciles: list[ReconcileRecord] = []
        self.reads: list[Anchor] = []
        self.raced: list[int] = []
        self.calls: list[tuple[Anchor, bool]] = []
        self._occurrences = Occurrences()
        self._seen: dict[tuple[str, int], dict[str, int]] = {}
        self._running: dict[tuple[str, int, str, str], _Running] = {}
        self._revision = 0
        self._rests: list[int] = []

    def anchor_of(self, collection: str, path: str, before: Object | None, after: Object | None) -> Anchor:
        """The anchor of a change, without its occurrence."""
        verb = "create" if before is None else "delete" if after is None else "update"
        namespace, _, name = path.rpartition("/")
        generated = ((after or before or {}).get("metadata") or {}).get("generateName", "")
        target = target_of(self.kinds.name(collection), namespace, name, generated)
        fields = changed_fields(before, after) if before is not None and after is not None else ()
        return Anchor(verb, target, fields)

    def final_objects(self, store: Store) -> dict[str, Object]:
        """The objects of a store by target; those with generated names are numbered."""
        found: dict[str, Object] = {}
        for collection, path, entry in store.entries():
            target = self.anchor_of(collection, path, None, entry.object).target
            found[numbered(target, found) if "*" in target else target] = entry.object
        return found

    def expected(self, anchor: Anchor) -> Anchor:
        """The anchor that a change would have if it were committed now."""
        return self._occurrences.peek(anchor)

    def committed(self, change: Change, actor: Actor, at: float) -> Commit:
        """Record a stored change."""
        before = change.before.object if change.before is not None else None
        after = change.after.object if change.after is not None else None
        anchor = self.anchor_of(change.collection, change.path, before, after)
        anchor = self._occurrences.next(anchor.verb, anchor.target, anchor.fields)
        namespace, _, name = change.path.rpartition("/")
        kind = self.kinds.name(change.collection)
        self._revision = change.revision
        return self._made(actor, at, anchor, kind, namespace, name, before, after)

    def changed_outside(self, verb: str, target: str, actor: Actor, at: float) -> Commit:
        """Record a change of an external API. Its revision is that of the last stored change."""
        anchor = self._occurrences.next(verb, target, ())
        kind, name, item = target.split("/", 2)
        return self._made(actor, at, anchor, kind, name, item)

    def _made(
        self,
        actor: Actor,
        at: float,
        anchor: Anchor,
        kind: str,
        namespace: str,
        name: str,
        before: Object | None = None,
        after: Object | None = None,
    ) -> Commit:
        run = current_run() if actor.name.startswith(OPERATOR) else None
        made = Commit(
            self._revision, at, anchor, kind, namespace, name,
            RACE if self.racing else actor.name,
            actor.incarnation,
            run.controller if run is not None else "",
            str(run.request) if run is not None else "",
            self.resting,
            before,
            after,
        )  # fmt: skip
        self.commits.append(made)
        return made

    def read(self, verb: str, collection: str, namespace: str, name: str, actor: Actor) -> Anchor:
        """Record a read of an operator from the server."""
        target = target_of(self.kinds.name(collection), namespace, name)
        anchor = self._occurrences.next(verb, target, ())
        if not self.resting:  # no fault is injected then
            self.reads.append(anchor)
        run = current_run()
        if run is not None:
            running = self._running.get((actor.name, actor.incarnation, run.controller, str(run.request)))
            if running is not None:
                running.read.append(target)
        return anchor

    def called(self, target: str, actor: Actor, waits: bool) -> Anchor:
        """Record a call of an operator to an external API. `waits`: whether it is awaited."""
        anchor = self._occurrences.next(CALL, target, ())
        if not self.resting:
            self.calls.append((anchor, waits))
        return anchor

    def delivered(self, collection: str, revision: int, actor: Actor, at: float) -> None:
        """Record an event that a watch of an operator delivers."""
        kind = self.kinds.name(collection)
        self.reached(collection, revision, actor)
        self.deliveries.append(Delivery(revision, at, kind, actor.name, len(self.reconciles) + len(self._running)))

    def reached(self, collection: str, revision: int, actor: Actor) -> None:
        """Record that a watch of an operator has come to a revision.

        The events of a streamed list have the revisions of their objects, in the order of names; its bookmark has that
        of the list.
        """
        seen = self._seen.setdefault((actor.name, actor.incarnation), {})
        kind = self.kinds.name(collection)
        seen[kind] = max(seen.get(kind, 0), revision)

    def listed(self, collection: str, revision: int, actor: Actor) -> None:
        """Record that an operator has listed a kind as of a revision."""
        self._seen.setdefault((actor.name, actor.incarnation), {})[self.kinds.name(collection)] = revision

    def at_rest(self) -> None:
        """Record that the cluster is quiescent."""
        if not self._rests or self._rests[-1] != self._revision:
            self._rests.append(self._revision)

    def reconcile_started(self, actor: Actor, controller: str, key: str, at: float) -> None:
        seen = dict(self._seen.get((actor.name, actor.incarnation), {}))
        self._running[actor.name, actor.incarnation, controller, key] = _Running(at, self._revision, seen)

    def reconcile_ended(
        self,
        actor: Actor,
        controller: str,
        key: str,
        error: BaseException | None,
        requeue_after: float | None,
        cause: str = "",
    ) -> None:
        running = self._running.pop((actor.name, actor.incarnation, controller, key), None)
        if running is None:
            return
        self.reconciles.append(
            ReconcileRecord(
                actor.name, actor.incarnation, controller, key, running.started, running.first, self._revision,
                running.seen, text_of(error), is_unexpected(error), requeue_after, tuple(running.read), cause,
            )
        )  # fmt: skip

    def observation(self, seed: int, **more: Any) -> Observation:
        """All that was recorded, with what the caller adds."""
        return Observation(
            seed,
            commits=self.commits,
            deliveries=self.deliveries,
            reconciles=self.reconciles,
            reads=self.reads,
            calls=self.calls,
            raced=tuple(self.raced),
            rests=tuple(self._rests),
            **more,
        )


def text_of(error: BaseException | None) -> str:
    """The type and the text of an exception; empty for none."""
    return "" if error is None else f"{type(error).__name__}: {error}"


def place_of(error: BaseException | None) -> str:
    """`FILE:LINE` where the test's own code has raised or called what raised; empty if it is not known."""
    path, line = _line_of(error)
    return f"{Path(path).name}:{line}" if path else ""


def code_of(error: BaseException | None) -> str:
    """The line of the test's own code that has raised or called what raised."""
    return getline(*_line_of(error)).strip()


def _line_of(error: BaseException | None) -> tuple[str, int]:
    trace, found = error.__traceback__ if error is not None else None, ("", 0)
    while trace is not None:
        if is_of_user(str(trace.tb_frame.f_globals.get("__name__", ""))):
            found = trace.tb_frame.f_code.co_filename, trace.tb_lineno
        trace = trace.tb_next
    return found


def is_of_user(module: str) -> bool:
    """Whether a module is that of a test or an operator, or of a library that these use."""
    return module.partition(".")[0] not in _NOT_THE_TEST


def is_unexpected(error: BaseException | None) -> bool:
    """Whether an exception is a defect of the code, and not an answer of a server or a broken connection."""
    if error is None:
        return False
    return isinstance(error, LookupError | TypeError | AttributeError | AssertionError | NameError | ArithmeticError)
