"""The timeline's page: written by pytest's option for each test, and read in a real browser."""

import json
import re
from pathlib import Path
from typing import NamedTuple

import pytest

from controllerlib import Result
from fakekube import FakeKube
from fakekube.harness.records.testfailure import failure_text
from fakekube.pytest_plugin import page_name
from tests.harness.browser import CONTRAST, in_a_browser, in_browser
from tests.harness.operators import config_map
from tests.innerruns import LEAN

ROOT = Path(__file__).parents[2]

SUITE = """
import pytest
from tests.harness.operators import build, config_map, nothing

@pytest.mark.parametrize("name", ["a", "b/../../c", "ü </script>"])
def test_passes(fakekube, name):
    fakekube.apply(config_map("a"))
    fakekube.start(build(nothing))

def test_fails(fakekube):
    fakekube.apply(config_map("a"))
    assert fakekube.exists("v1", "ConfigMap", "b")

@pytest.fixture
def cleaned(fakekube):
    yield
    raise OSError("the disk is full")

def test_fails_twice(fakekube, cleaned):
    fakekube.apply(config_map("a"))
    assert not fakekube.exists("v1", "ConfigMap", "a")

async def broken(request, client):
    raise TypeError("the operator is broken")

def test_has_a_finding(fakekube):
    fakekube.apply(config_map("a"))
    fakekube.start(build(broken))

def test_without_a_cluster():
    assert True
"""

FAILING = ["test_fails", "test_fails_twice", "test_has_a_finding"]


@pytest.fixture
def run(pytester, monkeypatch):
    """Runs the suite in a process of its own and returns the result, and the pages by the names of their tests."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    pytester.makepyfile(test_pages=SUITE)

    def run(*options):
        result = pytester.runpytest_subprocess(*LEAN, *options)
        return result, {path.name: path.read_text() for path in (pytester.path / "pages").glob("*")}

    return run


# --- the option ---------------------------------------------------------------------------------------------------


def test_each_test_with_a_cluster_has_a_page(run):
    result, pages = run("--fakekube-timeline=pages")
    result.assert_outcomes(passed=4, failed=3, errors=1)
    assert len(pages) == 6
    assert all(re.fullmatch(r"[A-Za-z0-9_.-]+\.html", name) for name in pages)
    assert page_name("test_pages.py::test_fails") in pages


def test_a_failing_test_names_its_page(run, pytester):
    result, pages = run("--fakekube-timeline=pages", "--fakekube-timeline-for=failed")
    result.assert_outcomes(passed=4, failed=3, errors=1)
    assert sorted(pages) == sorted(page_name(f"test_pages.py::{which}") for which in FAILING)
    result.stdout.fnmatch_lines([f"the whole timeline: {pytester.path}/pages/test_pages.py-test_fails-*.html"])


def test_pages_are_set_in_the_ini_file(run, pytester):
    pytester.makeini("[pytest]\nfakekube_timeline = pages\nfakekube_timeline_for = failed\n")
    _, pages = run()
    assert len(pages) == 3


def test_a_page_has_the_error_of_the_call_and_of_the_teardown(run):
    """The title said "failed", and the panel "Nothing failed"."""
    _, pages = run("--fakekube-timeline=pages")
    failures = {name: document_of(text)["failure"] for name, text in pages.items()}
    line = SUITE[: SUITE.index('assert fakekube.exists("v1", "ConfigMap", "b")')].count("\n")
    fails, twice, finding = (failures.pop(page_name(f"test_pages.py::{name}")) for name in FAILING)
    assert fails.startswith(f"test_pages.py:{line}: AssertionError: assert False\n")
    assert re.match(r"test_pages.py:\d+: AssertionError: assert not True\n", twice)
    assert re.search(r"\n\ntest_pages.py:\d+: OSError: the disk is full$", twice)
    assert re.search(r"^Failed: \[reconcile-error\] minder reconciling default/a ", finding)
    assert set(failures.values()) == {""}


class Crash(NamedTuple):
    path: str
    lineno: int
    message: str


class Longrepr(NamedTuple):
    """What pytest's report of a failure has."""

    reprcrash: Crash | None


