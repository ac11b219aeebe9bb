"""The page of a failure: the reference and the failing run beside each other, written by pytest and read in a browser."""

import json
import re

import pytest

from fakekube import FakeKube
from fakekube.harness.records.alignment import align, first_difference
from fakekube.pytest_plugin.reports import page_name
from fakekube.simulation.failurepage import PlanResult, comparison_of, write_page
from fakekube.simulation.observation import Violation
from fakekube.simulation.plan import Plan, parse_plan
from fakekube.simulation.report import compared
from fakekube.simulation.scenario import ScenarioRunner
from tests.harness.browser import CONTRAST, in_a_browser, in_browser
from tests.simulation.samples import SAMPLES

pytest_plugins = ["pytester"]

PLUGINS = [f"-pno:{name}" for name in ("cacheprovider", "randomly", "asyncio", "rerunfailures")]

#: Plans that fail for a sample.
PLANS = {
    "generated_job_name": "FK1 seed=0 crash@create job/a-*#1",
    "marker_before_work": "FK1 seed=0 race(annotate)@update cm/a-shard-0{data.version}#1",
    "cleanup_after_finalizer": "FK1 seed=0 error(503, 1)@get cm/a-topic#3",
    "count_from_cache": "FK1 seed=0 hold(pod, create pod/a-*#1..reconcile)",
    "admission_timeout": "FK1 seed=0 hook(timeout)@create cm/a#1",
}


@pytest.fixture(scope="module", autouse=True)
def _imported():
    """What is imported lazily is imported once: pytester forgets what an inner run imports."""
    import fakekube.simulation.protocol  # noqa: F401

    with FakeKube() as kube:
        kube.settle()


def result_of(name, text=""):
    """The two runs of a plan with a sample."""
    sample, plan = SAMPLES[name], parse_plan(text or PLANS[name])
    runner = ScenarioRunner(lambda kube: sample.scenario(kube, sample.make(True)), with_timeline=True)
    violations = [Violation("O2", "cm/a", "is absent at the end (the reference has it)")]
    return PlanResult(plan, runner.run(Plan()), runner.run(plan), violations, Plan())


def document_of(page):
    return json.loads(re.search(r'id="document">(.*)</script>', page)[1])


def entry(document, serial):
    return next(one for one in document["entries"] if one["serial"] == serial)


# --- the data of the page ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PLANS)
def test_the_page_and_the_text_have_the_same_first_difference(name):
    found = result_of(name)
    sides = [compared(one.commits) for one in (found.reference, found.observed)]
    lines = align(*([key for _, key in side] for side in sides))
    line = lines[first_difference(lines)]
    document = comparison_of(found).document()
    row = document["comparison"]["rows"][document["comparison"]["first"]]
    revisions = [
        {one["revision"] for one in entry(document, serial)["changes"]} if serial else set() for serial in row[:2]
    ]
    expected = [set() if at is None else {side[at][0].revision} for at, side in zip(line[:2], sides, strict=True)]
    assert any(mine and mine == theirs for mine, theirs in zip(revisions, expected, strict=True))


@pytest.mark.parametrize("name", PLANS)
def test_the_atom_is_marked_right_after_the_request_that_it_hit(name, tmp_path):
    document = document_of(write_page(tmp_path / "a.html", result_of(name), "t.py::t").read_text())
    (atom,) = document["comparison"]["atoms"]
    mark = entry(document, atom["serial"])
    assert (mark["actor"], mark["what"], mark["side"]) == ("fault", atom["text"], 1)
    (request,) = mark["because"]
    run = [one["serial"] for one in document["entries"] if one["side"] == 1]
    assert run.index(request) + 1 == run.index(mark["serial"])


@pytest.mark.parametrize(
    ("name", "plan"),
    [
        ("late_leader", "FK1 seed=0 zombie@delete pod/a#1"),
        ("call_before_record", "FK1 seed=0 crash@create external/accounts/a#1"),
    ],
)
def test_an_atom_that_takes_effect_before_a_request_has_no_cause(name, plan):
    document = comparison_of(result_of(name, plan)).document()
    (mark,) = [one for one in document["entries"] if one["actor"] == "fault"]
    assert (mark["because"], mark["side"]) == ([], 1)


@pytest.mark.parametrize("name", PLANS)
def test_each_side_keeps_its_order(name):
    document = comparison_of(result_of(name)).document()
    for side in (0, 1):
        serials = [row[side] for row in document["comparison"]["rows"] if row[side]]
        assert serials == sorted(serials)


def test_an_atom_that_does_not_take_effect_has_no_place(tmp_path):
    found = result_of("generated_job_name", "FK1 seed=0 crash@create job/other#1")
    document = document_of(write_page(tmp_path / "a.html", found, "t.py::t").read_text())
    assert document["comparison"]["atoms"] == [{"text": "crash@create job/other#1", "serial": 0}]
    assert document["comparison"]["first"] == -1


