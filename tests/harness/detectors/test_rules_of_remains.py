"""Which tasks, threads and coroutines that are left count as leaks: tables, without an operator."""

import asyncio
import threading
import warnings
import weakref
from types import SimpleNamespace

import pytest

from fakekube.harness.detectors.detector import REPEATED
from fakekube.harness.detectors.known.remaining import tasks as module
from fakekube.harness.detectors.known.remaining.tasks import Started, Tasks
from fakekube.harness.detectors.known.remaining.threadleaks import Left, Threads
from fakekube.harness.detectors.known.remaining.threadleaks import Started as StartedThread


class Scene:
    """What detectors ask and tell."""

    def __init__(self, exists=True):
        self.found, self.keys, self.operators = [], [], []
        self.reconciled = lambda doing: object() if exists else None

    def report(self, detector, text, *, who="", key=None):
        self.found.append((detector, text))
        self.keys.append(key)


class Doing(SimpleNamespace):
    """A reconcile of default/a."""

    def __init__(self, who="a", known=True, killed=False, over=True):
        operator = SimpleNamespace(
            reconciled={"c": ("v1", "Pod")} if known else {}, process=SimpleNamespace(fenced=killed)
        )
        run = SimpleNamespace(controller="c")
        super().__init__(who=who, key="default/a", run=run, operator=operator, is_over=over)

    def __str__(self):
        return "c reconciling default/a"


class Task:
    """A task as detectors see it."""

    def __init__(self, *, done=False, cancelling=0, error=None, unretrieved=False):
        self._log_traceback = unretrieved
        self.get_coro = lambda: SimpleNamespace(__qualname__="probe")
        self.done, self.cancelling, self.exception = lambda: done, lambda: cancelling, lambda: error


def detector(*started, exists=True, elsewhere=()):
    found = Tasks(Scene(exists))
    found._tasks += started
    found._failed_elsewhere += map(weakref.ref, elsewhere)
    return found


# --- tasks


@pytest.mark.parametrize(
    ("number", "known", "exists", "kept", "said"),
    [
        (1, True, True, True, ""),
        (1, True, True, False, "still runs after the reconcile, and nothing keeps it: await or cancel it"),
        (1, True, False, True, "still runs although default/a has been deleted: cancel it then"),
        (1, False, False, True, ""),
        (REPEATED - 1, True, True, True, ""),
        (REPEATED, True, True, True, f"{REPEATED} reconciles of default/a (c) started tasks of probe that still run: "),
        (REPEATED, True, False, True, "although default/a has been deleted"),
        (REPEATED, True, True, False, f"{REPEATED} reconciles of default/a"),
    ],
)
def test_tasks_that_still_run_and_are_leaks(number, known, exists, kept, said):
    found = detector(*(Started(Task(), Doing(known=known), None) for _ in range(number)), exists=exists)
    found._is_kept = lambda task: kept
    found.finish()
    assert [name for name, _ in found._scene.found] == ["leaked-task"] * bool(said)
    assert said in "".join(text for _, text in found._scene.found)
    assert found._scene.keys == [("c", "probe")] * bool(said)


def test_tasks_of_one_reconcile_or_of_several_keys_are_not_many():
    doing = Doing()
    one = detector(*(Started(Task(), doing, None) for _ in range(REPEATED)))
    several = detector(*(Started(Task(), Doing(who=str(number)), None) for number in range(REPEATED)))
    for found in one, several:
        found._is_kept = lambda task: True
        found.finish()
        assert found._scene.found == []


