"""The timeline's page: written by pytest's option for each test, and read in a real browser."""

import json
import re
from pathlib import Path
from typing import NamedTuple

import pytest

from controllerlib import Result
from fakekube import FakeKube
from fakekube.harness.records.page import page as page_of
from fakekube.harness.records.testfailure import failure_text
from fakekube.pytest_plugin.reports import page_name
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


@pytest.mark.slow
def test_each_test_with_a_cluster_has_a_page(run):
    result, pages = run("--fakekube-timeline=pages")
    result.assert_outcomes(passed=4, failed=3, errors=1)
    assert len(pages) == 6
    assert all(re.fullmatch(r"[A-Za-z0-9_.-]+\.html", name) for name in pages)
    assert page_name("test_pages.py::test_fails") in pages


@pytest.mark.slow
def test_a_failing_test_names_its_page(run, pytester):
    result, pages = run("--fakekube-timeline=pages", "--fakekube-timeline-for=failed")
    result.assert_outcomes(passed=4, failed=3, errors=1)
    assert sorted(pages) == sorted(page_name(f"test_pages.py::{which}") for which in FAILING)
    result.stdout.fnmatch_lines([f"the whole timeline: {pytester.path}/pages/test_pages.py-test_fails-*.html"])


@pytest.mark.slow
def test_pages_are_set_in_the_ini_file(run, pytester):
    pytester.makeini("[pytest]\nfakekube_timeline = pages\nfakekube_timeline_for = failed\n")
    _, pages = run()
    assert len(pages) == 3


@pytest.mark.slow
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


@pytest.mark.slow
def test_no_page_is_written_without_the_option(run):
    result, pages = run()
    assert pages == {}
    result.stdout.no_fnmatch_line("*the whole timeline*")


@pytest.mark.slow
def test_the_workers_of_xdist_write_all_pages(run):
    result, pages = run("--fakekube-timeline=pages", "-n2", "-p", "xdist")
    result.assert_outcomes(passed=4, failed=3, errors=1)
    assert len(pages) == 6


@pytest.mark.slow
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
        count = int(found["data"].get("count", 2))
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


@pytest.fixture(scope="module")
def busy(tmp_path_factory):
    """The page of a failed test with two operators, all controllers of the cluster, and a node."""
    with FakeKube(seed=1, controllers=["*"], nodes=1, detect={"all": "off"}) as kube:
        kube.apply(config_map("a", count="0"), config_map("b", count="0"))
        operator = kube.start(backup, name="db")
        kube.advance(hours=1)
        first = operator["backup"].history("default/a")[0]
        failure = "test_backup.py:12: AssertionError: a is counted\nassert 2 == 3"
        page = kube.timeline.html(tmp_path_factory.mktemp("pages") / "a.html", title="test failed", failure=failure)
        return page.as_uri(), first.serial


#: Whether the middle of the selected dot, and of the selected row, are in the part of their list that is in sight.
IN_SIGHT = """(() => { const inside = (one, all, left = 0) => { if (!one) return null;
    const a = one.getBoundingClientRect(), b = all.getBoundingClientRect(), x = a.x + a.width / 2, y = a.y + a.height / 2;
    return x >= b.left + left && x <= b.left + all.clientWidth && y >= b.top && y <= b.top + all.clientHeight; };
  const of = id => document.getElementById(id);
  return [inside(document.querySelector(".dot.selected"), of("lanes"), of("names").offsetWidth),
    inside(document.querySelector(".row.selected"), of("rows"))]; })()"""

#: The texts of the rows in sight that are cut, apart from their causes.
CUT = """[...document.querySelectorAll(".row .what, .row .who")].filter(one => one.scrollWidth > one.clientWidth)
  .map(one => [one.innerText, one.parentElement.querySelector(".cause")?.innerText.length || 0])"""


async def frames(opened):
    """Wait until the page has been drawn, with what its scroll events have added."""
    for _ in range(2):
        await opened.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


async def sized(opened, width, height=900):
    await opened.command(
        "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False
    )
    await frames(opened)


