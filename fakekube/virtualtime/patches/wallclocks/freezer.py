"""The wall clock, with freezegun: the code under test reads virtual time from `datetime` and `time`.

freezegun alone conflicts with the official client, threads and pytest; each setting below fixes one such conflict.
"""

import datetime
import sys
import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple

from fakekube.virtualtime.compatibility.requirements import OF_FREEZEGUN, check
from fakekube.virtualtime.patches.importhook import IMPORTS
from fakekube.virtualtime.patches.patch import PatchSet, Swaps
from fakekube.virtualtime.patches.wallclocks import frozentime, localzone
from fakekube.virtualtime.patches.wallclocks.readings import Readings
from fakekube.virtualtime.patches.wallclocks.realdatetime import cache_real_datetime

#: Modules with these prefixes read real time. They end with a dot, because freezegun compares prefixes: "queue" would
#: also match a module named "queueing".
REAL_TIME = (
    # reads the bubble's clock, or the real one on purpose
    "fakekube.",
    # create classes with `datetime` when their modules are first used, which fails with the frozen one
    "kubernetes.client",
    "kubernetes.aio.client",
    "kubernetes_asyncio.client",
    "lightkube.models.",
    # their timeouts are in real time, and would never expire
    "asyncio.",
    "concurrent.futures.",
    "multiprocessing.",
    # compares the date with that of its release
    "urllib3.connection",
    # measure the duration of tests
    "_pytest.",
    "execnet.",
    "hypothesis.",
    "pluggy.",
    "xdist.",
    # freezegun's own exceptions
    "django.utils.six.moves",
    "six.moves",
)

#: Single modules that read real time; their names are prefixes of other modules.
REAL_TIME_EXACTLY = frozenset({"queue", "sched", "selectors", "socketserver", "subprocess", "threading"})

#: Modules with a table of types that is filled at import; deserialization compares it with `datetime.datetime`.
_TYPE_TABLES = (
    "kubernetes.client.api_client",
    "kubernetes.aio.client.api_client",
    "kubernetes_asyncio.client.api_client",
)