@pytest.mark.parametrize(
    ("task", "doing", "names"),
    [
        ({"cancelling": 1}, {}, ["swallowed-cancellation"]),
        ({"cancelling": 1}, {"over": False}, ["swallowed-cancellation"]),
        ({"cancelling": 1}, {"killed": True}, []),
        ({}, {}, ["leaked-task"]),
        ({}, {"over": False}, []),
        ({}, {"killed": True}, []),
        ({"done": True, "error": ValueError("it broke"), "unretrieved": True}, {}, ["failed-task"]),
        ({"done": True, "error": ValueError("it broke"), "unretrieved": True}, {"killed": True}, []),
        ({"done": True, "error": ValueError("it broke")}, {}, []),
        ({"done": True, "unretrieved": True}, {}, []),
        ({"done": True, "cancelling": 1}, {}, []),
    ],
)
def test_what_becomes_of_a_task(task, doing, names):
    found = detector(Started(Task(**task), Doing(**doing), "op.py:3"))
    found._is_kept = lambda task: False
    found.finish()
    assert [name for name, _ in found._scene.found] == names
    if names == ["swallowed-cancellation"]:
        assert found._scene.found[0][1] == (
            "a task of probe that c reconciling default/a started at op.py:3 was cancelled and goes on: raise "
            "CancelledError again"
        )
        assert found._scene.keys == [("c", "probe")]
    if names == ["failed-task"]:
        assert found._scene.found[0][1] == (
            "a task (started by c reconciling default/a at op.py:3) of probe failed with ValueError: it broke; nothing "
            "awaits it, so the error is lost"
        )
        assert found._scene.keys == [("probe", ValueError)]


@pytest.mark.parametrize(
    ("error", "unretrieved", "names"),
    [(ValueError("x"), True, ["failed-task"]), (ValueError("x"), False, []), (None, True, [])],
)
def test_a_failed_task_that_no_reconcile_started(error, unretrieved, names):
    task = Task(done=True, error=error, unretrieved=unretrieved)
    found = detector(elsewhere=[task])
    found.finish()
    assert [name for name, _ in found._scene.found] == names
    del task
    found.finish()  # it has been freed
    assert [name for name, _ in found._scene.found] == names


@pytest.mark.parametrize(
    ("run", "doing", "ours", "noted"),
    [(True, True, False, True), (False, True, False, False), (True, False, False, False), (True, True, True, False)],
)
def test_the_tasks_that_reconciles_start_are_noted(monkeypatch, run, doing, ours, noted):
    monkeypatch.setattr(module, "current_run", lambda: object() if run else None)
    monkeypatch.setattr(module, "is_ours", lambda coro: ours)
    found, task = detector(), Task()
    found._doing = lambda: Doing() if doing else None
    found._created(task)
    assert [one.task for one in found._tasks] == [task] * noted
    found._ended(task)
    assert [one() for one in found._failed_elsewhere] == [task] * (not ours)


def test_many_tasks_are_kept_until_they_end(monkeypatch):
    monkeypatch.setattr(module, "current_run", object)
    monkeypatch.setattr(module, "_KEPT", 4)
    tasks = [Task(done=True), Task(), Task(done=True, unretrieved=True), Task(done=True)]
    found = detector()
    found._doing = Doing
    for task in tasks:
        found._created(task)
    assert [one.task for one in found._tasks] == tasks
    found._created(last := Task())
    assert [one.task for one in found._tasks] == [*tasks[1:3], last]


class Loop(SimpleNamespace):
    """An event loop as detectors see it."""

    fatal_errors = (KeyboardInterrupt,)

    def __init__(self, handler=None):
        self.log = []
        super().__init__(get_exception_handler=lambda: handler, set_exception_handler=self.log.append)

    def default_exception_handler(self, context):
        self.log.append("default")

    def fail_with(self, error):
        self.log.append(error)


LOST = "Task exception was never retrieved"


@pytest.mark.parametrize(
    ("context", "said"),
    [
        ({"exception": ValueError("x"), "message": LOST, "future": object()}, "a future failed with ValueError: x"),
        ({"exception": ValueError("x"), "message": "it was retrieved", "future": object()}, None),
        ({"exception": ValueError("x"), "future": object()}, None),
        ({"exception": ValueError("x"), "message": LOST}, None),
        ({"message": LOST, "future": object()}, None),
    ],
)
def test_errors_that_an_event_loop_handles_and_that_are_lost(context, said):
    found, loop = detector(), Loop()
    found._failed(loop, context)
    assert [text.partition(";")[0] for _, text in found._scene.found] == [said] * (said is not None)
    assert loop.log == ["default"]


