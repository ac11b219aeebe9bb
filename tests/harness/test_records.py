"""Records are bounded: what is dropped first, what is still exact, and how a result says that it is incomplete."""

import gc
import sys

import pytest

from fakekube import FakeKube
from fakekube.apiserver.requestlog import RequestLog, RequestRecord
from fakekube.apiserver.storage.store import Change, Entry
from fakekube.harness.engine import engine_of
from fakekube.harness.records import finished
from fakekube.harness.records.fielddiff import changed_fields
from fakekube.harness.records.kept import Bounded, Records
from fakekube.harness.records.objectversions import (
    RECENT,
    RECENT_BYTES,
    RENEWALS,
    TOGETHER,
    Versions,
    is_renewal,
)
from fakekube.harness.records.page import page
from tests.harness.operators import build, config_map, every, nothing


def record(serial, verb="get", resource="pods", code=200, name="a"):
    where = (resource, "", "default", name, "")
    return RequestRecord(0.0, verb, *where, "admin", "agent", code, "", "/path", serial, serial=serial)


def matches(value, wanted):
    return value == wanted


# --- the request log ----------------------------------------------------------------------------------------------


def test_row10_the_request_log_is_bounded_and_counts_what_it_dropped():
    log = RequestLog(limit=80)
    for i in range(1_000):
        log.append(record(i, verb="create" if i < 3 else "get"))
    assert 80 <= len(log) <= 90
    assert [one.serial for one in log] == list(range(1_000 - len(log), 1_000))
    assert log.dropped({}, matches) + len(log) == 1_000
    assert log.dropped({"verb": "create"}, matches) == 3
    assert log.dropped({"verb": "delete"}, matches) == 0


def test_row10_renewals_of_leases_are_dropped_first():
    log = RequestLog(limit=1_000, leases=40)
    for i in range(500):
        log.append(record(i, "update", "leases"))
        if i % 10 == 0:
            log.append(record(i, "create"))
    kept = list(log)
    assert [one.serial for one in kept if one.verb == "create"] == list(range(0, 500, 10))
    assert 40 <= len([one for one in kept if one.resource == "leases"]) <= 45
    assert log.dropped({"resource": "pods"}, matches) == 0


def test_row10_a_result_says_how_many_records_may_be_missing(monkeypatch):
    with FakeKube(wall_clock=False) as kube:
        engine_of(kube).server.log = RequestLog(limit=16)
        client = kube.access.transport(user="alice")
        client.request_now("POST", "/api/v1/namespaces/default/configmaps", body=config_map("a"))
        for _ in range(40):
            client.request_now("GET", "/api/v1/namespaces/default/configmaps/a")
        found = kube.requests(verb="create", user="alice", user_agent="*")
        assert (list(found), found.dropped) == ([], 1)
        assert repr(found) == "<1 older records are no longer kept, then []>"
        assert kube.requests(verb="delete", user_agent="*").dropped == 0


def test_records_are_equal_to_lists():
    records = Records([1, 2, 3])
    assert records == [1, 2, 3]
    assert records == Records([1, 2, 3])
    assert records != [1, 2]
    assert (records[0], records[-1], records[1:], len(records)) == (1, 3, [2, 3], 3)
    assert repr(records) == "[1, 2, 3]"


def test_a_bounded_list_keeps_the_newest():
    bounded = Bounded(8)
    for i in range(100):
        bounded.append(i)
    assert bounded.items == list(range(100 - len(bounded.items), 100))
    assert 8 <= len(bounded.items) <= 9
    assert bounded.dropped + len(bounded.items) == 100


# --- reconciles ---------------------------------------------------------------------------------------------------


def test_row10_reconciles_are_bounded_and_their_number_stays_exact(monkeypatch):
    monkeypatch.setattr(finished, "LIMIT", 16)
    with FakeKube(wall_clock=False) as kube:
        kube.apply(config_map("a"))
        controller = kube.start(build(every(60)))["minder"]
        kube.advance(hours=1)
        history = controller.history()
        assert (controller.reconciles(), controller.reconciles("default/a"), len(kube.ledger)) == (61, 61, 61)
        assert history.dropped + len(history) == 61
        assert 16 <= len(history) <= 18
        assert history[-1].number == 61
        with pytest.raises(LookupError, match=r"has no reconcile 1 of default/a.*no longer kept"):
            controller.why("default/a", 1)
        for number in (0, 62):
            with pytest.raises(
                LookupError, match=rf"has no reconcile {number} of default/a: it reconciled it 61 times\Z"
            ):
                controller.why("default/a", number)
        assert controller.why("default/a", 61)[0].serial == history[-1].serial
        assert str(kube.timeline).startswith(f"({history.dropped} earlier entries left out)")


def test_row10_keys_are_known_after_their_records_are_dropped(monkeypatch):
    monkeypatch.setattr(finished, "LIMIT", 8)
    with FakeKube(wall_clock=False) as kube:
        kube.apply(*(config_map(f"m{i:02}") for i in range(30)))
        controller = kube.start(build(nothing))["minder"]
        assert controller.keys() == [f"default/m{i:02}" for i in range(30)]
        assert controller.history("default/m00").dropped == 1


# --- versions of objects ------------------------------------------------------------------------------------------


