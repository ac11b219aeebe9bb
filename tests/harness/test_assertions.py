"""Assertions on reconciles, requests and written fields, and predicates that are checked at each change."""

import re
from functools import partial

import pytest

from fakekube import FakeKube
from tests.harness.operators import build, config_map, every, failing, nothing, stamping
from tests.innerruns import LEAN


def failure(call):
    with pytest.raises(AssertionError) as caught:
        call()
    return str(caught.value)


def value_is(obj, key, value):
    return obj is not None and (obj.get("data") or {}).get(key) == value


# --- reconciles ---


def test_how_often_and_why_a_key_was_reconciled(fakekube):
    fakekube.apply(config_map("a"))
    controller = fakekube.start(build(every(60)))["minder"]
    fakekube.advance(120)
    controller.assert_reconciled("default/a")
    controller.assert_reconciled("default/a", times=3, causes=["added", "requeue_after", "requeue*"])
    fakekube.assert_reconciled("default/a", times=3, results=["requeue_after"] * 3)
    fakekube.assert_reconciled("default/a", times=1, within=60)
    fakekube.assert_reconciled("default/b", times=0)


def test_the_failure_of_a_count_shows_all_reconciles(fakekube):
    fakekube.apply(config_map("a"))
    controller = fakekube.start(build(stamping(seen="yes")))["minder"]
    said = failure(lambda: controller.assert_reconciled("default/a", times=1))
    assert said.splitlines() == [
        "default/a was reconciled 2 times: once expected",
        "  #1 +00:00:00 [added] success; update /api/v1/namespaces/default/configmaps/a -> 200 "
        "(because: added ConfigMap default/a@53)",
        "  #2 +00:00:00 [updated] success; update /api/v1/namespaces/default/configmaps/a -> 200 "
        "(because: updated ConfigMap default/a@54)",
    ]


def test_the_failure_of_causes_aligns_those_expected_with_what_happened(fakekube):
    fakekube.apply(config_map("a"))
    controller = fakekube.start(build(every(60)))["minder"]
    fakekube.patch("v1", "ConfigMap", "a", {"data": {"x": "1"}})
    fakekube.advance(60)
    said = failure(lambda: controller.assert_reconciled("default/a", causes=["added", "requeue_after", "resync"]))
    assert [line[:2] + re.sub(r".*(\[.*?\]).*", r"\1", line) for line in said.splitlines()[1:]] == [
        "  [added]",
        "+ [updated]",
        "  [requeue_after]",
        "- [resync]",
    ]


def test_a_key_that_was_never_reconciled(fakekube):
    controller = fakekube.start(build(nothing))["minder"]
    assert failure(lambda: controller.assert_reconciled("default/a")).startswith("default/a was reconciled never")


def test_what_hints_at_why_a_key_was_not_reconciled(fakekube):
    fakekube.apply(config_map("a"))
    asserted = partial(fakekube.assert_reconciled, "default/a")
    assert "at least once expected, but no operator was started: call start(build) first" in failure(asserted)
    controller = fakekube.start(build(nothing))["minder"]
    fakekube.apply(config_map("b"))
    for never in (fakekube.assert_reconciled, controller.assert_reconciled):
        said = failure(partial(never, "default/b", times=1))
        assert said.startswith("default/b was reconciled never: once expected, but the cluster is not settled: call ")
        assert "settle" not in failure(partial(never, "default/a", times=2))
    fakekube.settle()
    controller.assert_reconciled("default/b")
    for never in (fakekube.assert_reconciled, controller.assert_reconciled):
        assert failure(partial(never, "default/c")).strip() == "default/c was reconciled never: at least once expected"


async def test_an_async_test_that_has_not_settled(fakekube):
    await fakekube.start(build(nothing))
    fakekube.apply(config_map("a"))
    assert "settle() first (`await` it" in failure(lambda: fakekube.assert_reconciled("default/a"))


def test_two_controllers_of_one_key_must_be_distinguished(fakekube):
    fakekube.apply(config_map("a"))
    fakekube.start(build(nothing, "one"))
    fakekube.start(build(nothing, "two"))
    with pytest.raises(LookupError, match="by one, two: pass controller="):
        fakekube.assert_reconciled("default/a", times=2)
    fakekube.assert_reconciled("default/a", controller="two", times=1)


def test_results_with_errors(fakekube):
    fakekube.apply(config_map("a"))
    controller = fakekube.start(build(failing(1)))["minder"]
    fakekube.advance(1)
    said = failure(lambda: controller.assert_reconciled("default/a", results=["success"]))
    assert "RuntimeError: it failed" in said
    controller.assert_reconciled("default/a", results=["error", "success"])


# --- requests ---


def test_requests_by_their_fields_and_number(fakekube):
    fakekube.apply(config_map("a"))
    fakekube.start(build(stamping(seen="yes")))
    fakekube.assert_requests(verb="update", name="a")
    fakekube.assert_requests(2, verb="update", resource="config*")
    fakekube.assert_requests(0, verb="delete")
    with pytest.raises(TypeError, match="colour"):
        fakekube.assert_requests(colour="red")


def test_the_failure_shows_the_most_similar_requests(fakekube):
    fakekube.apply(config_map("a"))
    fakekube.start(build(stamping(seen="yes")))
    said = failure(lambda: fakekube.assert_requests(verb="patch", resource="configmaps", name="a"))
    assert "at least one request(s) expected with verb='patch', resource='configmaps', name='a'" in said
    assert said.splitlines()[-1].endswith("controllerlib/minder  update configmaps default/a -> 200")


# --- written fields ---