@pytest.mark.parametrize(
    ("path", "message", "shown"),
    [
        pytest.param("/root/a/test_a.py", "ValueError: a", "a/test_a.py:3: ValueError: a", id="below-the-root"),
        pytest.param("/other/a.py", "ValueError: a\nb", "/other/a.py:3: ValueError: a\nb", id="elsewhere"),
        pytest.param(str(ROOT / "fakekube/x.py"), "FindingError: a", "FindingError: a", id="in-this-package"),
        pytest.param("/root/.venv/lib/site-packages/x.py", "Failed: a", "Failed: a", id="in-an-installed-package"),
        pytest.param("/root/a.py", "\n".join("a" * 40), "a.py:3: " + "a\n" * 25 + "(15 more lines)", id="long"),
        pytest.param("/root/a.py", "a" * 5000, "a.py:3: " + "a" * 3992, id="wide"),
    ],
)
def test_the_text_of_a_failure(path, message, shown):
    assert failure_text(Longrepr(Crash(path, 3, message)), Path("/root")) == shown


def test_the_text_of_a_failure_without_a_place():
    assert failure_text("SKIPPED\n", Path("/root")) == "SKIPPED"


def document_of(page):
    return json.loads(re.search(r'id="document">(.*)</script>', page)[1])


def test_no_page_is_written_without_the_option(run):
    result, pages = run()
    assert pages == {}
    result.stdout.no_fnmatch_line("*the whole timeline*")


def test_the_workers_of_xdist_write_all_pages(run):
    result, pages = run("--fakekube-timeline=pages", "-n2", "-p", "xdist")
    result.assert_outcomes(passed=4, failed=3, errors=1)
    assert len(pages) == 6


def test_an_unknown_choice_is_refused(run):
    result, _ = run("--fakekube-timeline=pages", "--fakekube-timeline-for=some")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*fakekube_timeline_for='some': must be all or failed*"])


def test_names_of_pages_are_safe_and_unique():
    names = [page_name(node) for node in ("t.py::a[x/y]", "t.py::a[x y]", "t.py::" + "a" * 500, "../../etc/passwd")]
    assert len(set(names)) == 4
    assert all(re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,140}\.html", name) for name in names)


def test_a_page_has_the_document_of_the_timeline(fakekube, tmp_path):
    fakekube.apply(config_map("a", text="</script><b>&"))
    text = fakekube.timeline.html(tmp_path / "t.html", title="mine", failure="a.py:1: b").read_text()
    (document,) = re.findall(r'<script type="application/json" id="document">(.*)</script>', text)
    assert json.loads(document) == json.loads(fakekube.timeline.to_json(title="mine", failure="a.py:1: b"))
    assert not re.search(r"""(src|href)\s*=|url\(|@import|https?://(?!www\.w3\.org)""", text)


# --- the page in a browser ----------------------------------------------------------------------------------------


def backup(manager):
    """Counts to 2 in each ConfigMap: each write causes the next reconcile; the second object's fails once."""
    failed = []

    async def reconcile(request, client):
        found = await client.get("v1", "ConfigMap", request.name, namespace=request.namespace)
        count = int(found["data"]["count"])
        if request.name == "b" and not failed:
            failed.append(request)
            raise RuntimeError("no space </script><script>document.title = 'broken'</script>")
        if count < 2:
            await client.update({**found, "data": {"count": str(count + 1)}})
        return Result(requeue_after=3600)

    manager.controller("backup").for_("v1", "ConfigMap").complete(reconcile)


@pytest.fixture
def page(tmp_path):
    """The page of two operators that back up, and the serial of the third reconcile of one object."""
    with FakeKube(seed=1) as kube:
        kube.apply(config_map("a", count="0"), config_map("b", count="0"))
        operator = kube.start(backup, name="db")
        kube.advance(hours=2)
        (third,) = [one for one in operator["backup"].history("default/a") if one.number == 3]
        title = "test_backup.py::test_<b>hourly"
        return kube.timeline.html(tmp_path / "page.html", title=title).as_uri(), third.serial


