"""The settings of a test's cluster, its page, and what the plugin asks of a run, without a run of pytest."""

import warnings
from types import SimpleNamespace

import pytest

from fakekube.pytest_plugin import _is_used, fixtures, hooks, internals, reports, survivors
from fakekube.pytest_plugin.itemkeys import PROBLEM
from fakekube.pytest_plugin.reports import page_name, page_of
from fakekube.pytest_plugin.testsettings import backend, check_options, check_test, option, settings
from fakekube.simulation.stash import PAGED, PLAN
from fakekube.virtualtime import Bubble
from fakekube.virtualtime.compatibility.privatename import CompatibilityWarning


class Config:
    """A run, as the plugin reads it: its command line and its ini file."""

    def __init__(self, given=(), ini=()):
        self.given, self.ini = dict(given), {"detect": [], "timeline_for": None, **dict(ini)}
        self.option = SimpleNamespace(
            fakekube_plan=self.given.pop("plan", None), fakekube_explore=self.given.pop("explore", "")
        )
        self.stash = pytest.Stash()
        self.recorded = []
        self.hook = SimpleNamespace(
            pytest_warning_recorded=SimpleNamespace(call_historic=lambda kwargs: self.recorded.append(kwargs))
        )

    def getoption(self, name, default=None):
        return self.given.get(name.removeprefix("fakekube_"), default)

    def getini(self, name):
        return self.ini.get(name.removeprefix("fakekube_"))


def request(config, *markers, nodeid="a.py::test_it"):
    marks = [pytest.mark.fakekube(*args, **options).mark for args, options in markers]
    node = SimpleNamespace(nodeid=nodeid, stash=pytest.Stash(), iter_markers=lambda name: iter(marks))
    return SimpleNamespace(config=config, node=node)


@pytest.mark.parametrize(
    ("given", "ini", "value"),
    [
        ({}, {}, None),
        ({"x": "a"}, {"x": "b"}, "a"),
        ({}, {"x": "b"}, "b"),
        ({}, {"x": ""}, None),
        ({}, {"x": []}, None),
        ({"x": ""}, {"x": "b"}, None),
        ({}, {"x": False}, False),
    ],
)
def test_the_command_line_comes_before_the_ini_file(given, ini, value):
    assert option(Config(given, ini), "x") == value


def test_the_backend_is_fakekube_unless_another_is_chosen():
    assert backend(Config()) == "fakekube"
    assert backend(Config(ini={"backend": "envtest"})) == "envtest"


@pytest.mark.parametrize(
    ("given", "ini", "markers", "found"),
    [
        ({}, {}, [], {"seed": "a.py::test_it"}),
        ({"seed": "5"}, {}, [], {"seed": 5}),
        ({"seed": "-5"}, {}, [], {"seed": -5}),
        ({"seed": "name"}, {}, [], {"seed": "name"}),
        ({"nodes": "2"}, {"version": "1.30"}, [], {"seed": "a.py::test_it", "nodes": 2, "version": "1.30"}),
        ({"version": "130"}, {}, [], {"seed": "a.py::test_it", "version": "130"}),
        ({"rbac": True, "seed": "1"}, {"controllers": ["*"]}, [((), {"seed": 7, "transport": "tcp"})], {"rbac": True, "seed": 7, "controllers": ["*"], "transport": "tcp"}),
        ({}, {}, [((), {"seed": 1, "rbac": True}), ((), {"seed": 2, "stepped": True})], {"seed": 1, "rbac": True, "stepped": True}),
        ({}, {}, [((), {"seed": None})], {"seed": "a.py::test_it"}),
        ({"detect": ["a=off"]}, {"detect": ["a=warn", "b=warn"]}, [((), {"detect": {"c": "error"}})], {"seed": "a.py::test_it", "detect": {"a": "off", "b": "warn", "c": "error"}}),
        ({}, {}, [((), {"detect": {"a": "off"}}), ((), {"detect": {"a": "warn", "b": "warn"}})], {"seed": "a.py::test_it", "detect": {"a": "off", "b": "warn"}}),
        ({}, {}, [((), {"detect": None})], {"seed": "a.py::test_it", "detect": None}),
    ],
)  # fmt: skip
def test_the_closest_marker_comes_before_all(given, ini, markers, found):
    assert settings(request(Config(given, ini), *markers)) == found


