"""Plugins of pytest: async frameworks run on the cluster's loop, and no plugin or option leaves anything behind."""

import re
from pathlib import Path

import pytest

#: Without a plugin that measures: it would report the inner run.
BARE = ("-pno:benchmark", "-pno:hypothesispytest", "-Wignore::pytest.PytestDeprecationWarning", "-oasyncio_mode=strict")

#: The same, in the order of the file.
IN_ORDER = (*BARE, "-pno:randomly", "-pno:rerunfailures")

#: The last file of each inner run: nothing is left of the others.
NOTHING_LEFT = """
import sys

def test_zz_nothing_is_left():
    import asyncio, datetime, threading, time
    from fakekube.virtualtime.bubble import opened
    assert opened() == []
    assert type(time.sleep).__name__ == "builtin_function_or_method"
    assert datetime.datetime.__module__ == "datetime"
    assert abs(time.time() - datetime.datetime.now().timestamp()) < 60
    assert datetime.datetime.now().year != 2026 or time.monotonic() != time.time()
    assert [one.name for one in threading.enumerate() if one.name.startswith(("bubble-", "fakekube"))] == []
    assert asyncio.all_tasks.__module__ in ("asyncio.tasks", "_asyncio")
"""


@pytest.fixture
def run(pytester):
    def run(source, *options):
        pytester.makepyfile(source)
        pytester.makepyfile(test_zz=NOTHING_LEFT)
        return pytester.runpytest_inprocess(*IN_ORDER, *options)

    return run


@pytest.fixture
def run_apart(pytester):
    def run(source, *options):
        pytester.makepyfile(source)
        pytester.makepyfile(test_zz=NOTHING_LEFT)
        return pytester.runpytest_subprocess(*BARE, *options)

    return run


ASYNC = """
import asyncio, contextvars, time
import pytest
FRAMEWORK

variable = contextvars.ContextVar("variable", default="unset")
log = []

@FIXTURE
async def waits(fakekube):
    await asyncio.sleep(3600)
    fakekube.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})
    return fakekube.clock.monotonic()

@FIXTURE
async def yields(fakekube, waits):
    variable.set("set")
    async with asyncio.timeout(10**6):  # a scope that belongs to one task
        async with asyncio.TaskGroup() as group:
            group.create_task(asyncio.sleep(5000))
            yield waits
    await fakekube.advance(3600)
    log.append(fakekube.clock.monotonic())

@pytest.fixture
def after_it(yields):
    return variable.get()

MARK
class TestIt:
    @FIXTURE
    async def method(self, fakekube):
        return self

    async def test_method(self, fakekube, method):
        assert type(method) is type(self)
        await asyncio.sleep(3600)
        assert fakekube.clock.monotonic() == 3600

MARK
async def test_it(fakekube, yields, after_it):
    begun = time.perf_counter()
    assert (yields, after_it, variable.get()) == (3600, "set", "set")
    assert asyncio.get_running_loop() is fakekube._engine.bubble.loop
    await asyncio.sleep(3600)
    await fakekube.advance(3600)
    assert fakekube.clock.monotonic() == 3 * 3600
    assert fakekube.exists("v1", "ConfigMap", "a")

MARK
async def test_order():
    assert variable.get() == "unset"
    assert log == [4 * 3600]

MARK
@pytest.mark.parametrize("number", [1, 2])
async def test_parametrized(fakekube, number):
    await asyncio.sleep(number)
    assert fakekube.clock.monotonic() == number

def test_sync(fakekube, yields):
    assert variable.get() == "set"
    fakekube.advance(60)
    assert fakekube.clock.monotonic() == 3660
"""


def of(framework="", fixture="pytest.fixture", mark=""):
    return ASYNC.replace("FRAMEWORK", framework).replace("FIXTURE", fixture).replace("MARK", mark)


@pytest.mark.slow
def test_row14_without_a_plugin(run):
    source = of().replace("async def test_order", "def test_order")
    run(source, "-pno:asyncio", "-pno:anyio").assert_outcomes(passed=7)


@pytest.mark.slow
@pytest.mark.parametrize("scope", ["function", "session"])
def test_f12_pytest_asyncio_in_strict_mode(run, scope):
    source = of("import pytest_asyncio", "pytest_asyncio.fixture", "@pytest.mark.asyncio")
    options = (f"-oasyncio_default_test_loop_scope={scope}", f"-oasyncio_default_fixture_loop_scope={scope}")
    run(source, "-oasyncio_mode=strict", *options).assert_outcomes(passed=7)