class Freezer:
    """A WallClock. At most one is active in a process, and no other library may freeze time meanwhile."""

    def __init__(self) -> None:
        self._freeze: Any = None
        self._factory: Any = None
        self._factories: list[Any] = []
        self._api: Any = None
        self._swaps = Swaps()
        self._functions = PatchSet(())
        self._types_before: list[tuple[dict[str, Any], dict[str, Any]]] = []
        self._ignore_imports: Callable[[], None] | None = None
        self._readings = Readings()
        self._depth = 0

    def start(self, now: datetime.datetime) -> None:
        """Freeze. RuntimeError if time is frozen already; on any error nothing stays frozen."""
        import freezegun
        from freezegun import api

        check(OF_FREEZEGUN)
        if api.freeze_factories:
            raise RuntimeError(_TAKEN.format(who="freezegun"))
        if _is_travelling():
            raise RuntimeError(_TAKEN.format(who="time-machine"))
        cache_real_datetime()
        # freezegun searches all modules otherwise, which takes longer than all else that opens a cluster
        modules = _Interpreter(timed_modules())
        self._functions = PatchSet(frozentime.patches())
        self._functions.install()
        self._freeze = freezegun.freeze_time(_naive(now))
        self._freeze.ignore = REAL_TIME
        self._swaps.set(api, "_get_cached_module_attributes", time_attributes)
        searched = Swaps()
        for name, fake in frozentime.FAKES.items():
            self._swaps.set(api, name, fake)
        frozentime.freeze(_microseconds(now), api)
        try:
            searched.set(api, "sys", modules)
            self._factory = self._freeze.start()
            searched.restore()
        except BaseException:
            searched.restore()
            frozentime.unfreeze()
            # freezegun replaces datetime before it searches the modules, and does not undo it
            self._freeze.stop()
            self._functions.remove()
            self._swaps.restore()
            raise
        self._freeze.modules_at_start = set(sys.modules)
        self._factories, self._api = api.freeze_factories, api
        for owner, name, method in localzone.methods(api):
            self._swaps.set(owner, name, method)
        self._readings.install(api.FakeDatetime)
        # only the direct caller counts: a function that is called by `threading` or an executor is user code
        self._swaps.set(api, "call_stack_inspection_limit", 1)
        for module, name, value in self._freeze.undo_changes:
            if module.__name__ in REAL_TIME_EXACTLY:
                setattr(module, name, value)
        for name in _TYPE_TABLES:
            if name in sys.modules:
                self._freeze_types(sys.modules[name])
        self._forbid_others(api)
        self._ignore_imports = IMPORTS.listen(self._refreeze, self._unfreeze)

    def move(self, now: datetime.datetime) -> None:
        if not self._factories or self._factories[-1] is not self._factory:
            raise RuntimeError(_NESTED)
        self._factory.time_to_freeze = _naive(now)
        frozentime.freeze(_microseconds(now), self._api)

    def stop(self) -> None:
        if self._factory is None:
            return
        if self._ignore_imports is not None:
            self._ignore_imports()
        for table, before in self._types_before:
            table.update(before)
        self._types_before.clear()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._freeze.stop()
        self._factory = None
        self._readings.remove()
        frozentime.unfreeze()
        self._functions.remove()
        self._swaps.restore()

    # --- imports

    def _unfreeze(self) -> None:
        from freezegun import api

        self._depth += 1
        datetime.datetime, datetime.date = api.real_datetime, api.real_date  # type: ignore[misc]

    def _refreeze(self, module: ModuleType) -> None:
        from freezegun import api

        self._depth -= 1
        if self._factory is None:
            return
        if not self._depth:
            cache_real_datetime()
            datetime.datetime, datetime.date = api.FakeDatetime, api.FakeDate  # type: ignore[misc]
        self._freeze_module(module)
        if module.__name__ in _TYPE_TABLES:
            self._freeze_types(module)

    def _freeze_module(self, module: ModuleType) -> None:
        """Put the fakes into a new module; into one that reads real time, the real functions."""
        reals = self._freeze.reals
        fakes = {id(reals[id(fake)]): fake for fake in _fakes()}
        real_time = module.__name__.startswith(REAL_TIME) or module.__name__ in REAL_TIME_EXACTLY
        for name, value in tuple(vars(module).items()):
            real = reals.get(id(value))
            if real is not None and real_time:
                setattr(module, name, real)
            elif real is not None:
                self._freeze.undo_changes.append((module, name, real))
            elif (fake := fakes.get(id(value))) is not None and not real_time:
                setattr(module, name, fake)
                self._freeze.undo_changes.append((module, name, value))
        # otherwise freezegun searches it with `dir`, which makes lazy modules import all their names
        self._freeze.modules_at_start.add(module.__name__)

    def _freeze_types(self, module: ModuleType) -> None:
        from freezegun import api

        client = getattr(module, "ApiClient", None)
        table = getattr(client, "NATIVE_TYPES_MAPPING", None)
        if isinstance(table, dict) and "datetime" in table:
            self._types_before.append((table, {name: table[name] for name in ("date", "datetime")}))
            # within the import of a module, those of `datetime` itself are the real ones
            table.update(date=api.FakeDate, datetime=api.FakeDatetime)
        if client is not None:
            self._readings.install_client(client)

    # --- other libraries that freeze time

    def _forbid_others(self, api: Any) -> None:
        def start(*_: Any, **__: Any) -> Any:
            raise RuntimeError(_NESTED)

        self._swaps.set(api._freeze_time, "start", start)
        travel = getattr(sys.modules.get("time_machine"), "travel", None)
        if travel is not None:
            self._swaps.set(travel, "start", start)