class TestInABrowser:
    pytestmark = in_a_browser

    def test_why_was_it_reconciled_the_third_time(self, page):
        """Click the reconcile; read the answer; follow its causes to the test's own write by clicking."""
        address, serial = page

        async def act(opened):
            await opened.click(f'.row[data-serial="{serial}"]')
            answer = await opened.text("#answer")
            causes = await opened.texts(".step.cause")
            fields = await opened.texts(".fields tr")
            await opened.click(".step.cause")
            return answer, causes, fields, await opened.text("#details h2"), await opened.text("#answer")

        answer, causes, fields, cause, made_by = in_browser(address, act)
        assert re.fullmatch(
            r"default/a was reconciled the 3rd time because ConfigMap default/a was updated \(resourceVersion \d+\): "
            r"after backup's update configmaps default/a -> 200\.",
            answer,
        )
        assert [one.split("\n")[0] for one in causes] == [
            "backup update configmaps default/a -> 200",
            "backup reconcile default/a #2 ok, again in 3600 s",
            "backup update configmaps default/a -> 200",
            "backup reconcile default/a #1 ok, again in 3600 s",
            "test create configmaps default/a -> 201",
        ]
        assert fields == ["data.count\t1 → 2"]
        assert cause == "update configmaps default/a -> 200"
        assert made_by == "Made by reconcile #2 of default/a by backup."

    def test_an_address_selects_an_entry_and_the_keys_follow_causes(self, page):
        address, serial = page

        async def act(opened):
            found = [await opened.text("#details h2")]
            for key in ("ArrowLeft", "ArrowLeft", "ArrowRight", "Escape"):
                await opened.command("Input.dispatchKeyEvent", type="keyDown", key=key)
                found.append(await opened.text("#details h2"))
            return found

        third, write, second, write_again, nothing = in_browser(f"{address}#e={serial}", act)
        assert third.startswith("reconcile default/a #3")
        assert write == write_again == "update configmaps default/a -> 200"
        assert second.startswith("reconcile default/a #2")
        assert nothing == "What happened"

    def test_lanes_zoom_and_filter(self, page):
        async def act(opened):
            wide = "document.querySelector('#chart svg').getBoundingClientRect().width"
            before = await opened.evaluate(wide)
            await opened.click("#in")
            zoomed = await opened.evaluate(wide)
            await opened.click("#fit")
            fitted = await opened.evaluate(wide)
            lanes = [await opened.texts("#names button")]
            await opened.click("#query")
            await opened.command("Input.insertText", text="default/b failed")
            lanes.append(await opened.texts("#names button"))
            return before, zoomed, fitted, lanes, await opened.texts(".row .what")

        before, zoomed, fitted, lanes, rows = in_browser(page[0], act)
        assert zoomed > before * 1.5
        assert fitted == before
        assert lanes == [["test", "backup"], ["backup"]]  # one without an entry that is shown is hidden
        assert [row.partition(" failed")[0] for row in rows] == ["reconcile default/b #1"]

    def test_it_requests_nothing_and_runs_no_script_of_the_data(self, page):
        async def act(opened):
            dots = await opened.evaluate("document.querySelectorAll('.dot').length")
            await opened.click("#time")
            return opened.requested, await opened.evaluate("document.title"), await opened.text("h1"), dots

        requested, title, heading, dots = in_browser(page[0], act)
        assert requested == [page[0]]
        assert title == "test_backup.py::test_<b>hourly · timeline"
        assert heading == "test_backup.py::test_<b>hourly"
        assert dots > 8

    @pytest.mark.parametrize("scheme", ["light", "dark"])
    def test_text_is_legible_in_light_and_dark(self, page, scheme):
        """The contrast of all texts is at least 4.5 (WCAG AA), apart from what a selection dims."""

        async def act(opened):
            await opened.command(
                "Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}]
            )
            return await opened.evaluate(CONTRAST)

        worst = in_browser(page[0], act)
        assert worst["ratio"] >= 4.5, worst