def test_the_result_is_above_the_timelines(tmp_path):
    found = result_of("generated_job_name")
    shown = document_of(write_page(tmp_path / "a.html", found, "t.py::t[a]").read_text())["comparison"]
    assert shown["violations"] == ["O2: cm/a is absent at the end (the reference has it)"]
    assert shown["replay"] == f"pytest 't.py::t[a]' --fakekube-plan='{found.plan}'"
    assert shown["passes"] == "without faults"


def test_the_timeline_of_a_run_without_faults_has_no_marks():
    assert "fault" not in {
        one["actor"] for one in json.loads(result_of("lost_update", "FK1 seed=0").observed.timeline)["entries"]
    }


# --- written by pytest ------------------------------------------------------------------------------------------------

SUITE = """
import pytest
from tests.simulation.samples import SAMPLES

@pytest.mark.fakekube_explore(runs=60, faults=["crash"])
@pytest.mark.parametrize("bug", [True, False])
def test_task(fakekube, bug):
    sample = SAMPLES["generated_job_name"]
    sample.scenario(fakekube, sample.make(bug))
"""

FAILING, PASSING = (f"test_pages.py::test_task[{bug}]" for bug in (True, False))


@pytest.fixture
def run(pytester, monkeypatch):
    """Runs the suite and returns the result, and the pages by the names of their tests."""
    monkeypatch.delenv("PYTEST_XDIST_WORKER_COUNT", raising=False)
    pytester.makepyfile(test_pages=SUITE)

    def runs(*options, into="pages"):
        result = pytester.runpytest_inprocess(*PLUGINS, f"--fakekube-timeline={into}", *options)
        return result, {path.name: path.read_text() for path in (pytester.path / into).glob("*")}

    return runs


@pytest.mark.slow
def test_a_failed_exploration_names_its_page_and_a_replay_makes_the_same(run, pytester):
    result, pages = run()
    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines([f"both timelines: {pytester.path}/pages/{page_name(FAILING)}"])
    found = document_of(pages[page_name(FAILING)])
    assert found["title"] == f"{FAILING} failed"
    assert found["comparison"]["names"] == ["reference", "run"]
    plan = re.search(r"--fakekube-plan='(.*)'", found["comparison"]["replay"])[1]
    result, again = run(f"--fakekube-plan={plan}", FAILING, into="again")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f"both timelines: {pytester.path}/again/{page_name(FAILING)}"])
    assert again == {page_name(FAILING): pages[page_name(FAILING)]}


@pytest.mark.slow
def test_a_passed_exploration_has_the_page_of_the_run_without_faults(run):
    _, pages = run()
    found = document_of(pages[page_name(PASSING)])
    assert found["title"] == f"{PASSING} passed"
    assert "comparison" not in found
    assert "fault" not in {one["actor"] for one in found["entries"]}


@pytest.mark.slow
def test_pages_of_failing_tests_only(run):
    _, pages = run("--fakekube-timeline-for=failed")
    assert list(pages) == [page_name(FAILING)]


@pytest.mark.slow
def test_a_plan_that_passes_has_both_runs_unless_only_failing_tests_have_pages(run):
    plan = "--fakekube-plan=FK1 seed=0 crash@create job/a-1#1"
    result, pages = run(plan, PASSING)
    result.assert_outcomes(passed=1)
    found = document_of(pages[page_name(PASSING)])
    assert (found["comparison"]["violations"], found["comparison"]["passes"]) == ([], "")
    assert found["comparison"]["atoms"][0]["serial"] > 0
    _, none = run(plan, PASSING, "--fakekube-timeline-for=failed", into="none")
    assert none == {}


# --- in a browser -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The address of the page of an operator that sets a marker before its work, under a competing write."""
    path = tmp_path_factory.mktemp("pages") / "page.html"
    return write_page(path, result_of("marker_before_work"), "test_fleet.py::test_<b>moves").as_uri()


