"""What the hooks of the plugin do with a test, a report and a cluster, without a run of pytest."""

import asyncio
import gc
import sys
import warnings
import weakref
from types import SimpleNamespace

import pytest

from fakekube import pytest_plugin
from fakekube.pytest_plugin import clusterport, explorations, fixtures, hooks, internals, reports, testsettings
from fakekube.pytest_plugin.itemkeys import CLUSTER, FAILURES, PROBLEM, RAISED
from fakekube.simulation.stash import PLAN, SHARD
from fakekube.virtualtime.compatibility.privatename import IncompatibleVersion, PrivateName


class Engine:
    """The port of a cluster, as the plugin uses it."""

    def __init__(self, *, seed=7, finish=None, found=None, left=()):
        self.seed, self.log, self._finish, self._found = seed, [], finish, found
        self.bubble = SimpleNamespace(loop=SimpleNamespace(processes=SimpleNamespace(left_clients=left)))

    def finish(self):
        self.log.append("finish")
        if self._finish is not None:
            raise self._finish

    def check_findings(self, *, warn=None, raising=True):
        self.log.append("raising" if raising else "noting")
        if self._found is not None and raising:
            raise self._found


class Cluster:
    def __init__(self, *, findings=(), backend="fakekube", **options):
        self._engine, self.findings = Engine(**options), findings
        self.access = SimpleNamespace(backend=backend, configure=lambda **given: self._engine.log.append(given))
        self.timeline = SimpleNamespace(render=lambda lines, *, fold: f"{lines} lines, fold={fold}")


class Item:
    """A test, with its cluster if it has one."""

    nodeid = "a.py::test_it"

    def __init__(self, cluster=None, **options):
        self.config = SimpleNamespace(
            option=SimpleNamespace(**options), stash=pytest.Stash(), getoption=lambda *_: None, getini=lambda _: None
        )
        self.stash = pytest.Stash()
        if cluster is not None:
            self.stash[CLUSTER] = cluster

    def reportinfo(self):
        return "a.py", 4, "test_it"


def reported(item, error=None, *, when="call", sections=()):
    """The report that the hook makes of a phase of a test that raised `error`, or None; and what pytest is given."""
    excinfo = None
    if error is not None:
        with pytest.raises(type(error)) as excinfo:
            raise error
    call = SimpleNamespace(excinfo=excinfo, when=when)
    report = SimpleNamespace(failed=error is not None, when=when, sections=list(sections), outcome="", longrepr="")
    steps = reports.makereport(item, call)
    next(steps)
    collects = gc.isenabled()
    with pytest.raises(StopIteration) as caught:
        steps.send(report)
    assert caught.value.value is report
    return report, call.excinfo, collects


def raised(function):
    with pytest.raises(Exception) as caught:
        function()
    return caught.value


# --- reports


@pytest.mark.parametrize("raised_before", [False, True])
def test_a_failing_test_shows_the_timeline_and_the_findings_that_its_error_does_not_list(raised_before):
    finding = SimpleNamespace(name="noop-write", where="")
    item = Item(Cluster(findings=[finding], seed="mine"))
    if raised_before:
        item.stash[RAISED] = [finding]
    listed = pytest.MonkeyPatch()
    with listed.context() as patch:
        patch.setattr("fakekube.harness.detectors.finding.listed", lambda found: f"{len(found)} finding")
        report, _, collects = reported(item, ValueError("it broke"))
    timeline = ("fakekube timeline (seed 'mine')", "60 lines, fold=True")
    assert report.sections == ([timeline] if raised_before else [timeline, ("fakekube findings", "1 finding")])
    assert not collects  # while pytest formats the traceback


def test_a_report_names_the_page_of_the_timeline(monkeypatch):
    monkeypatch.setattr(reports, "_write_page", lambda item, cluster, report: "pages/a.html")
    report, _, _ = reported(Item(Cluster()), ValueError())
    assert report.sections[0][1] == "60 lines, fold=True\n\nthe whole timeline: pages/a.html"


def test_a_passing_test_has_no_section():
    report, _, collects = reported(Item(Cluster(findings=["one"])))
    assert report.sections == []
    assert collects


def test_a_test_without_a_cluster_has_no_section():
    report, _, _ = reported(Item(), ValueError())
    assert report.sections == []


