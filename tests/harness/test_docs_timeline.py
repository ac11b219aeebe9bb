"""The examples of docs/howto/timeline.md."""

import inspect
import re
from pathlib import Path

from controllerlib import Result
from fakekube import FakeKube, compare_timelines
from fakekube.apiserver.requestlog import RequestLog
from fakekube.harness import audit, ledger, timeline
from fakekube.harness.records import finished, objectversions
from tests.harness.operators import config_map

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "timeline.md"


def backup(manager):
    """Counts to 2 in each ConfigMap."""

    async def reconcile(request, client):
        found = await client.get("v1", "ConfigMap", request.name, namespace=request.namespace)
        if int(found["data"]["count"]) < 2:
            await client.update({**found, "data": {"count": str(int(found["data"]["count"]) + 1)}})
        return Result(requeue_after=3600)

    manager.controller("backup").for_("v1", "ConfigMap").complete(reconcile)


def test_a_backup_is_counted(fakekube):
    fakekube.apply(config_map("a", count="0"))
    operator = fakekube.start(backup, name="db")
    fakekube.advance(hours=1)

    print(fakekube.timeline)
    assert operator["backup"].reconciles("default/a") == 4


def test_the_rows_of_an_object(fakekube):
    fakekube.apply(config_map("a", count="0"), config_map("b", count="0"))
    fakekube.start(backup, name="db")

    rows = fakekube.timeline.of("v1", "ConfigMap", "a")
    assert rows[0].what == "create configmaps default/a -> 201"
    assert {row.actor for row in rows} == {"test", "backup"}

    failed = fakekube.timeline.select(lambda row: "failed" in row.what)
    assert len(failed) == 0


def test_why_it_was_reconciled_the_third_time(fakekube):
    fakekube.apply(config_map("a", count="0"))
    operator = fakekube.start(backup, name="db")

    story = operator["backup"].why("default/a", 3)
    print(story)
    assert story[-1].what == "create configmaps default/a -> 201"


def test_a_timeline_is_saved(fakekube, tmp_path):
    fakekube.apply(config_map("a", count="0"))
    fakekube.timeline.save(tmp_path / "timeline.html")
    fakekube.timeline.save(tmp_path / "timeline.json")


def test_the_answer_is_complete(fakekube):
    fakekube.apply(config_map("a", count="0"))
    fakekube.start(backup, name="db")
    assert fakekube.requests(verb="delete").dropped == 0


def test_an_upgrade_writes_nothing_else(tmp_path):
    with FakeKube(seed=1) as kube:
        kube.apply(config_map("a", count="0"))
        kube.start(backup, name="db")
        kube.settle()
        kube.timeline.save(tmp_path / "before.json")
    with FakeKube(seed=1) as kube:
        kube.apply(config_map("a", count="1"))
        kube.start(backup, name="db")
        kube.settle()
        found = compare_timelines(tmp_path / "before.json", kube.timeline, names=("before", "after"))
    print(found)
    found.html(tmp_path / "comparison.html")
    assert found.first_difference == ("+00:00:00 backup: update configmaps default/a -> 200", "")


def test_the_page_shows_these_examples_and_their_output(fakekube):
    page, source = PAGE.read_text(), Path(__file__).read_text()
    examples = re.findall(r"^```python\n(.*?)^```", page, re.M | re.S)
    assert len(examples) == 6
    assert [example in source for example in examples] == [True] * 6
    table, story = re.findall(r"^```\n(time .*?|\+.*?)^```", page, re.M | re.S)
    fakekube.apply(config_map("a", count="0"))
    operator = fakekube.start(backup, name="db")
    assert str(operator["backup"].why("default/a", 3)) == story.strip()
    fakekube.advance(hours=1)
    assert str(fakekube.timeline).startswith(table.removesuffix("...\n"))


def test_the_page_tells_how_much_is_kept():
    rows = dict(re.findall(r"^\| ([^|]+) \| ([^|]+) \| the oldest \|$", PAGE.read_text(), re.M))
    numbers = {
        name: [int(one.replace(",", "")) for one in re.findall(r"\d[\d,]*", kept)] for name, kept in rows.items()
    }
    requests = inspect.signature(RequestLog).parameters
    assert numbers == {
        "requests": [requests["limit"].default, requests["leases"].default],
        "reconciles": [finished.LIMIT, finished.HEARTBEATS],
        "stored changes": [objectversions.LIMIT // 2**20, objectversions.RENEWALS],
        "rows of the timeline": [timeline.LIMIT],
        "events of informers": [ledger.INFORMER_LIMIT],
        "writes, and writes that changed nothing, for `assert_no_writes_at_rest()` and `noop_writes()`": [
            audit.NOOPS_LIMIT
        ],
    }