class TestInABrowser:
    pytestmark = in_a_browser

    def test_where_do_they_differ_first_which_atom_hit_and_what_did_the_operator_do_next(self, page):
        """Click the first difference and the fault; read what each run did after it; follow its causes by clicking."""

        async def act(opened):
            await opened.click("#to-first")
            differs = await opened.text("#details h2")
            await opened.click("#atom-0")
            hit, answer = await opened.text("#details h2"), await opened.text("#answer")
            following = [await opened.texts(f".then.side-{side} .step") for side in (0, 1)]
            await opened.click(".step.cause")
            return differs, hit, answer, following, await opened.text("#details h2")

        differs, hit, answer, following, cause = in_browser(page, act)
        assert differs == cause == "patch configmaps default/a-shard-0 -> 200"
        assert hit == "race(annotate)@update cm/a-shard-0{data.version}#1"
        assert answer == "Took effect at race's patch configmaps default/a-shard-0 -> 200."
        reference, run = ([one.split("\n")[0] for one in side] for side in following)
        assert reference[:3] == [f"fleet update configmaps default/a-shard-{number} -> 200" for number in range(3)]
        assert run[:2] == [
            "fleet update configmaps default/a-shard-0 -> 409 Conflict",
            "fleet reconcile default/a #4 ok",
        ]

    def test_it_opens_at_the_first_difference(self, page):
        async def act(opened):
            script = """(() => { const box = document.getElementById("first").getBoundingClientRect(),
              rows = document.getElementById("rows").getBoundingClientRect(), next = document.querySelector(".pair.first .row");
              return [rows.top < box.top, box.bottom < rows.bottom, next.innerText, rows.bottom - rows.top > 100]; })()"""
            return await opened.evaluate(script), await opened.texts("#details .at-first")

        (below, above, following, is_high), first = in_browser(page, act)
        assert below
        assert above
        assert is_high
        assert "patch configmaps default/a-shard-0 -> 200" in following
        assert [one.split("\n")[0] for one in first] == ["reference", "run"]
        assert "Nothing at this point." in first[0]

    def test_the_result_is_above_and_the_replay_line_is_copied(self, page):
        async def act(opened):
            await opened.command(
                "Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"]
            )
            failed, passes = await opened.text(".violation"), await opened.text("#passes code")
            await opened.click("#copy")
            await opened.evaluate(
                "new Promise(done => { const look = () => document.getElementById('copy').textContent === 'Copied' ? done() : requestAnimationFrame(look); look(); })"
            )
            return (
                failed,
                passes,
                await opened.evaluate("getSelection().toString()"),
                await opened.evaluate("document.title"),
            )

        failed, passes, copied, title = in_browser(page, act)
        assert failed == "O2: cm/a is absent at the end (the reference has it)"
        assert passes == "without faults"
        assert copied == f"pytest 'test_fleet.py::test_<b>moves' --fakekube-plan='{PLANS['marker_before_work']}'"
        assert title == "test_fleet.py::test_<b>moves failed · timeline"

    def test_lanes_zoom_filter_and_keys(self, page):
        async def act(opened):
            wide = "document.querySelector('#chart svg').getBoundingClientRect().width"
            before = await opened.evaluate(wide)
            await opened.click("#in")
            zoomed = await opened.evaluate(wide)
            lanes, marks = (
                await opened.texts("#names button"),
                await opened.evaluate("document.querySelectorAll('.mark').length"),
            )
            await opened.click("#to-first")
            found = []
            for key in ("ArrowDown", "ArrowDown"):
                await opened.command("Input.dispatchKeyEvent", type="keyDown", key=key)
                found.append(await opened.text("#details h2"))
            await opened.click("#query")
            await opened.command("Input.insertText", text="409")
            return before < zoomed, lanes, marks, found, await opened.texts(".row .what")

        wider, lanes, marks, found, rows = in_browser(page, act)
        assert wider
        assert lanes == [
            "reference · test",
            "reference · fleet",
            "run · test",
            "run · fleet",
            "run · race",
            "run · fault",
        ]
        assert marks == 2
        assert found == [
            "race(annotate)@update cm/a-shard-0{data.version}#1",
            "update configmaps default/a-shard-0 -> 409 Conflict",
        ]
        assert rows == ["update configmaps default/a-shard-0 -> 409 Conflict"]

    @pytest.mark.parametrize("scheme", ["light", "dark"])
    def test_text_is_legible_in_light_and_dark(self, page, scheme):
        async def act(opened):
            await opened.command(
                "Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}]
            )
            return await opened.evaluate(CONTRAST), opened.requested

        worst, requested = in_browser(page, act)
        assert worst["ratio"] >= 4.5, worst
        assert requested == [page]

    def test_nothing_is_wider_than_a_narrow_window_and_the_first_difference_is_in_sight(self, page):
        async def act(opened):
            await opened.command(
                "Emulation.setDeviceMetricsOverride", width=400, height=800, deviceScaleFactor=1, mobile=False
            )
            await opened.open(page)
            wide = await opened.evaluate(
                """["html", "#rows", "#details", "header", "#result"].filter(name => { const one = document.querySelector(name);
                  return one.scrollWidth > one.clientWidth; })"""
            )
            script = """(() => { const box = document.getElementById("first").getBoundingClientRect(),
              rows = document.getElementById("rows").getBoundingClientRect();
              return rows.top < box.top && box.bottom < rows.bottom; })()"""
            return wide, await opened.evaluate(script)

        assert in_browser(page, act) == ([], True)