@pytest.mark.parametrize("fulltrace", [False, True])
def test_frames_of_the_package_and_repeated_tracebacks_are_shown_with_full_trace_only(fulltrace):
    logged = "Traceback (most recent call last):\n  File 'a.py', line 1\nValueError: it broke\n"
    sections = [(title, logged * 3) for title in ("Captured log call", "Captured stderr call", "Captured stdout call")]
    error = raised(lambda: clusterport.seed_of(object()))
    report, excinfo, _ = reported(Item(Cluster(), fulltrace=fulltrace), error, sections=sections)
    files = [entry.path.name for entry in excinfo.traceback]
    assert ("clusterport.py" in files) is fulltrace
    assert files[0] == "test_plugin_hooks.py"
    counts = [text.count("Traceback") for _, text in report.sections[:3]]
    assert counts == ([3, 3, 3] if fulltrace else [1, 1, 3])


@pytest.mark.slow
@pytest.mark.parametrize(("left", "freed"), [((), False), (("client",), True)])
def test_after_its_teardown_a_test_keeps_no_cluster_and_what_killed_operators_left_is_freed(left, freed):
    class Left:
        def __del__(self):
            warnings.warn("Unclosed client session", ResourceWarning, stacklevel=2)

    item = Item(Cluster(left=left))
    reported(item, ValueError(), when="call")
    assert CLUSTER in item.stash
    garbage = Left()
    garbage.itself, alive = garbage, weakref.ref(garbage)
    gc.disable()
    try:
        del garbage
        reported(item, when="teardown")
        assert (alive() is None) is freed
    finally:
        gc.enable()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            gc.collect()
    assert CLUSTER not in item.stash
    assert item.stash[FAILURES] == []


# --- the verdict of a cluster


class Found(AssertionError):
    findings = ("a finding",)


@pytest.mark.parametrize(
    ("finish", "found", "verdict", "log"),
    [
        (None, None, ("", ()), ["finish", "raising"]),
        (None, Found("1 finding"), ("1 finding", ("a finding",)), ["finish", "raising"]),
        (AssertionError("not awaited"), None, ("not awaited", ()), ["finish"]),
        (LookupError("it broke"), None, ("LookupError: it broke", ()), ["finish"]),
    ],
)
def test_a_test_that_has_passed_is_judged(finish, found, verdict, log):
    cluster = Cluster(finish=finish, found=found)
    assert clusterport.judge(cluster, warn=warnings.warn) == verdict
    assert cluster._engine.log == log


@pytest.mark.parametrize(
    ("finish", "notes"),
    [(None, []), (LookupError("another"), ["LookupError: another"]), (LookupError("it broke"), [])],
)
def test_what_an_operator_raised_is_a_note_of_the_error_of_a_test_unless_it_is_that_error(finish, notes):
    cluster, error = Cluster(finish=finish), ValueError("it broke")
    clusterport.note_problems(cluster, error)
    assert getattr(error, "__notes__", []) == notes
    assert cluster._engine.log == ["finish", "noting"]


@pytest.mark.parametrize(
    ("backend", "left", "has"), [("fakekube", ["one"], True), ("fakekube", [], False), ("envtest", ["one"], False)]
)
def test_only_clusters_under_virtual_time_have_left_clients(backend, left, has):
    assert clusterport.has_left_clients(Cluster(backend=backend, left=left)) is has


@pytest.mark.parametrize(
    ("configuration", "given"),
    [(False, []), ("", []), (True, [{"service_account": ""}]), ("ns:robot", [{"service_account": "ns:robot"}])],
)
def test_clients_are_configured_as_the_marker_says(configuration, given):
    cluster = Cluster()
    clusterport.configure(cluster, configuration)
    assert cluster._engine.log == given


# --- failures of one line


def one_line(function):
    """The text of a failure that pytest shows without a traceback."""
    with pytest.raises(pytest.fail.Exception) as caught:
        function()
    assert caught.value.pytrace is False
    return caught.value.msg


def test_a_test_that_cannot_have_a_cluster_fails_with_one_line():
    item = Item()
    item.stash[PROBLEM] = "pytest lacks a name"
    assert one_line(lambda: testsettings.check_test(SimpleNamespace(node=item))) == "pytest lacks a name"


def test_an_incompatible_version_fails_with_one_line():
    def opens():
        with fixtures._one_line():
            raise IncompatibleVersion("Python 9 lacks a name")

    assert one_line(opens) == "Python 9 lacks a name"
    with fixtures._one_line():
        pass


@pytest.mark.parametrize("value", ["trio", ("trio", {"restrict": True}), "asyncio", ("asyncio", {}), None])
def test_a_test_with_a_cluster_needs_the_backend_asyncio_of_anyio(value):
    item = Item(Cluster())
    item.funcargs = {} if value is None else {"anyio_backend": value}
    steps = hooks.runtest_setup(item)
    next(steps)
    assert CLUSTER not in item.stash  # that of a run before
    item.stash[CLUSTER] = Cluster()
    if value and "trio" in value:
        assert one_line(lambda: next(steps)).startswith("the anyio backend of this test is 'trio'")
    else:
        assert next(steps, None) is None