@pytest.mark.parametrize("place", ["task", "future"])
def test_the_error_of_a_task_is_reported_in_either_place(place):
    found = detector()
    loop = asyncio.new_event_loop()

    async def broken(): ...

    task = loop.create_task(broken())
    try:
        found._failed(Loop(), {"exception": ValueError("x"), "message": LOST, place: task})
        loop.run_until_complete(task)
    finally:
        loop.close()
    line = broken.__code__.co_firstlineno
    assert [text.partition(" failed")[0] for _, text in found._scene.found] == [
        f"a task of {broken.__qualname__} (test_rules_of_remains.py:{line})"
    ]


@pytest.mark.parametrize(
    ("error", "is_open", "inside", "outside"),
    [
        (None, True, [], ["default"]),
        (ValueError("x"), True, [], ["default"]),
        (KeyboardInterrupt(), True, [KeyboardInterrupt], []),
        (KeyboardInterrupt(), False, [], ["default"]),
        (SystemExit(), True, [], ["default"]),
    ],
)
def test_what_ends_a_task_of_an_event_loop_in_a_thread(error, is_open, inside, outside):
    found, own, other = detector(), Loop(), Loop()
    found._loop = own if is_open else None
    reported = []
    found._report_future = lambda future, error: reported.append(error)
    found._failed_in_thread(other, {"exception": error, "message": LOST, "future": object()})
    assert list(map(type, own.log)) == inside
    assert other.log == outside
    assert reported == ([error] if isinstance(error, SystemExit) else [])


@pytest.mark.parametrize("handler", [None, print])
def test_event_loops_of_threads_are_observed_unless_their_code_does(handler):
    found, loop = detector(), Loop(handler)
    assert not found._has_other_loops
    found._open_other(loop)
    assert found._has_other_loops
    assert loop.log == ([found._failed_in_thread] if handler is None else [])


def test_what_is_replaced_is_restored():
    loop = Loop()
    loop.threads = SimpleNamespace(on_loop=None)
    surroundings = SimpleNamespace(bubble=SimpleNamespace(loop=loop), doing=Doing)
    before = warnings._warn_unawaited_coroutine
    found = detector(Started(Task(), Doing(), None), elsewhere=[task := Task()])
    assert task is not None
    found.open(surroundings)
    try:
        assert (loop.on_task, loop.on_task_failure) == (found._created, found._ended)
        assert loop.threads.on_loop == found._open_other
        assert found._doing is Doing
        assert warnings._warn_unawaited_coroutine == found._unawaited
    finally:
        found.retire()
    assert warnings._warn_unawaited_coroutine is before
    assert (loop.on_task, loop.on_task_failure, loop.threads.on_loop) == (None, None, None)
    assert loop.log == [found._failed, None]
    assert (found._loop, found._real_warning, found._tasks, found._failed_elsewhere) == (None, None, [], [])
    assert found._doing() is None
    found.retire()
    assert warnings._warn_unawaited_coroutine is before
    assert loop.log == [found._failed, None]


@pytest.mark.parametrize(
    ("of_library", "ours", "ending", "stopping", "doing", "said"),
    [
        (False, False, False, False, True, "f(...), defined at ?, was called and never awaited"),
        (False, False, False, False, False, "f(...), defined at ?, was called and never awaited"),
        (True, True, False, False, False, "f(...) was called and never awaited"),
        (False, True, False, False, True, ""),
        (False, False, True, False, True, ""),
        (False, False, False, True, True, None),
    ],
)
def test_coroutines_that_were_never_awaited(monkeypatch, of_library, ours, ending, stopping, doing, said):
    monkeypatch.setattr(module, "is_of_controllerlib", lambda coro: of_library)
    monkeypatch.setattr(module, "is_ours", lambda coro: ours)
    monkeypatch.setattr(module, "called_at", lambda coro, frame: "")
    found, warned, coro = detector(), [], SimpleNamespace(__qualname__="f")
    found._unawaited(coro)  # not open
    found._real_warning = warned.append
    found._unawaited(coro)
    assert (found._scene.found, warned) == ([], [])
    found._doing = lambda: Doing() if doing else None
    threads, processes = SimpleNamespace(is_ending=lambda: stopping), SimpleNamespace(ending=ending)
    found._loop = SimpleNamespace(threads=threads, processes=processes)
    found._unawaited(coro)
    assert warned == [coro] * (said is not None)
    place = module.UNKNOWN_PLACE
    by = ", in c reconciling default/a" if doing else ""
    assert found._scene.found == ([("unawaited-coroutine", f"{said}{place}{by}")] if said else [])
    assert found._scene.keys == ([f"{said}{place}"] if said else [])
    if said:
        monkeypatch.setattr(module, "called_at", lambda coro, frame: " (op.py:1)")
        found._unawaited(coro)
        assert found._scene.found[1][1] == f"f(...) was called and never awaited (op.py:1){by}"