@pytest.mark.slow
def test_f12_pytest_asyncio_in_strict_mode_without_marks(run):
    source = of().replace("async def test_order", "def test_order")
    run(source, "-oasyncio_mode=strict").assert_outcomes(passed=7)


@pytest.mark.slow
def test_row14_pytest_asyncio_in_auto_mode(run):
    run(of(), "-oasyncio_mode=auto").assert_outcomes(passed=7)


@pytest.mark.slow
def test_f12_anyio(run):
    source = of("import anyio", mark="@pytest.mark.anyio") + (
        "\n@pytest.fixture(scope='module')\ndef anyio_backend():\n    return 'asyncio'\n"
    )
    run(source).assert_outcomes(passed=7)


@pytest.mark.slow
def test_f12_anyio_in_auto_mode_with_options(run):
    source = of("import anyio") + (
        "\n@pytest.fixture(scope='module')\ndef anyio_backend():\n    return 'asyncio', {'debug': True}\n"
    )
    run(source, "-oanyio_mode=auto").assert_outcomes(passed=7)


@pytest.mark.slow
def test_f12_a_task_group_of_anyio_around_a_test(run):
    run(
        """
import anyio, pytest

@pytest.fixture
def anyio_backend():
    return "asyncio"

@pytest.fixture
async def group(fakekube):
    async with anyio.create_task_group() as group:
        yield group
        group.cancel_scope.cancel()

@pytest.mark.anyio
async def test_it(fakekube, group):
    group.start_soon(anyio.sleep, 10**6)
    await anyio.sleep(3600)
    assert fakekube.clock.monotonic() == 3600
"""
    ).assert_outcomes(passed=2)


@pytest.mark.slow
def test_f12_trio_is_refused_at_set_up(run):
    result = run(
        """
import pytest

@pytest.fixture
def anyio_backend():
    return "trio"

@pytest.mark.anyio
async def test_it(fakekube):
    assert False
"""
    )
    result.assert_outcomes(errors=1, passed=1)
    result.stdout.fnmatch_lines(["*the anyio backend of this test is 'trio'*define a fixture `anyio_backend`*"])


def test_row14_tests_without_a_cluster_run_on_their_own_loop(run):
    pytest.importorskip("pytest_asyncio", reason="it does not support this version of pytest")
    run(
        """
import asyncio, pytest, pytest_asyncio

@pytest_asyncio.fixture
async def loop():
    return asyncio.get_running_loop()

@pytest.mark.asyncio
async def test_it(loop):
    assert asyncio.get_running_loop() is loop
    assert type(loop).__module__.startswith("asyncio.")
"""
    ).assert_outcomes(passed=2)


@pytest.mark.slow
def test_row19_the_policy_of_uvloop(run):
    source = of("import uvloop\nasyncio.set_event_loop_policy(uvloop.EventLoopPolicy())")
    source = source.replace("async def test_order", "def test_order")
    source += "\ndef test_zzz():\n    asyncio.set_event_loop_policy(None)\n"
    result = run(source, "-Werror::RuntimeWarning", "-pno:asyncio", "-Wignore::DeprecationWarning")
    result.assert_outcomes(passed=8)