class TestABusyPage:
    """The page of a cluster that has controllers of its own: eleven system lanes stood above the test's."""

    pytestmark = in_a_browser

    def test_the_test_and_operators_are_first_and_system_lanes_are_folded(self, busy):
        async def act(opened):
            folded = await opened.texts("#names button")
            await opened.click(".fold")
            unfolded = await opened.texts("#names button")
            open_now = await opened.evaluate("document.querySelector('.fold').getAttribute('aria-expanded')")
            await opened.click(".fold")
            return folded, unfolded, open_now, await opened.texts("#names button")

        folded, unfolded, open_now, again = in_browser(busy[0], act)
        assert folded[:2] == ["test", "backup"]
        (count,) = re.fullmatch(r"system \((\d+)\)", folded[2]).groups()
        assert again == folded
        assert unfolded[:3] == folded
        assert len(unfolded) == 3 + int(count)
        assert {"kubelet-node", "cluster", "node-lifecycle-controller"} <= set(unfolded[3:])
        assert open_now == "true"

    def test_system_entries_are_hidden_by_a_button_and_lanes_without_entries_are_hidden(self, busy):
        async def act(opened):
            whole = await opened.evaluate("document.querySelector('.sheet').style.height")
            await opened.evaluate("[...document.querySelectorAll('.kind')].at(-1).click()")
            own = await opened.texts("#names button"), set(await opened.texts(".row .who"))
            shorter = await opened.evaluate("document.querySelector('.sheet').style.height")
            await opened.click('#names [data-lane="backup"]')
            return own, await opened.texts("#names button"), set(await opened.texts(".row .who")), whole, shorter

        own, lanes, actors, whole, shorter = in_browser(busy[0], act)
        assert own == (["test", "backup"], {"test", "backup"})
        assert lanes == ["test", "backup"]  # a lane that the user has hidden can be shown again
        assert actors == {"test"}
        assert float(shorter[:-2]) < float(whole[:-2])

    @pytest.mark.parametrize("width", [1400, 400])
    def test_it_opens_where_the_test_begins(self, busy, width):
        async def act(opened):
            await sized(opened, width)
            await opened.open(busy[0])
            await frames(opened)
            script = """(() => { const rows = document.getElementById("rows").getBoundingClientRect();
              return [...document.querySelectorAll(".row")].filter(row => { const box = row.getBoundingClientRect();
                return box.top >= rows.top && box.bottom <= rows.bottom; }).map(row => row.querySelector(".who").innerText); })()"""
            return await opened.evaluate(script)

        assert "test" in in_browser(busy[0], act)

    @pytest.mark.parametrize("width", [1400, 400])
    def test_what_is_selected_is_in_sight(self, busy, width):
        """By its address, by a key, in all modes, alone with its chain, zoomed, and with all lanes."""
        address, serial = busy

        async def act(opened):
            await sized(opened, width)
            found = [await opened.evaluate(IN_SIGHT)]
            for click in (
                "#only", "#only", "#time", "#order", "#in", "#in", "#in", "#only", "#in", "#only", "#fit", ".fold",
            ):  # fmt: skip
                await opened.evaluate(f"document.querySelector('{click}').click()")
                await frames(opened)
                found.append(await opened.evaluate(IN_SIGHT))
            for key in ("ArrowRight", "ArrowRight", "ArrowLeft", *["ArrowDown"] * 30):
                await opened.command("Input.dispatchKeyEvent", type="keyDown", key=key)
                await frames(opened)
                found.append(await opened.evaluate(IN_SIGHT))
            return found

        assert in_browser(f"{address}#e={serial}", act) == [[True, True]] * 46

    def test_a_chain_alone_fills_the_lanes(self, busy):
        """The zoom of all entries remained, so that the chain was off screen."""
        address, serial = busy

        async def act(opened):
            wide = "[document.querySelector('#chart svg').clientWidth, document.getElementById('lanes').clientWidth - document.getElementById('names').offsetWidth]"
            for _ in range(4):
                await opened.click("#in")
            before = await opened.evaluate(wide)
            await opened.click("#only")
            return before, await opened.evaluate(wide)

        (before, room), (after, room_after) = in_browser(f"{address}#e={serial}", act)
        assert before > 5 * room
        assert after == room_after

    def test_only_a_selected_entry_has_a_chain(self, busy):
        address, serial = busy

        async def act(opened):
            disabled = [await opened.evaluate("document.getElementById('only').disabled")]
            await opened.command("Input.dispatchKeyEvent", type="keyDown", key="Escape")
            return [*disabled, await opened.evaluate("document.getElementById('only').disabled")]

        assert in_browser(f"{address}#e={serial}", act) == [False, True]

    def test_the_error_of_the_test_is_shown(self, busy):
        """The title said "failed", and the panel "Nothing failed"."""
        address, serial = busy

        async def act(opened):
            line = await opened.text("#failure")
            selected = await opened.text("#error")
            await opened.click("#failure")
            return line, selected, await opened.text("#error")

        line, selected, error = in_browser(f"{address}#e={serial}", act)
        assert line == "test_backup.py:12: AssertionError: a is counted"
        assert selected is None
        assert error == "test_backup.py:12: AssertionError: a is counted\nassert 2 == 3"

    def test_what_is_cut_only_beside_a_cause_that_needs_the_place(self, busy):
        async def act(opened):
            await sized(opened, 1400)
            cut = []
            for top in range(0, 6000, 600):
                await opened.evaluate(f"document.getElementById('rows').scrollTop = {top}")
                await frames(opened)
                cut += await opened.evaluate(CUT)
            return cut

        cut = in_browser(busy[0], act)
        assert [text for text, cause in cut if cause <= 14 and len(text) < 60 and " " in text] == []

    @pytest.mark.parametrize("width", [1400, 400])
    def test_nothing_is_wider_than_the_window(self, busy, width):
        async def act(opened):
            await sized(opened, width)
            return await opened.evaluate(
                """["html", "#rows", "#details", "header"].filter(name => { const one = document.querySelector(name);
                  return one.scrollWidth > one.clientWidth; })"""
            )

        assert in_browser(f"{busy[0]}#e={busy[1]}", act) == []

    def test_a_row_keeps_the_focus_of_the_keyboard(self, busy):
        address, serial = busy

        async def act(opened):
            await opened.click(f'.row[data-serial="{serial}"]')
            await opened.command("Input.dispatchKeyEvent", type="keyDown", key="ArrowDown")
            await frames(opened)
            return await opened.evaluate("document.activeElement.classList.contains('selected')")

        assert in_browser(address, act) is True