@pytest.mark.parametrize(
    ("manager", "killed", "kept"), [(True, False, True), (False, False, False), (True, True, False)]
)
def test_coroutines_that_an_operator_keeps(monkeypatch, manager, killed, kept):
    monkeypatch.setattr(module, "is_ours", lambda coro: False)

    async def work(): ...

    found, coro = detector(), work()
    line = work.__code__.co_firstlineno
    operator = SimpleNamespace(
        name="op", manager=SimpleNamespace(jobs=[coro]) if manager else None, process=SimpleNamespace(fenced=killed)
    )
    found._scene.operators.append(operator)
    found.closed()
    coro.close()
    text = f"{work.__qualname__}(...) was called and never awaited: op keeps the coroutine (defined at test_rules_of_remains.py:{line})"
    assert found._scene.found == [("unawaited-coroutine", text)] * kept
    assert found._scene.keys == [("op", work.__qualname__)] * kept


@pytest.mark.parametrize(("of_library", "ours", "reports"), [(False, False, 1), (True, True, 1), (False, True, 0)])
def test_coroutines_of_libraries_are_not_reported(monkeypatch, of_library, ours, reports):
    monkeypatch.setattr(module, "is_of_controllerlib", lambda coro: of_library)
    monkeypatch.setattr(module, "is_ours", lambda coro: ours)
    closed, found = [], detector()
    found._report_kept(
        SimpleNamespace(__qualname__="f", close=lambda: closed.append(1), cr_origin=[("op.py", 3, "g")]), "op"
    )
    assert [text for _, text in found._scene.found] == [
        "f(...) was called and never awaited: op keeps the coroutine (called at op.py:3)"
    ] * reports
    assert len(closed) == reports


# --- threads


class Thread(SimpleNamespace):
    """A thread as detectors see it, which joins when `ends`."""

    def __init__(self, *, daemon=True, ends=False, target=None, alive=True):
        super().__init__(name="cleaner", daemon=daemon, ends=ends, _target=target or self.target)
        self.is_alive = lambda: alive and not self.ends

    __hash__ = object.__hash__
    __eq__ = object.__eq__

    @staticmethod
    def target(): ...


def leaks(*left, exists=True, kept=True):
    found = Threads(Scene(exists))
    found._left += left
    found._is_kept = lambda thread: kept
    return found


DELETED = "that c reconciling default/a started still runs although default/a has been deleted: end it then"
SEVERAL = "is one of several that reconciles of default/a started and that still run: end and join them"
UNKEPT = "that c reconciling default/a started still runs, and nothing keeps it: end and join it"


@pytest.mark.parametrize(
    ("options", "orphan", "doing", "others", "exists", "kept", "reason"),
    [
        ({"daemon": False}, False, None, 0, True, True, "still runs when its operator has ended: end and join it"),
        ({"daemon": False}, True, {}, 0, True, True, "still runs when its operator has ended: end and join it"),
        ({}, True, None, 0, True, True, "still runs although its operator was stopped: end and join it"),
        ({}, False, None, 0, False, False, ""),
        ({}, False, {}, 0, True, True, ""),
        ({}, False, {}, 0, True, False, UNKEPT),
        ({}, False, {}, 0, False, True, DELETED),
        ({}, False, {"known": False}, 0, False, True, ""),
        ({}, False, {"known": False}, 0, False, False, UNKEPT),
        ({}, False, {}, REPEATED - 2, True, True, ""),
        ({}, False, {}, REPEATED - 1, True, True, SEVERAL),
        ({}, False, {}, REPEATED, True, False, SEVERAL),
    ],
)
def test_why_a_thread_that_still_runs_is_a_leak(options, orphan, doing, others, exists, kept, reason):
    by = StartedThread(None if doing is None else Doing(**doing))
    left = Left(Thread(**options), by, orphan)
    more = [Left(Thread(), StartedThread(Doing()), False) for _ in range(others)]
    found = leaks(left, *more, exists=exists, kept=kept)
    assert found._reason(left) == reason
    found._report(left)
    what = "the thread cleaner of Thread.target"
    assert found._scene.found == ([("leaked-thread", f"{what} {reason}")] if reason else [])