_TAKEN = (
    "{who} has frozen time already, and the cluster must freeze it, too: remove the other one, or leave the wall clock "
    "alone with wall_clock=False"
)
_NESTED = (
    "the cluster has frozen time and moves it; a freeze_time() or travel() inside would override it and stop the "
    "clock. Move the cluster's clock instead (advance, advance_to), or leave the wall clock alone with wall_clock=False"
)

_1970 = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


class _Interpreter:
    """`sys` with fewer modules, for freezegun's search."""

    def __init__(self, modules: dict[str, ModuleType]) -> None:
        self.modules = modules

    def __getattr__(self, name: str) -> Any:
        return getattr(sys, name)


class _Seen(NamedTuple):
    """A module that was searched: its names, how many they were, and those of functions of `time` or classes of
    `datetime`."""

    module: ModuleType
    names: dict[str, Any]
    size: int
    timed: list[tuple[str, Any]]


class _Search(NamedTuple):
    """What a search of all modules has found; it is valid while there are the same modules with as many names."""

    modules: dict[str, ModuleType]
    seen: dict[str, _Seen]
    names: list[dict[str, Any]]
    sizes: list[int]
    #: Those that bind functions of `time` or classes of `datetime`, and what they bind.
    timed: dict[str, ModuleType]
    attributes: dict[int, list[tuple[str, Any]]]

    def is_valid(self) -> bool:
        return self.modules == sys.modules and list(map(len, self.names)) == self.sizes


#: The last search of the process, as `sys.modules` is of the process.
_last = _Search({}, {}, [], [], {}, {})


def timed_modules() -> dict[str, ModuleType]:
    """The loaded modules that bind functions of `time` or classes of `datetime`, by their names in `sys.modules`."""
    global _last
    if not _last.is_valid():
        modules = dict(sys.modules)
        before, seen = _last.seen, {}
        for title, module in modules.items():
            known = before.get(title)
            if known is None or known.module is not module or len(known.names) != known.size:
                # without `dir` and `getattr`, which make lazy modules import all their names
                names = _names(module)
                known = _Seen(module, names, len(names), _times(names)) if isinstance(names, dict) else None
            if known is not None:
                seen[title] = known
        timed = {title: one for title, one in seen.items() if one.timed}
        _last = _Search(
            modules,
            seen,
            [one.names for one in seen.values()],
            [one.size for one in seen.values()],
            {title: one.module for title, one in timed.items()},
            {id(one.module): one.timed for one in timed.values()},
        )
    return _last.timed


def time_attributes(module: ModuleType) -> list[tuple[str, Any]]:
    """As freezegun's own search of a module, but without `dir`, which makes lazy modules import all their names."""
    if (found := _last.attributes.get(id(module))) is not None:
        names = vars(module)
        return [(name, value) for name, value in found if names.get(name) is value]
    present = _names(module)
    return _times(present) if isinstance(present, dict) else []


def _names(module: ModuleType) -> object:
    return getattr(module, "__dict__", None)


def _times(names: dict[str, Any]) -> list[tuple[str, Any]]:
    from freezegun import api

    wanted = api._real_time_object_ids
    return [(name, value) for name, value in tuple(names.items()) if id(value) in wanted]


def _fakes() -> tuple[Any, ...]:
    from freezegun import api

    return (
        api.FakeDate,
        api.FakeDatetime,
        api.fake_gmtime,
        api.fake_localtime,
        api.fake_monotonic,
        api.fake_monotonic_ns,
        api.fake_perf_counter,
        api.fake_perf_counter_ns,
        api.fake_strftime,
        api.fake_time,
        api.fake_time_ns,
    )


def _microseconds(now: datetime.datetime) -> int:
    """Since 1970."""
    return (now - _1970) // datetime.timedelta(microseconds=1)


def _naive(now: datetime.datetime) -> datetime.datetime:
    if now.tzinfo is not datetime.UTC:
        now = now.astimezone(datetime.UTC)
    return now.replace(tzinfo=None)


def _is_travelling() -> bool:
    return bool(getattr(sys.modules.get("time_machine"), "coordinates_stack", ()))