def test_without_a_cluster_any_backend_of_anyio_will_do():
    item = Item()
    item.funcargs = {"anyio_backend": "trio"}
    assert list(hooks.runtest_setup(item)) == [None]


def test_a_test_that_leaves_its_cluster_open_fails_with_one_line(monkeypatch):
    monkeypatch.setattr(hooks, "close_survivors", lambda item: "left open")
    steps = hooks.runtest_teardown(SimpleNamespace(config=Item().config, session=None), None)
    next(steps)
    assert one_line(lambda: next(steps)) == "left open"


def test_a_marker_without_effect_is_warned_of_at_the_line_of_the_test():
    item = Item()
    item.own_markers = [pytest.mark.fakekube.mark, pytest.mark.slow.mark, pytest.mark.fakekube_explore.mark]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        hooks._warn_of_marker(item)
    assert [(one.category, one.filename, one.lineno, str(one.message).split()[0]) for one in caught] == [
        (pytest.PytestWarning, "a.py", 5, "@pytest.mark.fakekube"),
        (pytest.PytestWarning, "a.py", 5, "@pytest.mark.fakekube_explore"),
    ]


# --- which tests and fixtures concern the plugin


def made(**attributes):
    return SimpleNamespace(**attributes)


@pytest.mark.parametrize(
    ("test", "used"),
    [
        (made(), False),
        (made(fixturenames=None, own_markers=[]), False),
        (made(fixturenames=["tmp_path"]), False),
        (made(fixturenames=["tmp_path", "fakekube"]), True),
        (made(fixturenames=["fakekube_module"]), True),
        (made(fixturenames=["fakekube_session"]), True),
        (made(own_markers=[made(name="slow")]), False),
        (made(own_markers=[made(name="slow"), made(name="fakekube_explore")]), True),
    ],
)
@pytest.mark.parametrize("loaded", [None, pytest_plugin._BUBBLE, pytest_plugin._FIXTURES_MODULE])
def test_a_test_concerns_the_plugin_by_its_fixtures_its_markers_or_the_modules_of_its_process(
    monkeypatch, test, used, loaded
):
    for name in (pytest_plugin._BUBBLE, pytest_plugin._FIXTURES_MODULE):
        monkeypatch.delitem(sys.modules, name)
    if loaded is not None:
        monkeypatch.setitem(sys.modules, loaded, None)
    assert pytest_plugin._is_used(test) is (used or loaded is not None)
    assert pytest_plugin._is_loaded() is (loaded is not None)


@pytest.mark.parametrize("names", [None, [], ["tmp_path"], ["fakekube_module"]])
def test_a_test_without_a_cluster_of_its_own_is_not_explored(names):
    item = made(fixturenames=names, config=None)  # it is not asked
    assert pytest_plugin.pytest_runtest_protocol(item, None) is None


@pytest.mark.parametrize(("workers", "names", "divided"), [
    (None, ["fakekube"], False), ("2", ["tmp_path"], False), ("2", ["fakekube"], True), (None, [], False),
])  # fmt: skip
def test_only_tests_with_a_cluster_are_divided_among_workers(monkeypatch, workers, names, divided):
    found = []
    monkeypatch.delenv("PYTEST_XDIST_WORKER_COUNT", raising=False)
    if workers is not None:
        monkeypatch.setenv("PYTEST_XDIST_WORKER_COUNT", workers)
    monkeypatch.setattr("fakekube.pytest_plugin.explorations.divide", found.append)
    metafunc = made(fixturenames=names)
    pytest_plugin.pytest_generate_tests(metafunc)
    assert found == ([metafunc] if divided else [])


@pytest.mark.parametrize(("workers", "marked", "explored", "shards"), [
    ("1", True, "", []), ("2", False, "", []), ("2", True, "", ["shard 1 of 2", "shard 2 of 2"]),
    ("3", False, "pr", ["shard 1 of 3", "shard 2 of 3", "shard 3 of 3"]), (None, True, "pr", []),
])  # fmt: skip
def test_an_explored_test_has_a_shard_for_each_of_several_workers(monkeypatch, workers, marked, explored, shards):
    monkeypatch.delenv("PYTEST_XDIST_WORKER_COUNT", raising=False)
    if workers is not None:
        monkeypatch.setenv("PYTEST_XDIST_WORKER_COUNT", workers)
    found = []
    metafunc = made(
        definition=made(get_closest_marker=lambda name: "a marker" if marked else None),
        config=made(option=made(fakekube_explore=explored)),
        fixturenames=[],
        parametrize=lambda name, values, *, ids, indirect: found.append((name, values, ids, indirect)),
    )
    explorations.divide(metafunc)
    numbers = [(number, len(shards)) for number in range(len(shards))]
    assert found == ([(SHARD, numbers, shards, True)] if shards else [])
    assert metafunc.fixturenames == ([SHARD] if shards else [])