@pytest.mark.slow
def test_the_example_of_the_page(run):
    page = (Path(__file__).parents[2] / "docs" / "concepts" / "test-frameworks.md").read_text()
    (example,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    run(example).assert_outcomes(passed=2)


# --- finalizers and survivors ----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_f7_finalizers_run_whatever_another_raises(run):
    result = run(
        """
import asyncio, pytest
log = []

@pytest.fixture(scope="module")
def module():
    yield
    log.append("module")

@pytest.fixture
def first(fakekube, module):
    yield
    log.append("first")

@pytest.fixture(params=[asyncio.CancelledError, SystemExit])
def second(first, request):
    yield
    raise request.param

def test_one(fakekube, second):
    fakekube.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})

def test_two(fakekube):
    assert log == ["first", "first"]
    assert not fakekube.exists("v1", "ConfigMap", "a")
"""
    )
    result.assert_outcomes(passed=4, errors=2)


@pytest.mark.slow
def test_f7_a_cluster_that_a_test_leaves_open(run):
    result = run(
        """
import pytest
from fakekube import FakeKube

def test_one():
    kube = FakeKube().__enter__()
    kube.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})

def test_two(fakekube):
    assert not fakekube.exists("v1", "ConfigMap", "a")
"""
    )
    result.assert_outcomes(passed=3, errors=1)
    result.stdout.fnmatch_lines(["*test_one left its cluster open, and it was closed now: use the fixture*"])


@pytest.mark.slow
def test_f7_a_cluster_of_a_module_is_left_alone(run):
    run(
        """
import pytest
from fakekube import FakeKube

@pytest.fixture(scope="module")
def kube():
    with FakeKube() as kube:
        yield kube

def test_one(kube):
    kube.advance(60)

def test_two(kube):
    assert kube.clock.monotonic() == 60
"""
    ).assert_outcomes(passed=3)


# --- other plugins and options ---------------------------------------------------------------------------------------

MIXED = """
import asyncio, time, pytest

def operator(manager):
    async def reconcile(request):
        await asyncio.sleep(86_400)
    manager.controller("minder").for_("v1", "ConfigMap").complete(reconcile)

@pytest.fixture(autouse=True)
def started(fakekube):
    fakekube.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})
    fakekube.task(asyncio.sleep(10**6))
    fakekube.thread(time.sleep, 10**6)

def test_fails(fakekube):
    fakekube.start(operator)
    assert False

async def test_fails_too(fakekube):
    await fakekube.start(operator)
    raise LookupError

def test_passes(fakekube):
    fakekube.start(operator)
    fakekube.advance(60)

async def test_passes_too(fakekube):
    await fakekube.start(operator)
    await asyncio.sleep(60)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "outcomes"),
    [
        (("-x", "-pno:randomly"), {"failed": 1}),
        (("--cov=fakekube.cli", "--cov-report="), {"failed": 2, "passed": 3}),
        (("--reruns=2",), {"failed": 2, "passed": 3, "rerun": 4}),
        (("--randomly-seed=7",), {"failed": 2, "passed": 3}),
        (("--timeout=60",), {"failed": 2, "passed": 3}),
        pytest.param(("-n2",), {"failed": 2, "passed": 3}, marks=pytest.mark.slow),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_plugins_and_options(run_apart, options, outcomes):
    found = run_apart(MIXED, *options).parseoutcomes()
    assert {key: found.get(key, 0) for key in outcomes} == outcomes
    assert "error" not in found
    assert "errors" not in found


@pytest.mark.slow
def test_last_failed(run, pytester):
    run(MIXED, "--lf").assert_outcomes(failed=2, passed=3)
    pytester.runpytest_inprocess(*IN_ORDER, "--lf").assert_outcomes(failed=2)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fixture", "opened"), [("fakekube", "nullcontext(fakekube)"), ("", "FakeKube()")], ids=["fixture", "context"]
)
def test_a_time_out_in_a_task_of_an_operator_fails_the_test(run, fixture, opened):
    """pytest-timeout raises where the signal finds the main thread: in a task, which would keep the exception."""
    result = run(
        f"""
from contextlib import nullcontext
import time, pytest
from fakekube import FakeKube

@pytest.mark.timeout(1, method="signal", func_only=True)
def test_it({fixture}):
    async def busy():
        while True:
            pass
    with {opened} as kube:
        kube.task(busy())
        kube.advance(1)
"""
    )
    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines(["*Timeout*1*s*"])


@pytest.mark.slow
def test_an_interrupted_run_closes_its_cluster(run_apart, pytester):
    result = run_apart(
        """
import pytest

def test_it(fakekube):
    fakekube.start(lambda manager: manager.controller("minder").for_("v1", "ConfigMap").complete(print))
    raise KeyboardInterrupt
"""
    )
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["*KeyboardInterrupt*"])
    result.stderr.no_fnmatch_line("*never*")


@pytest.mark.slow
def test_the_prompt_of_a_debugger_has_virtual_time_and_may_move_it(pytester):
    pytester.makepyfile(
        """
import datetime

async def test_it(fakekube):
    await fakekube.advance(hours=1)
    assert False
"""
    )
    child = pytester.spawn_pytest("--pdb -pno:anyio -pno:asyncio")
    child.expect("(Pdb)")
    child.sendline("fakekube.advance(hours=1)")
    child.expect("(Pdb)")
    child.sendline("print(datetime.datetime.now(datetime.UTC))")
    child.expect("2026-01-01 02:00:00")
    child.sendline("q")
    child.wait()