def test_a_cluster_of_the_session_has_its_name_as_seed():
    assert settings(request(Config(), nodeid=""))["seed"] == "session"


@pytest.mark.parametrize(
    ("given", "markers", "said"),
    [
        ({}, [(("x",), {})], "a.py::test_it: @pytest.mark.fakekube takes keyword arguments only"),
        ({"detect": ["a"]}, [], "'a' must be NAME=LEVEL"),
    ],
)
def test_what_cannot_be_read_is_an_error_of_usage(given, markers, said):
    with pytest.raises(pytest.UsageError, match=said):
        settings(request(Config(given), *markers))


def test_a_test_that_cannot_have_a_cluster_fails_with_one_line():
    found = request(Config())
    check_test(found)
    found.node.stash[PROBLEM] = "this pytest is too new"
    with pytest.raises(pytest.fail.Exception, match=r"\Athis pytest is too new\Z"):
        check_test(found)


@pytest.mark.parametrize(
    ("given", "ini", "said"),
    [
        ({}, {}, None), ({"timeline_for": "failed"}, {}, None), ({}, {"timeline_for": "all"}, None), ({"explore": "smoke"}, {}, None),
        ({"explore": "60s"}, {}, None), ({"timeline_for": "some"}, {}, "fakekube_timeline_for='some': must be all or failed"),
        ({"explore": "soon"}, {}, "--fakekube-explore: "), ({"plan": "nonsense"}, {}, "--fakekube-plan: "),
    ],
)  # fmt: skip
def test_options_of_a_run(given, ini, said):
    if said is None:
        check_options(Config(given, ini))
    else:
        with pytest.raises(pytest.UsageError, match=said):
            check_options(Config(given, ini))


@pytest.mark.parametrize(
    ("ini", "failed", "written"),
    [
        ({}, True, False), ({"timeline": "pages"}, True, True), ({"timeline": "pages"}, False, True), ({"timeline": "pages", "timeline_for": "failed"}, False, False),
        ({"timeline": "pages", "timeline_for": "failed"}, True, True), ({"timeline": "pages", "timeline_for": "all"}, False, True),
    ],
)  # fmt: skip
def test_which_pages_are_written(tmp_path, ini, failed, written):
    config = Config(ini=ini)
    config.invocation_params = SimpleNamespace(dir=tmp_path)
    path = page_of(SimpleNamespace(config=config, nodeid="a.py::test_it[x]"), failed)
    assert path == (tmp_path / "pages" / page_name("a.py::test_it[x]") if written else None)


@pytest.mark.parametrize(
    ("nodeid", "readable"),
    [("tests/a.py::test_it[x/y z]", "tests-a.py-test_it-x-y-z"), ("ä::b", "b"), ("..", ""), ("a" * 200, "a" * 120)],
)
def test_the_name_of_a_page(nodeid, readable):
    name = page_name(nodeid)
    start, _, digest = name.removesuffix(".html").rpartition("-")
    assert (start, len(digest)) == (readable, 8)
    assert name != page_name(nodeid + " ")


@pytest.mark.parametrize("number", [0, 1, 2])
def test_lines_about_missing_names_are_warnings_of_the_run(number):
    config = Config()
    for _ in range(number):
        internals.report(config, "something is lost")
    assert len(config.recorded) == number
    for found in config.recorded:
        message = found["warning_message"]
        assert isinstance(message, warnings.WarningMessage)
        assert (message.filename, message.lineno) == ("fakekube", 1)
        assert (message.category, str(message.message), found["when"], found["nodeid"], found["location"]) == (
            CompatibilityWarning, "something is lost", "config", "", None,
        )  # fmt: skip


def test_the_finalizers_that_are_about_to_run():
    class Node:
        def listchain(self):
            return [session, module, self]

    session, module, test, other = Node(), Node(), Node(), Node()
    stack = {session: ([1], None), module: ([2], None), test: ([3], None), other: "something else"}
    item = SimpleNamespace(session=SimpleNamespace(_setupstate=SimpleNamespace(stack=stack)))
    assert internals.finalizers(item, None) == [[1], [2], [3]]
    assert internals.finalizers(item, Node()) == [[3]]
    for wrong in (
        SimpleNamespace(),
        SimpleNamespace(_setupstate=None),
        SimpleNamespace(_setupstate=SimpleNamespace(stack=[])),
    ):
        assert internals.finalizers(SimpleNamespace(session=wrong), None) == []