def test_threads_of_the_same_function_and_key_and_other_reconciles_are_several():
    def other(): ...

    doing = Doing()
    left = Left(Thread(), StartedThread(doing), False)
    found = leaks(
        left,
        Left(Thread(), StartedThread(doing), False),
        Left(Thread(), StartedThread(None), False),
        Left(Thread(), StartedThread(Doing(who="b")), False),
        Left(Thread(target=other), StartedThread(Doing()), False),
    )
    assert list(found._reconciles(left, doing)) == [id(doing)] * 2


@pytest.mark.parametrize(
    ("options", "fenced", "of_bubble", "joined", "reported"),
    [
        ({"daemon": False}, None, False, True, True),
        ({"daemon": False}, False, False, True, True),
        ({"daemon": False}, True, False, False, False),
        ({"daemon": False}, None, True, False, False),
        ({"daemon": False, "alive": False}, None, False, False, False),
        ({}, None, False, False, False),
    ],
)
def test_threads_that_are_judged_when_operators_have_ended(monkeypatch, options, fenced, of_bubble, joined, reported):
    waits = []
    monkeypatch.setattr(
        "fakekube.harness.detectors.known.remaining.threadleaks._real_join", lambda thread, wait: waits.append(wait)
    )
    process = None if fenced is None else SimpleNamespace(fenced=fenced)
    left = [Left(Thread(**options), StartedThread(None, process), False) for _ in range(2)]
    found = leaks(*left)
    found._is_of_bubble = lambda thread: of_bubble
    found.closed()
    assert waits == ([1.0, 0.0] if joined else [])  # one is waited for, not each of them
    assert len(found._scene.found) == 2 * reported


def test_a_thread_that_ends_in_time_is_no_leak(monkeypatch):
    waits = []

    def join(thread, wait):
        waits.append(wait)
        thread.ends = True

    monkeypatch.setattr("fakekube.harness.detectors.known.remaining.threadleaks._real_join", join)
    found = leaks(*(Left(Thread(daemon=False), StartedThread(), False) for _ in range(2)))
    found.closed()
    assert (waits, found._scene.found) == ([1.0, 1.0], [])


def test_threads_are_noted_with_who_started_them():
    def work(): ...

    class Own(threading.Thread):
        def run(self): ...

    doing = Doing()
    bubble = SimpleNamespace(loop=SimpleNamespace(threads=SimpleNamespace(find=bool)), on_thread=lambda hook: None)
    found = Threads(Scene())
    found.open(SimpleNamespace(bubble=bubble, has_threads=bool, doing=lambda: doing))
    assert id(threading.main_thread()) in found._before
    first, second, library = threading.Thread(target=work), Own(), threading.Thread(target=threading.Event().wait)
    for thread in first, library, second:
        found.started_thread(thread)
    assert [(one(), by.doing) for one, by in found._started] == [(first, doing), (second, doing)]
    del first
    thread = None
    found.started_thread(third := threading.Thread(target=work))
    assert [one() for one, _ in found._started] == [second, third]
    found._left.append(1)
    found.retire()
    assert (found._started, found._left, found._doing(), found._has_own()) == ([], [], None, False)


def test_a_test_with_threads_of_its_own_judges_them_itself(monkeypatch):
    def work(): ...

    monkeypatch.setattr(threading, "enumerate", lambda: [threading.Thread(target=work)])
    found = leaks()
    found._has_own = lambda: True
    found.finish()
    assert found._left == []
    found._has_own = bool
    found.finish()
    assert len(found._left) == 1


@pytest.mark.parametrize("kept", [False, True])
def test_a_thread_that_code_refers_to_is_kept(kept):
    found = Threads(Scene())
    thread = threading.Thread(target=print)
    found._left.append(Left(thread, StartedThread(), False))
    if kept:
        cache = {"cleaner": thread}
    assert found._is_kept(thread) is kept
    assert not kept or cache
