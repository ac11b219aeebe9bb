"""How attributes are replaced and restored, modules are watched, and callers are found."""

import builtins
import functools
import os
import select
import sys
import threading
import time
import types
from importlib.machinery import ModuleSpec

import pytest

from fakekube.virtualtime.patches.importers import importers, lives_in_real_time, look_for_modules
from fakekube.virtualtime.patches.importhook import IMPORTS, ImportHook
from fakekube.virtualtime.patches.patch import Patch, PatchSet, Swaps, check_original
from fakekube.virtualtime.patches.polls import Epoll, Poll
from fakekube.virtualtime.threads.callers import caller, module_of


class Base:
    def inherited(self):
        """Of the base."""


class Owner(Base):
    """What is patched: a class of this module."""

    def method(self):
        """The original."""

    other = method


def ours(self):
    """A replacement."""


@pytest.fixture
def owner(monkeypatch):
    for name in ("method", "other"):
        monkeypatch.setattr(Owner, name, Owner.method)
    yield Owner
    assert "inherited" not in vars(Owner)


def test_patches_are_restored_also_what_was_inherited(owner):
    original = owner.method
    patches = PatchSet([Patch(owner, "method", ours), Patch(owner, "inherited", ours)])
    patches.install()
    assert owner.method is owner.inherited is ours
    patches.remove()
    assert owner.method is original
    assert owner.inherited is Base.inherited
    owner.method = None
    patches.remove()
    assert owner.method is None


def test_nothing_is_installed_if_one_attribute_has_another_owner(owner):
    def stranger():
        """Of another library."""

    stranger.__module__ = "gevent"
    owner.other, original = stranger, owner.method
    with pytest.raises(RuntimeError, match=rf"{__name__}.Owner.other has been replaced by gevent, .* disable"):
        PatchSet([Patch(owner, "method", ours), Patch(owner, "other", ours)]).install()
    assert owner.method is original
    assert owner.other is stranger
    PatchSet([Patch(owner, "other", stranger, stranger)]).install()


@pytest.mark.parametrize("wrapped", [False, True])
def test_a_replacement_of_another_library_stays_unless_it_wraps_ours(owner, wrapped):
    patches, original = PatchSet([Patch(owner, "method", ours)]), owner.method
    patches.install()

    def theirs(self):
        """A later patch."""

    if wrapped:
        functools.update_wrapper(theirs, functools.update_wrapper(lambda self: None, ours))
    owner.method = theirs
    patches.remove()
    assert owner.method is (original if wrapped else theirs)


@pytest.mark.parametrize(
    ("value", "accepted"),
    [
        (Owner.method, True),
        (functools.wraps(Owner.method)(lambda self: None), True),
        (len, True),
        (str.upper, True),
        (functools.partial(len), False),
        (Owner(), False),
    ],
)
def test_an_original_is_a_function_of_the_module_or_of_python(owner, value, accepted):
    owner.method = value
    if accepted:
        check_original(owner, "method")
        check_original(owner, "method")
    else:
        with pytest.raises(RuntimeError, match=r"Owner.method has been replaced by "):
            check_original(owner, "method")


def test_a_module_is_named_once(monkeypatch):
    monkeypatch.setattr(time, "sleep", lambda _: None)
    with pytest.raises(RuntimeError, match=rf"\Atime.sleep has been replaced by {__name__}, "):
        check_original(time, "sleep")
    similar = types.FunctionType((lambda: None).__code__, {"__name__": "timeless"})
    monkeypatch.setattr(time, "sleep", similar)
    with pytest.raises(RuntimeError, match=r"\Atime.sleep has been replaced by timeless, "):
        check_original(time, "sleep")
    similar.__module__ = "time.parts"
    check_original(time, "sleep")


def test_swaps_are_restored_in_reverse_order(owner):
    original, swaps = owner.method, Swaps()
    swaps.set(owner, "method", 1)
    swaps.set(owner, "method", 2)
    swaps.set(owner, "inherited", 3)
    assert (owner.method, owner.inherited) == (2, 3)
    swaps.restore()
    assert owner.method is original
    owner.method = 4
    swaps.restore()
    assert owner.method == 4


# --- modules