def test_written_fields(fakekube):
    fakekube.apply(config_map("a"))
    fakekube.start(build(stamping(seen="yes")))
    fakekube.patch("v1", "ConfigMap", "a", {"data": {"seen": "no"}})
    fakekube.assert_written("v1", "ConfigMap", "a", {"data.seen": "yes"}, by="controllerlib*")
    fakekube.assert_written("v1", "ConfigMap", "a", {"data.seen": str.islower, "metadata.name": "a"})
    said = failure(lambda: fakekube.assert_written("v1", "ConfigMap", "a", {"data.seen": "no"}, by="controllerlib*"))
    assert said.splitlines() == [
        "no version of ConfigMap default/a was written by controllerlib* with data.seen='no'; its versions:",
        "  +00:00:00 rv 53 by test: data.seen=None (not as wanted)",
        "  +00:00:00 rv 54 by controllerlib/minder: data.seen='yes' (not as wanted)",
        "  +00:00:00 rv 55 by test: data.seen='no'",
    ]


def test_an_object_that_never_existed(fakekube):
    assert "it was never stored" in failure(lambda: fakekube.assert_written("v1", "ConfigMap", "a", {"data.x": 1}))


# --- always, never, eventually ---


def test_always_is_checked_at_each_change(fakekube):
    fakekube.apply(config_map("a", n="1"))
    fakekube.always(lambda cluster: not value_is(cluster.get("v1", "ConfigMap", "a"), "n", "3"), "n is never 3")
    for number in "2345":
        fakekube.patch("v1", "ConfigMap", "a", {"data": {"n": number}})
    said = failure(fakekube.settle)  # although n is 5 by now
    assert said.splitlines()[:2] == [
        "always: n is never 3",
        "not so at +00:00:00, revision 55: configmaps default/a was updated by test (patch configmaps default/a -> 200)",
    ]
    assert any(line.startswith("> +00:00:00") and "55" in line for line in said.splitlines())
    fakekube.settle()  # once is enough


def test_never_names_the_operator_that_wrote(fakekube):
    fakekube.apply(config_map("a"))
    fakekube.never(lambda cluster: value_is(cluster.get("v1", "ConfigMap", "a"), "seen", "yes"), "a is seen")
    said = failure(lambda: fakekube.start(build(stamping(seen="yes"))))
    assert "never: a is seen" in said
    assert "by minder (update configmaps default/a -> 200)" in said


def test_an_invariant_that_does_not_hold_already(fakekube):
    with pytest.raises(AssertionError, match="it does not hold already"):
        fakekube.always(lambda cluster: cluster.exists("v1", "ConfigMap", "a"), "a exists")


def test_an_invariant_ends_with_its_block(fakekube):
    with fakekube.never(lambda cluster: cluster.exists("v1", "ConfigMap", "a"), "a exists"):
        fakekube.settle()
    fakekube.apply(config_map("a"))
    fakekube.settle()


def test_a_predicate_that_raises(fakekube):
    fakekube.apply(config_map("a", n="1"))
    fakekube.always(lambda cluster: cluster.get("v1", "ConfigMap", "a")["data"]["n"], "n is set")
    fakekube.delete("v1", "ConfigMap", "a")
    assert "the predicate raised TypeError" in failure(fakekube.settle)


@pytest.mark.slow
def test_a_violation_is_raised_at_the_end_of_the_test(pytester):
    pytester.makepyfile(
        """
        def test_it(fakekube):
            fakekube.never(lambda cluster: cluster.exists("v1", "ConfigMap", "a"), "a exists")
            fakekube.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})
        """
    )
    result = pytester.runpytest_inprocess("-pno:cacheprovider", *LEAN)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*never: a exists*"])


def test_reading_in_a_predicate_is_no_request(fakekube):
    fakekube.apply(config_map("a", n="1"))
    fakekube.always(lambda cluster: len(cluster.list("v1", "ConfigMap", None)) < 5, "few")
    before = len(fakekube.requests(user_agent="*"))
    fakekube.patch("v1", "ConfigMap", "a", {"data": {"n": "2"}})
    fakekube.settle()
    assert len(fakekube.requests(user_agent="*")) == before + 1


def test_eventually(fakekube):
    fakekube.apply(config_map("a", n="1"))
    controller = fakekube.start(build(every(60)))["minder"]
    fakekube.eventually(lambda cluster: controller.reconciles() == 3, within="5m")
    assert fakekube.clock.monotonic() == 120
    said = failure(
        lambda: fakekube.eventually(lambda cluster: cluster.exists("v1", "Secret", "s"), "s exists", within="2m")
    )
    assert said == "eventually: s exists\nnot so within 2m of virtual time"  # the report has the timeline


def test_eventually_without_the_plugin_shows_the_timeline():
    with FakeKube() as kube:
        kube.apply(config_map("a", n="1"))
        kube.start(build(every(60)))
        said = failure(lambda: kube.eventually(lambda cluster: False, "never", within="2m"))
    assert "reconcile default/a #3" in said


async def test_eventually_in_an_async_test(fakekube):
    fakekube.apply(config_map("a"))
    controller = (await fakekube.start(build(every(60))))["minder"]
    await fakekube.eventually(lambda cluster: controller.reconciles() == 2, within=60)
    with pytest.raises(AssertionError, match="not so within 5 of virtual time"):
        await fakekube.eventually(lambda cluster: cluster.exists("v1", "Secret", "s"), within=5)


@pytest.mark.parametrize("name", ["always", "never"])
def test_an_invariant_needs_a_function_and_a_text(fakekube, name):
    with pytest.raises(TypeError, match="pass a function of the cluster"):
        getattr(fakekube, name)(True, "text")
    with pytest.raises(TypeError, match="text=''"):
        getattr(fakekube, name)(lambda cluster: True, "")