@pytest.mark.slow
def test_system_entries_are_those_of_the_clusters_own_controllers():
    with FakeKube(seed=1, controllers=["*"], nodes=1, detect={"all": "off"}) as kube:
        kube.apply(config_map("a", count="0"))
        kube.start(backup, name="db")
        kube.advance(minutes=5)
        entries = json.loads(kube.timeline.to_json())["entries"]
    own = {one["actor"] for one in entries if not one["system"]}
    system = {one["actor"] for one in entries if one["system"]}
    assert own == {"test", "backup"}
    assert {"cluster", "kubelet-node", "serviceaccount-controller"} <= system


#: An entry of a page's document.
ENTRY = {
    "at": 0, "took": 0, "actor": "test", "kind": "note", "rv": "", "cause": "", "object": "", "because": [],
    "failed": False, "system": False, "facts": [], "changes": [],
}  # fmt: skip


class TestManyEntries:
    pytestmark = in_a_browser

    def test_many_entries_are_drawn_in_part(self, tmp_path):
        """20,000 entries: only those in sight are in the document, and the lanes have at most one dot for a pixel."""
        entries = [
            {
                **ENTRY,
                "serial": n,
                "at": n * 1000,
                "actor": "test",
                "what": f"note {n}",
                "because": [n - 1] if n > 1 else [],
            }
            for n in range(1, 20_001)
        ]
        path = tmp_path / "many.html"
        path.write_text(page_of(json.dumps({"title": "many", "failure": "", "dropped": 0, "entries": entries})))

        async def act(opened):
            counts = "[document.querySelectorAll('.row').length, document.querySelectorAll('.dot').length]"
            await opened.evaluate("document.getElementById('rows').scrollTop = 1e9")
            await frames(opened)
            found, last = [await opened.evaluate(counts)], (await opened.texts(".row .what"))[-1]
            await opened.click("#fit")
            await frames(opened)
            return [*found, await opened.evaluate(counts)], last

        counts, last = in_browser(path.as_uri(), act)
        assert last == "note 20000"
        assert all(rows < 150 and 0 < dots < 4_000 for rows, dots in counts), counts

    def test_failures_of_the_test_and_of_operators_are_listed_first(self, tmp_path):
        failed = {**ENTRY, "failed": True}
        entries = [
            {**failed, "serial": 1, "actor": "kubelet", "what": "a", "system": True},
            {**failed, "serial": 2, "actor": "backup", "what": "b"},
            {**failed, "serial": 3, "actor": "test", "what": "c"},
        ]
        path = tmp_path / "failed.html"
        path.write_text(page_of(json.dumps({"title": "many", "failure": "", "dropped": 0, "entries": entries})))
        found = in_browser(path.as_uri(), lambda opened: opened.texts("#details .step b"))
        assert found == ["backup", "test", "kubelet"]