@pytest.mark.parametrize(
    ("module", "real"),
    [("asyncio", True), ("asyncio.events", True), ("queue", True), ("queueing", False), ("concurrent.futures.thread", True),
     ("concurrent.other", False), ("time", False), ("", False), ("_pytest.runner", True), ("multiprocessing.pool", True)],
)  # fmt: skip
def test_modules_in_real_time_are_found_by_their_names(module, real):
    assert lives_in_real_time(module) is real


def test_modules_that_have_imported_a_name_are_found(monkeypatch):
    names = {"sleep": time.sleep, "Lock": threading.Lock, "poll": select.poll}
    one, two, real = (types.ModuleType(name) for name in ("operator_one", "operator_two", "asyncio.mine"))
    for each in (one, real):
        vars(each).update(names)
    two.sleep, two.Lock = print, names["Lock"]
    for each in (one, two, real):
        monkeypatch.setitem(sys.modules, each.__name__, each)
    monkeypatch.setitem(sys.modules, "operator_none", None)
    look_for_modules()
    assert one in importers("sleep", time.sleep)
    assert not {two, real} & set(importers("sleep", time.sleep))
    assert {one, two} <= set(importers("Lock", names["Lock"]))
    assert importers("Lock", print) == importers("no_such_name", print) == []
    one.sleep = print
    assert one not in importers("sleep", time.sleep)
    monkeypatch.delitem(sys.modules, "operator_two")
    look_for_modules()
    assert two not in importers("Lock", names["Lock"])


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Imports a new module that runs these lines."""
    monkeypatch.syspath_prepend(tmp_path)
    names = iter(f"module_{number}_of_{tmp_path.name}".replace("-", "_") for number in range(9))

    def load(source):
        name = next(names)
        (tmp_path / f"{name}.py").write_text(source)
        monkeypatch.setattr(builtins, "log", log, raising=False)
        try:
            return __import__(name)
        finally:
            sys.modules.pop(name, None)

    log = []
    load.log = log
    return load


def test_listeners_hear_before_and_after_a_module_is_executed_in_reverse(module):
    hook, before = ImportHook(), sys.meta_path[:]
    log = module.log
    remove = [
        hook.listen(lambda found: log.append(("after 1", found.__name__[:6])), lambda: log.append("before 1")),
        hook.listen(lambda found: log.append("after 2")),
        hook.listen(lambda found: log.append("after 3"), lambda: log.append("before 3")),
    ]
    assert sys.meta_path == [hook, *before]
    module("log.append('runs')")
    assert log == ["before 1", "before 3", "runs", "after 3", "after 2", ("after 1", "module")]
    log.clear()
    remove[0]()
    remove[0]()
    with pytest.raises(ZeroDivisionError):
        module("1 / 0")
    assert log == ["before 3", "after 3", "after 2"]
    for each in remove:
        each()
    assert sys.meta_path == before
    log.clear()
    module("log.append('runs')")
    assert log == ["runs"]


def test_the_hook_finds_nothing_itself_and_leaves_other_loaders_alone():
    hook = ImportHook()
    assert hook.find_spec("no_such_module_anywhere", None) is None
    remove = hook.listen(lambda _: pytest.fail("a built-in module executes no Python"))
    try:
        spec = hook.find_spec("itertools", None)
        assert isinstance(spec, ModuleSpec)
        assert "exec_module" in vars(spec.loader)
    finally:
        remove()
    sys.meta_path.append(hook)
    sys.meta_path.remove(hook)
    remove()
    assert hook not in sys.meta_path
    assert IMPORTS not in sys.meta_path


# --- callers


def frame_in(*modules):
    """The frame of a function of the first module, which the next one has called, and so on."""
    call = sys._getframe
    for name in modules:
        namespace = {"__name__": name, "inner": call}
        exec(compile("def f(): return inner()", f"/src/{name}.py", "exec"), namespace)
        call = namespace["f"]
    return call()


@pytest.mark.parametrize(
    ("modules", "file"),
    [
        (["operator"], "operator"),
        (["urllib3.connection", "kubernetes.client.rest", "mine"], "mine"),
        (["urllib3x", "mine"], "urllib3x"),
        (["socket", "ssl", "http.client", "concurrent.futures", "subprocess", "mine"], "mine"),
    ],
)
def test_the_caller_is_the_first_place_outside_of_clients(modules, file):
    place = caller(frame_in(*modules))
    assert (place.file, place.line, place.function) == (f"/src/{file}.py", 1, "f")
    assert str(place) == f"{file}.py:1 in f"


def test_the_caller_is_the_innermost_place_if_all_are_clients():
    code = compile("import sys\nframe = sys._getframe()", "/src/client.py", "exec")
    found = {}

    def run():
        namespace = {"__name__": "kubernetes.watch"}
        exec(code, namespace)
        found["place"] = caller(namespace["frame"])

    run()
    assert found["place"].file == __file__


@pytest.mark.parametrize(
    ("modules", "name"),
    [
        (["mine"], "mine"),
        (["threading", "queue", "mine"], "mine"),
        (["concurrent.futures._base"], "concurrent.futures._base"),
    ],
)
def test_the_calling_module_is_not_one_of_primitives(modules, name):
    assert module_of(frame_in(*modules)) == name


def test_thread_start_which_waits_for_the_new_thread_has_no_module():
    found = []

    class Started(threading.Event):
        def wait(self, timeout=None):
            found.append(module_of(sys._getframe(1)))
            return super().wait(timeout)

    thread = threading.Thread(target=int)
    thread._started = Started()
    thread.start()
    thread.join()
    assert found == [None]
    assert module_of(None) == ""


# --- polls


class Waits:
    """Notes how a wait is made."""

    def __init__(self, concerned=True):
        self.concerned, self.log = concerned, []

    def concerns(self):
        return self.concerned

    def wait(self, probe, real, descriptors, timeout):
        self.log.append((list(descriptors), timeout))
        return probe() or real()


@pytest.fixture
def pipe():
    reader, writer = os.pipe()
    with open(reader, "rb", buffering=0) as source, open(writer, "wb", buffering=0) as sink:
        yield source, sink


@pytest.mark.parametrize(("timeout", "limit"), [(None, None), (-1, None), (1500, 1.5), (1, 0.001)])
def test_a_poll_waits_for_its_descriptors_in_milliseconds(pipe, timeout, limit):
    reader, writer = pipe
    waits = Waits()
    poll = Poll(waits)
    poll.register(reader, select.POLLIN)
    poll.register(writer.fileno())
    poll.modify(writer, select.POLLERR)
    writer.write(b"x")
    assert poll.poll(timeout) == [(reader.fileno(), select.POLLIN)]
    poll.unregister(writer)
    assert poll.poll(timeout) == [(reader.fileno(), select.POLLIN)]
    assert waits.log == [([reader.fileno(), writer.fileno()], limit), ([reader.fileno()], limit)]


@pytest.mark.parametrize(("timeout", "limit"), [(None, None), (-1, None), (1.5, 1.5), (0.001, 0.001)])
def test_an_epoll_waits_for_its_descriptors_in_seconds(pipe, timeout, limit):
    reader, writer = pipe
    waits = Waits()
    with Epoll(waits) as epoll:
        epoll.register(reader, select.EPOLLIN)
        epoll.register(writer.fileno(), eventmask=select.EPOLLOUT)
        assert epoll.poll(timeout) == [(writer.fileno(), select.EPOLLOUT)]
        writer.write(b"x")
        assert len(epoll.poll(timeout)) == 2
        assert len(epoll.poll(timeout, 1)) == len(epoll.poll(0, 1)) == 1
        epoll.modify(writer, 0)
        assert epoll.poll(timeout) == [(reader.fileno(), select.EPOLLIN)]
        epoll.unregister(writer)
        epoll.poll(timeout)
        assert epoll.fileno() >= 0
        assert not epoll.closed
    assert epoll.closed
    assert waits.log == [([reader.fileno(), writer.fileno()], limit)] * 4 + [([reader.fileno()], limit)]


@pytest.mark.parametrize(("concerned", "timeout"), [(True, 0), (False, 0), (False, 0.01)])
@pytest.mark.parametrize("kind", [Poll, Epoll])
def test_outside_of_the_bubble_and_without_a_wait_the_real_one_is_called(pipe, kind, concerned, timeout):
    reader, writer = pipe
    waits = Waits(concerned)
    poll = kind(waits)
    poll.register(reader, select.POLLIN)
    assert poll.poll(timeout) == []
    writer.write(b"x")
    assert poll.poll(timeout) == [(reader.fileno(), select.POLLIN)]
    assert waits.log == []
    if kind is Epoll:
        poll.close()
