"""Marks of the members of a cluster and of its desks: when they can be used, and what they need beyond the API.

The guards of a cluster that is not open or closed, the tests that other backends skip, and the table in the README are
derived from these marks, so that a new member is defined in one place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from enum import Enum
from functools import lru_cache, wraps
from importlib import import_module
from typing import Any, NoReturn, TypeVar, cast

from fakekube.struct import Struct

F = TypeVar("F", bound=Callable[..., Any])
D = TypeVar("D")

#: The attribute of a function that has its mark.
_MARK = "__fakekube_member__"


def _cached(function: F) -> F:
    """Remember what a function of classes returns; typed as the function."""
    return cast("F", lru_cache(maxsize=None)(function))


class Need(Enum):
    """What a member needs beyond the API of a cluster."""

    API = ""
    CLOCK = "the clock"
    FAULTS = "faults"
    STORE = "the server's store"
    REQUESTS = "the server's request log"
    SERVER = "fakekube's own server"
    CONTROLLERS = "the cluster's own controllers and nodes"
    KUBELET = "a simulated kubelet"
    WEBHOOKS = "webhooks in virtual time"


class When(Enum):
    """When a member can be used: a step of the test needs a running event loop, a change a cluster that is not closed;
    records can be read at any time."""

    STEP = "step"
    CHANGE = "change"
    READ = "read"


class Member(Struct, frozen=True):
    """The mark of a method or a property."""

    when: When
    needs: Need


def steps(needs: Need = Need.API) -> Callable[[F], F]:
    """Mark a method that runs code under test, or moves time."""
    return _marking(Member(When.STEP, needs))


def changes(needs: Need = Need.API) -> Callable[[F], F]:
    """Mark a method that changes the cluster."""
    return _marking(Member(When.CHANGE, needs))


def reads(needs: Need = Need.API) -> Callable[[F], F]:
    """Mark a method, or the function of a property, that changes nothing."""
    return _marking(Member(When.READ, needs))


def _marking(member: Member) -> Callable[[F], F]:
    def mark(function: F) -> F:
        setattr(function, _MARK, member)
        return function

    return mark


def mark_of(value: object) -> Member | None:
    """The mark of a method or a property of a class; None if it has none."""
    function = value.fget if isinstance(value, property) else value
    found: Member | None = getattr(function, _MARK, None)
    return found


@_cached
def members_of(face: type) -> Mapping[str, Member]:
    """The marked members of a class and of its bases, by name."""
    found: dict[str, Member] = {}
    for one in reversed(face.__mro__):
        for name, value in vars(one).items():
            if (mark := mark_of(value)) is not None:
                found[name] = mark
    return found


def implements(face: type) -> Callable[[type[D]], type[D]]:
    """Give the members of a class the documentation and the marks of the protocol that they implement."""

    def complete(made: type[D]) -> type[D]:
        for name, member in members_of(face).items():
            own = vars(made).get(name)
            function = own.fget if isinstance(own, property) else own
            if function is None:
                continue
            setattr(function, _MARK, member)
            documented = getattr(face, name)
            if not function.__doc__:
                function.__doc__ = documented.__doc__
            if isinstance(own, property):
                setattr(made, name, property(function, doc=function.__doc__))
        return made

    return complete


# --- life ------------------------------------------------------------------------------------------------------------

NOT_OPEN = "the cluster is not open: use the fixture `fakekube`, or `with FakeKube() as fakekube:`"
CLOSED = (
    "this cluster is closed: its records (timeline, ledger, requests(), state.versions(), log()) and objects can be "
    "read; make a new cluster for what follows"
)


def not_open(faces: Iterable[object]) -> None:
    """Refuse the steps of a cluster that is not open, on itself and on its desks."""
    for face in faces:
        vars(face).update(_refused_unopened(type(face)))


def opened(faces: Iterable[object]) -> None:
    """Refuse nothing: the cluster is open."""
    for face in faces:
        for name in _refused_unopened(type(face)):
            del vars(face)[name]


def closed(faces: Iterable[object]) -> None:
    """Refuse all but records: the cluster is closed."""
    for face in faces:
        vars(face).update(_refused_closed(type(face)))


@_cached
def _refused_unopened(face: type) -> Mapping[str, Callable[..., NoReturn]]:
    return _refusals(face, NOT_OPEN, frozenset({When.STEP}))


@_cached
def _refused_closed(face: type) -> Mapping[str, Callable[..., NoReturn]]:
    return _refusals(face, CLOSED, frozenset({When.STEP, When.CHANGE}))


def _refusals(face: type, text: str, when: frozenset[When]) -> Mapping[str, Callable[..., NoReturn]]:
    """Attributes of an instance that hide its methods."""

    def refusal(name: str) -> Callable[..., NoReturn]:
        def refuse(*args: Any, **options: Any) -> NoReturn:
            raise RuntimeError(f"{label(face, name)}: {text}")

        return refuse

    hidden = [name for name, mark in members_of(face).items() if mark.when in when and not _is_property(face, name)]
    return {name: refusal(name) for name in hidden}


def label(face: type, name: str) -> str:
    """How a test calls a member: `settle()`, `faults.compact()`, `pods()`."""
    package, _, module = face.__module__.rpartition(".")
    desk = module if package.endswith(".desks") else ""
    called = "" if _is_property(face, name) or name in ("__getitem__", "__iter__", "__len__") else "()"
    return ".".join(part for part in (desk, "" if name.startswith("__") else name) if part) + called


def _is_property(face: type, name: str) -> bool:
    return isinstance(getattr(face, name), property)


def check_can_open(*, is_open: bool, is_closed: bool) -> None:
    """Raises RuntimeError for a cluster that is, or was, open."""
    if is_open:
        raise RuntimeError("this cluster is open already: use it, without another `with`")
    if is_closed:
        raise RuntimeError(
            "this cluster is closed, and cannot be opened again: make a new one, `with FakeKube() as ...`"
        )


def check_reachable(name: str, *, is_closed: bool) -> None:
    """Raises RuntimeError for the address of a closed cluster."""
    if is_closed:
        raise RuntimeError(f"{name}: {CLOSED}")


# --- other backends --------------------------------------------------------------------------------------------------


def skip(needed: str, what: str, backend: str) -> NoReturn:
    """Skip the test that runs: `needs the clock: advance() is not available on backend envtest`."""
    import pytest

    pytest.skip(f"needs {needed}: {what} is not available on backend {backend}")


def skipped_on(backend: str, desk: type[D]) -> D:
    """A desk of a backend that has nothing of it: each of its members skips the test."""
    return object.__new__(_skipping(desk, backend, frozenset()))


def limited_to(backend: str, desk: D) -> D:
    """A desk whose members skip the test if they need more than the API."""
    api = frozenset(name for name, mark in members_of(type(desk)).items() if mark.needs is Need.API)
    desk.__class__ = _skipping(type(desk), backend, api)
    return desk


@_cached
def _skipping(desk: type[D], backend: str, available: frozenset[str]) -> type[D]:
    hidden: dict[str, Any] = {
        name: _skip_of(getattr(desk, name), label(desk, name), member, backend)
        for name, member in members_of(desk).items()
        if name not in available
    }
    return type(desk.__name__, (desk,), {**hidden, "__module__": desk.__module__})


def _skip_of(value: Any, called: str, member: Member, backend: str) -> Any:
    needed = member.needs.value or Need.SERVER.value
    if isinstance(value, property):
        return property(lambda self: skip(needed, called, backend))

    @wraps(value)
    def refuse(self: object, *args: Any, **options: Any) -> NoReturn:
        skip(needed, called, backend)

    return refuse


def skip_the_rest(made: type[D]) -> type[D]:
    """Let the members of its protocol that a class does not define skip the test, with its `backend`."""
    own = set(vars(made))
    for name, member in members_of(made).items():
        if name not in own:
            setattr(made, name, _skip_on_own(getattr(made, name), name, member))
    return made


def _skip_on_own(value: Any, name: str, member: Member) -> Any:
    needed = member.needs.value or Need.SERVER.value
    if isinstance(value, property):
        return property(lambda self: skip(needed, name, self.access.backend), doc=value.__doc__)

    @wraps(value)
    def refuse(self: Any, *args: Any, **options: Any) -> NoReturn:
        skip(needed, f"{name}()", self.access.backend)

    return refuse


def unknown(face: type, desks: Sequence[str], name: str) -> str:
    """What to say of a name that a cluster does not have: the desks that have it or one with its words, or what it is
    a slip of the pen for."""
    text = f"{face.__name__!r} object has no attribute {name!r}"
    if name.startswith("_"):
        return text
    package = f"{__name__.rpartition('.')[0]}.desks"
    found = {desk: getattr(import_module(package), desk.capitalize()) for desk in desks}
    names = {f"{desk}.{one}": one for desk, made in found.items() for one in members_of(made) if one[0] != "_"}
    words = set(name.split("_"))
    near = [path for path, one in names.items() if one == name or set(path.replace(".", "_").split("_")) >= words]
    own = [*members_of(face), *desks]
    close = (
        near
        or get_close_matches(name, own, n=1, cutoff=0.75)
        or [path for path, one in names.items() if words & {*one.split("_"), path.partition(".")[0][:-1]}]
        or [path for path, one in names.items() if get_close_matches(name, [one], cutoff=0.75)]
    )
    return f"{text}: did you mean {' or '.join(f'fakekube.{path}' for path in close[:3])}?" if close else text