def test_a_test_of_this_process_may_use_a_cluster():
    assert _is_used(SimpleNamespace())  # clusters are loaded here


def test_arguments_of_a_marker_that_no_cluster_has_are_named_in_order():
    with pytest.raises(
        pytest.UsageError,
        match=r"has no argument alpha, zone \(it has authorization_mode, configure, controllers, .*, wall_clock\)",
    ):
        fixtures._cluster(request(Config()), {"zone": 1, "seed": 2, "alpha": 3})
    with pytest.raises(pytest.UsageError, match=r"has no argument rbak: did you mean 'rbac'\? \(it has "):
        fixtures._cluster(request(Config()), {"rbak": True})
    with pytest.raises(pytest.UsageError, match=r"@pytest\.mark\.fakekube: seed=1\.5"):
        fixtures._cluster(of_test(Config()), {"seed": 1.5})


def of_test(config):
    found = request(config)
    found.node.listchain = list
    return found


class Owner:
    def __init__(self, nodeid, *above):
        self.nodeid, self.above = nodeid, above

    def listchain(self):
        return [*self.above, self]


def test_a_cluster_of_another_test_is_closed_and_named():
    module = Owner("a.py")
    test, other = Owner("a.py::test_it", module), Owner("a.py::other", module)
    for owner, refused in ((None, False), (module, False), (test, False), (other, True)):
        with Bubble(wall_clock=False) as bubble:
            bubble.opened_by = owner
            if refused:
                with pytest.raises(
                    RuntimeError, match=r"the cluster of a\.py::other was still open, and was closed now"
                ):
                    survivors.refuse_survivors(test)
            else:
                survivors.refuse_survivors(test)
            assert bubble.loop.is_closed() is refused


def test_a_cluster_that_a_test_leaves_open_is_closed_and_named():
    test, other = Owner("a.py::test_it"), Owner("a.py::other")
    with Bubble(wall_clock=False) as bubble:
        survivors.claim(test)
        survivors.claim(other)
        assert bubble.opened_by is test
        assert survivors.close_survivors(other) == ""
        assert not bubble.loop.is_closed()
        assert survivors.close_survivors(test).startswith("a.py::test_it left its cluster open, and it was closed now")
        assert bubble.loop.is_closed()


@pytest.mark.parametrize(
    ("when", "failed", "plan", "paged", "written"),
    [
        ("setup", False, None, False, False), ("call", False, None, False, True), ("teardown", False, None, False, False), ("setup", True, None, False, True),
        ("teardown", True, None, False, True), ("call", False, [], False, False), ("call", False, [], True, True), ("call", True, [], False, True),
        ("call", True, ["atom"], True, False),
    ],
)  # fmt: skip
def test_when_the_page_of_a_test_is_written(tmp_path, when, failed, plan, paged, written):
    config = Config(ini={"timeline": "pages"})
    config.invocation_params, config.rootpath = SimpleNamespace(dir=tmp_path), tmp_path
    item, pages = SimpleNamespace(config=config, nodeid="a.py::test_it", stash=pytest.Stash()), []
    if plan is not None:
        item.stash[PLAN], item.stash[PAGED] = SimpleNamespace(atoms=plan), paged
    timeline = SimpleNamespace(html=lambda path, *, title, failure: pages.append((title, failure)) or path)
    report = SimpleNamespace(failed=failed, when=when, outcome="failed" if failed else "passed", longrepr="it broke")
    for _ in range(2):
        reports._write_page(item, SimpleNamespace(timeline=timeline), report)
    title = f"a.py::test_it {report.outcome}"
    assert pages == (
        [(title, "it broke" if failed else ""), (title, "it broke\n\nit broke" if failed else "")] if written else []
    )


def test_the_finalizers_that_are_left_run_the_latest_first(monkeypatch):
    log = []
    lists = [
        [lambda: log.append("session")],
        [lambda: log.append("module 1"), lambda: log.append("module 2")],
        [lambda: 1 / 0],
    ]
    monkeypatch.setattr(internals, "finalizers", lambda item, nextitem: lists)
    item = SimpleNamespace(config=SimpleNamespace(stash=pytest.Stash()))
    steps = hooks.runtest_teardown(item, None)
    next(steps)
    error = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        steps.throw(error)
    assert log == ["module 2", "module 1", "session"]
    assert [note.partition(" raised ")[0] for note in error.__notes__] == ["a finalizer that ran after this"]