def change(revision, path="default/a", collection="configmaps", before=True, size=10, **spec):
    objects = [{"metadata": {"name": "a"}, "spec": spec, "data": {"x": f"{revision:0{size}}"}} for _ in range(2)]
    return Change(
        revision, collection, path, Entry(revision - 1, objects[0]) if before else None, Entry(revision, objects[1])
    )


def test_versions_are_read_in_order_compressed_or_not():
    versions = Versions()
    for i in range(1, 1_001):
        versions.extend([(i, i, i, change(i, f"default/{i % 3}", before=i > 3), False)])
    found = list(versions.read("configmaps"))
    assert [one.revision for one in found] == list(range(1, 1_001))
    assert [one.created for one in found[:4]] == [True, True, True, False]
    assert found[500].entry().object["data"] == {"x": f"{501:010}"}
    assert versions.dropped("configmaps", "default/1") == 0
    assert list(versions.read("secrets")) == []


def test_row10_versions_are_bounded_by_bytes():
    versions = Versions(limit=20_000)
    for i in range(1, 5_001):
        versions.extend([(i, i, i, change(i), False)])
    found = list(versions.read())
    assert found[-1].revision == 5_000
    assert found[0].revision > 1
    assert versions.dropped("configmaps", "default/a") + len(found) == 5_000
    assert versions.dropped("secrets", "default/a") == 0


@pytest.mark.slow
def test_row10_large_objects_are_compressed_early():
    """400 writes of 200 kB: no more than RECENT_BYTES of them are kept as they are."""
    versions = Versions()
    for i in range(1, 401):
        one = change(i, size=200_000)
        assert len(one.after.json) > 200_000  # the answer of the request encodes it
        versions.extend([(i, i, i, one, False)])
    recent = sum(len(change.after.json) for _, _, _, change, _ in versions._recent)
    assert recent < RECENT_BYTES + 200_100
    assert len(list(versions.read())) == 400


def test_row10_renewed_leases_do_not_displace_other_versions():
    versions = Versions()
    versions.extend([(1, 1, 1, change(1), False)])
    for i in range(2, 5_000):
        versions.extend([(i, i, i, change(i, collection="leases.coordination.k8s.io"), True)])
    found = list(versions.read())
    assert found[0].collection == "configmaps"
    assert [one.serial for one in found] == sorted(one.serial for one in found)
    assert len(found) <= RENEWALS + RECENT + TOGETHER + 1
    assert versions.dropped("leases.coordination.k8s.io", "default/a") + len(found) - 1 == 4_998
    assert versions.dropped("configmaps", "default/a") == 0


def test_a_lease_with_another_holder_is_not_a_renewal():
    same = change(2, collection="leases.coordination.k8s.io", holderIdentity="a")
    assert is_renewal(same)
    assert not is_renewal(change(2, holderIdentity="a"))
    other = Change(2, same.collection, "default/a", Entry(1, {"spec": {"holderIdentity": "b"}}), same.after)
    assert not is_renewal(other)
    assert not is_renewal(Change(2, same.collection, "default/a", None, same.after))


def test_versions_of_an_object_survive_many_writes(fakekube):
    fakekube.apply(config_map("a"))
    for i in range(400):
        fakekube.patch("v1", "ConfigMap", "a", {"data": {"n": str(i)}})
    found = fakekube.state.versions("v1", "ConfigMap", "a")
    assert [obj["data"]["n"] for _, obj in found[1:]] == [str(i) for i in range(400)]
    assert found.dropped == 0
    assert found[0][1]["kind"] == "ConfigMap"


@pytest.mark.slow
def test_row10_a_soak_does_not_grow():
    """A node's leases over days: the records of the third day take no more memory than those of the second."""
    with FakeKube(nodes=1, history_window=500, wall_clock=False) as kube:
        blocks = []
        for _ in range(3):
            kube.advance(days=1)
            gc.collect()
            blocks.append(sys.getallocatedblocks())
    assert blocks[2] - blocks[1] < 0.05 * blocks[1], blocks


# --- fields and pages ---------------------------------------------------------------------------------------------


def test_changed_fields_are_the_smallest_that_differ():
    before = {"metadata": {"resourceVersion": "1", "labels": {"a": "b"}}, "spec": {"n": 1, "list": [1, 2], "gone": {}}}
    after = {"metadata": {"resourceVersion": "2", "labels": {"a": "b"}}, "spec": {"n": 2, "list": [1, 3, 4]}}
    assert [tuple(one) for one in changed_fields(before, after)] == [
        ("spec.gone", {}, None, False, True),
        ("spec.list[1]", 2, 3, False, False),
        ("spec.list[2]", None, 4, True, False),
        ("spec.n", 1, 2, False, False),
    ]


def test_only_the_page_of_a_comparison_has_its_script():
    assert page("{}") == page("{}", compares=False)
    assert len(page("{}", compares=True)) > len(page("{}"))


def test_a_document_cannot_end_the_script_of_its_page():
    hostile = '{"a":"</script><!--<script>alert(1)&\u2028"}'
    made = page(hostile)
    assert hostile not in made
    assert made.count("</script>") == 2
    assert '{"a":"\\u003c/script\\u003e\\u003c!--' in made