@pytest.mark.parametrize(
    ("given", "ini", "said"),
    [
        ({}, None, None),
        ({}, "failed", None),
        ({}, "some", "fakekube_timeline_for='some'"),
        ({"timeline_for": "some"}, None, "fakekube_timeline_for='some'"),
        ({"plan": "no plan"}, None, "--fakekube-plan"),
        ({"explore": "never"}, None, "--fakekube-explore"),
    ],
)
def test_options_that_cannot_be_read_end_the_run(given, ini, said):
    lines = []
    config = made(
        addinivalue_line=lambda name, line: lines.append(line.partition("(")[0]),
        getoption=lambda name, default: given.get(name.removeprefix("fakekube_")),
        getini=lambda name: ini,
        option=made(fakekube_plan=given.get("plan"), fakekube_explore=given.get("explore", "")),
    )
    if said is None:
        pytest_plugin.pytest_configure(config)
    else:
        with pytest.raises(pytest.UsageError, match=said):
            pytest_plugin.pytest_configure(config)
    assert lines == ["fakekube", "fakekube_explore"]


async def coroutine(): ...


async def generator():
    yield


def test_async_fixtures_are_coroutines_and_async_generators():
    assert [hooks._is_async(one) for one in (coroutine, generator, made, lambda: coroutine())] == [
        True, True, False, False,
    ]  # fmt: skip


class Base:
    async def fixture(self):
        return self


class Derived(Base):
    pass


def test_a_fixture_is_bound_to_the_instance_of_its_test():
    derived, other = Derived(), object()
    assert hooks._bound(Base().fixture, derived).__self__ is derived
    method = Base().fixture
    for function, instance in ((method, None), (method, other), (coroutine, derived)):
        assert hooks._bound(function, instance) is function


@pytest.mark.parametrize("error", [None, ValueError(), asyncio.CancelledError()])
def test_only_runs_of_an_explored_test_are_observed(monkeypatch, error):
    seen = []
    monkeypatch.setattr("fakekube.simulation.protocol.observe", lambda item, error: seen.append(error))
    item = Item()
    explorations.end_run(item, error)
    assert seen == []
    item.stash[PLAN] = "a plan"
    explorations.end_run(item, error)
    assert seen == ([] if isinstance(error, asyncio.CancelledError) else [error])


# --- private names of pytest


def test_missing_names_are_reported_once_in_a_run(monkeypatch, request):
    lacking = PrivateName("_pytest.runner", "no_such_name", "something is lost")
    monkeypatch.setattr(internals, "NAMES", (internals.RUN_PROTOCOL, lacking))
    monkeypatch.setattr(internals, "report_to", lambda report: None)
    lines = []
    monkeypatch.setattr(internals, "report", lambda config, text: lines.append(text))
    stash = pytest.Stash()
    config = SimpleNamespace(stash=stash, pluginmanager=None)
    internals.report_missing(SimpleNamespace(config=config))  # no function: it can have no cluster
    assert lines == []
    assert internals._REPORTED not in stash
    item = request.node
    with monkeypatch.context() as patch:
        patch.setattr(item, "config", config)
        for _ in range(2):
            internals.report_missing(item)
    assert lines == [str(lacking)]
    assert internals._problem(item, lacking) == str(lacking)
    assert internals._problem(item, internals.RUN_PROTOCOL) == ""


@pytest.mark.parametrize(
    ("plan", "cluster", "seeded"), [(True, True, [9]), (True, False, []), (False, True, []), (None, True, [])]
)
def test_only_a_run_of_an_explored_test_is_seeded_anew(monkeypatch, plan, cluster, seeded):
    found = []
    monkeypatch.setattr("fakekube.virtualtime.patches.randomness.seed_functions", found.append)
    item = Item(Cluster() if cluster else None)
    if cluster:
        item.stash[CLUSTER]._engine.bubble.seed = 9
    if plan is not None:
        item.stash[PLAN] = "a plan" if plan else None
    explorations.seed(item)
    assert found == seeded
