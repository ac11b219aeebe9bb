"""The record of a run: who has changed what in which reconcile, what informers had seen, and what exceptions are."""

from contextvars import copy_context
from types import SimpleNamespace

import pytest

from controllerlib import ApiError
from controllerlib.observer import set_current
from fakekube.apiserver.resource import Resource
from fakekube.apiserver.storage.store import Store
from fakekube.simulation.anchor import Anchor
from fakekube.simulation.observation import Delivery, Observation, Violation
from fakekube.simulation.running.recorder import (
    Actor,
    Kinds,
    Recorder,
    code_of,
    is_of_user,
    is_unexpected,
    kind_name,
    place_of,
    text_of,
)
from tests.simulation.observations import commit, obj


def resource(kind, group="", *, short=(), version="v1", stored=None):
    plural = f"{kind.lower()}s"
    return Resource(
        group, version, plural, kind.lower(), kind, f"{kind}List", True, frozenset(), f"{plural}.{group}".rstrip("."),
        short_names=short, stored_version=stored,
    )  # fmt: skip


RESOURCES = [
    resource("Job", "example.com", stored="v1"),
    resource("ConfigMap", short=("cm", "config")),
    resource("Pod", short=("po",)),
    resource("Secret"),
    resource("Job", "batch"),
    resource("Widget", "example.com", short=("wid",), version="v1", stored="v2"),
    resource("Widget", "example.com", short=("wid",), version="v2", stored="v2"),
]


@pytest.mark.parametrize(
    ("kind", "short", "name"),
    [
        ("ConfigMap", ("cm", "x"), "cm"),
        ("Pod", ("po",), "pod"),
        ("Secret", ("s",), "secret"),  # no longer than six letters
        ("Service", ("svc",), "svc"),
        ("Endpoint", (), "endpoint"),
    ],
)
def test_long_kinds_have_their_short_name(kind, short, name):
    assert kind_name(resource(kind, short=short)) == name


def test_of_kinds_with_one_name_the_built_in_one_has_no_group():
    kinds = Kinds(RESOURCES)
    names = [kinds.name(one.collection) for one in RESOURCES[:5]]
    assert names == ["job.example.com", "cm", "pod", "secret", "job"]
    assert kinds.name("unknowns.example.com") == "unknowns"
    assert kinds.resource("job") is RESOURCES[4]
    assert kinds.resource("job.example.com") is RESOURCES[0]
    assert kinds.resource("other") is None
    assert kinds.resource("widget").version == "v2", "the version in which it is stored"


def test_each_name_of_a_kind_leads_to_its_short_one():
    both = {"cm", "configmap", "configmaps", "config"}
    found = Kinds(RESOURCES[:5]).by_alias()
    assert found == {
        **{name: "cm" for one in both for name in (one, f"{one}.")},
        **{name: "pod" for one in ("pod", "pods", "po") for name in (one, f"{one}.")},
        **{name: "secret" for one in ("secret", "secrets") for name in (one, f"{one}.")},
        **{name: "job" for one in ("job", "jobs") for name in (one, f"{one}.batch")},
        **dict.fromkeys(["job.example.com", "jobs.example.com"], "job.example.com"),
    }


def test_kinds_that_are_defined_later_have_names_too():
    found = [RESOURCES[4]]
    kinds = Kinds(found)
    assert kinds.name("jobs.batch") == "job"
    found.append(RESOURCES[0])
    assert (kinds.name("jobs.example.com"), kinds.name("jobs.batch")) == ("job.example.com", "job")


DB = Actor("operator db", 2)


def within(controller, key, call, *arguments):
    """Calls a function inside of a reconcile."""

    def inside():
        set_current(SimpleNamespace(controller=controller, request=key))
        return call(*arguments)

    return copy_context().run(inside)


@pytest.fixture
def recorder():
    return Recorder(Kinds(RESOURCES))


@pytest.fixture
def store():
    return Store()


def named(name, **more):
    return {"metadata": {"name": name}, **more}


def test_a_change_is_recorded_with_its_anchor_and_its_author(recorder, store):
    made = store.create("configmaps", "prod/a", named("a", data={"x": "1"}))
    changed = store.update("configmaps", "prod/a", made.after, named("a", data={"x": "2"}))
    gone = store.delete("configmaps", "prod/a", changed.after)
    first = recorder.committed(made, Actor(), 1.5)
    second = within("db", "prod/a", recorder.committed, changed, DB, 2.5)
    third = within("db", "prod/a", recorder.committed, gone, Actor("client x"), 3.5)
    assert [str(one.anchor) for one in recorder.commits] == [
        "create cm/prod/a#1", "update cm/prod/a{data.x}#1", "delete cm/prod/a#1"
    ]  # fmt: skip
    assert recorder.commits == [first, second, third]
    assert [(one.actor, one.incarnation, one.controller, one.key, one.at) for one in recorder.commits] == [
        ("test", 0, "", "", 1.5), ("operator db", 2, "db", "prod/a", 2.5), ("client x", 0, "", "", 3.5)
    ]  # fmt: skip
    assert {(one.kind, one.namespace, one.name, one.rest) for one in recorder.commits} == {("cm", "prod", "a", False)}
    assert [(one.before, one.after) for one in recorder.commits] == [
        (None, made.after.object), (made.after.object, changed.after.object), (changed.after.object, None)
    ]  # fmt: skip
    assert [one.revision for one in recorder.commits] == [made.revision, changed.revision, gone.revision]


def test_competing_writes_and_those_at_rest_are_recorded_as_such(recorder, store):
    recorder.racing = True
    raced = recorder.committed(store.create("pods", "default/a", named("a")), DB, 0.0)
    recorder.racing, recorder.resting = False, True
    late = recorder.committed(store.create("pods", "default/b", named("b")), DB, 0.0)
    assert [(one.actor, one.rest) for one in (raced, late)] == [("race", False), ("operator db", True)]
    recorder.read("get", "pods", "default", "a", DB)
    assert recorder.reads == [], "no fault is injected then"
    recorder.resting = False
    assert str(recorder.read("get", "pods", "default", "a", DB)) == "get pod/a#2"
    assert [str(one) for one in recorder.reads] == ["get pod/a#2"]


def test_a_change_of_an_external_api_has_the_last_revision(recorder, store):
    made = recorder.committed(store.create("pods", "default/a", named("a")), Actor(), 0.0)
    outside = within("db", "k", recorder.changed_outside, "create", "external/b/x/y", DB, 7.0)
    assert (outside.revision, outside.kind, outside.namespace, outside.name) == (made.revision, "external", "b", "x/y")
    assert (outside.before, outside.after, outside.at, outside.controller) == (None, None, 7.0, "db")
    assert str(recorder.changed_outside("create", "external/b/x/y", Actor(), 8.0).anchor) == "create external/b/x/y#2"


def test_the_expected_anchor_is_the_one_that_a_change_gets(recorder, store):
    for number in (1, 2):
        anchor = recorder.anchor_of("pods", "default/a-x", None, {"metadata": {"name": "a-x", "generateName": "a-"}})
        assert recorder.expected(anchor) == Anchor("create", "pod/a-*", (), number)
        made = store.create("pods", f"default/a-{number}", {"metadata": {"name": f"a-{number}", "generateName": "a-"}})
        assert recorder.committed(made, DB, 0.0).anchor == Anchor("create", "pod/a-*", (), number)


def test_final_objects_with_generated_names_are_numbered(recorder, store):
    for name in ("a-1", "a-2"):
        store.create("pods", f"default/{name}", {"metadata": {"name": name, "generateName": "a-"}})
    store.create("pods", "prod/b", named("b"))
    store.create("configmaps", "default/c", named("c"))
    found = recorder.final_objects(store)
    assert {target: one["metadata"]["name"] for target, one in found.items()} == {
        "pod/a-*~1": "a-1", "pod/a-*~2": "a-2", "pod/prod/b": "b", "cm/c": "c"
    }  # fmt: skip


def test_a_reconcile_knows_what_was_delivered_when_it_began(recorder, store):
    made = [recorder.committed(store.create("pods", f"default/{name}", named(name)), Actor(), 0.0) for name in "ab"]
    recorder.listed("pods", 9, DB)
    recorder.reached("pods", 7, DB)  # the events of a streamed list come in the order of names
    recorder.delivered("configmaps", 4, DB, 2.0)
    recorder.delivered("pods", 12, Actor("operator db", 1), 2.0)
    recorder.reconcile_started(DB, "db", "k", 3.0)
    recorder.delivered("pods", 10, DB, 4.0)
    within("db", "k", recorder.read, "get", "pods", "prod", "a", DB)
    within("db", "other", recorder.read, "get", "pods", "prod", "b", DB)
    late = recorder.committed(store.create("pods", "default/c", named("c")), DB, 5.0)
    recorder.reconcile_ended(DB, "db", "k", KeyError("x"), 5.0, "added")
    recorder.reconcile_ended(DB, "db", "k", None, None)  # one that has not begun
    (one,) = recorder.reconciles
    assert one.seen == {"pod": 9, "cm": 4}
    assert (one.operator, one.incarnation, one.controller, one.key, one.started) == ("operator db", 2, "db", "k", 3.0)
    assert (one.first, one.last) == (made[-1].revision, late.revision)
    assert (one.error, one.unexpected, one.requeue_after, one.cause) == ("KeyError: 'x'", True, 5.0, "added")
    assert one.read == ("pod/prod/a",)
    recorder.listed("pods", 3, DB)  # a list may be older than what was seen before
    recorder.reconcile_started(DB, "db", "k", 6.0)
    recorder.reconcile_ended(DB, "db", "k", None, None)
    assert recorder.reconciles[-1].seen["pod"] == 3


def test_a_delivery_says_how_many_reconciles_have_begun(recorder):
    recorder.delivered("pods", 5, DB, 1.0)
    recorder.reconcile_started(DB, "db", "k", 1.0)
    recorder.delivered("pods", 6, DB, 2.0)
    recorder.reconcile_ended(DB, "db", "k", None, None)
    recorder.reconcile_started(DB, "db", "l", 2.0)
    recorder.delivered("pods", 7, DB, 3.0)
    assert recorder.deliveries == [
        Delivery(5, 1.0, "pod", "operator db", 0),
        Delivery(6, 2.0, "pod", "operator db", 1),
        Delivery(7, 3.0, "pod", "operator db", 2),
    ]


def test_the_revisions_at_which_a_cluster_was_at_rest(recorder, store):
    recorder.at_rest()
    for name in "ab":
        made = recorder.committed(store.create("pods", f"default/{name}", named(name)), Actor(), 0.0)
        recorder.at_rest()
        recorder.at_rest()
    recorder.raced.append(7)
    found = recorder.observation(4, lost=("x",))
    assert found.rests == (0, made.revision - 1, made.revision)
    assert (found.seed, found.raced, found.lost, found.commits) == (4, (7,), ("x",), recorder.commits)


# --- exceptions


def raised(error):
    try:
        raise error
    except Exception as found:
        return found


@pytest.mark.parametrize(
    ("error", "is_defect"),
    [
        (None, False), (KeyError("x"), True), (IndexError("x"), True), (TypeError("x"), True), (AttributeError("x"), True),
        (AssertionError("x"), True), (NameError("x"), True), (ZeroDivisionError("x"), True), (ValueError("x"), False),
        (ApiError(409, "Conflict", "x"), False), (ConnectionResetError("x"), False), (OSError("x"), False),
    ],
)  # fmt: skip
def test_which_exceptions_are_defects(error, is_defect):
    assert is_unexpected(error) is is_defect
    assert text_of(error) == ("" if error is None else f"{type(error).__name__}: {error}")


def test_the_place_of_an_exception_is_the_last_line_of_the_code_under_test():
    def asserts():
        raise ValueError("x")  # the line that is shown

    try:
        asserts()
    except ValueError as found:
        error = found
    assert place_of(error).startswith("test_recorder.py:")
    assert code_of(error) == 'raise ValueError("x")  # the line that is shown'
    by_fakekube = None
    try:
        Kinds(None).name("pods")
    except TypeError as found:
        by_fakekube = found
    assert code_of(by_fakekube) == 'Kinds(None).name("pods")'
    assert (place_of(None), code_of(None), place_of(ValueError("never raised"))) == ("", "", "")


@pytest.mark.parametrize(
    ("module", "is_one"),
    [
        ("tests.test_a", True), ("operator_of_mine", True), ("kopf.reactor", True), ("", True), ("fakekube", False),
        ("fakekube.harness.cluster", False), ("controllerlib.client", False), ("_pytest.python", False),
        ("asyncio.tasks", False), ("pluggy._manager", False), ("contextlib", False), ("fakekubernetes", True),
    ],
)  # fmt: skip
def test_which_modules_are_those_of_a_user(module, is_one):
    assert is_of_user(module) is is_one


# --- what an observation says


@pytest.mark.parametrize(
    ("change", "is_deletion"),
    [
        (commit(1, "delete", "cm/a", before=obj("ConfigMap", "a")), True),
        (commit(1, "create", "cm/a", after=obj("ConfigMap", "a")), False),
        (commit(1, "delete", "external/b/a"), True),
        (commit(1, "create", "external/b/a"), False),
        (commit(1, "update", "cm/a", before={"metadata": {}}, after={"metadata": {"deletionTimestamp": "now"}}), True),
        (commit(1, "update", "cm/a", before=None, after={"metadata": {"deletionTimestamp": "now"}}), True),
        (
            commit(
                1, "update", "cm/a",
                before={"metadata": {"deletionTimestamp": "then"}}, after={"metadata": {"deletionTimestamp": "now"}},
            ),
            False,
        ),
        (commit(1, "update", "cm/a", before={}, after={"metadata": None}), False),
    ],
)  # fmt: skip
def test_what_counts_as_a_deletion(change, is_deletion):
    assert change.is_deletion is is_deletion


def test_the_uid_of_a_change():
    assert commit(1, "create", "cm/a", after=obj("ConfigMap", "a", "u-new")).uid == "u-new"
    assert commit(1, "delete", "cm/a", before=obj("ConfigMap", "a", "u-old")).uid == "u-old"
    assert commit(1, "create", "external/b/a").uid == ""


def test_the_changes_of_operators_are_those_before_the_check_at_rest():
    changes = [commit(1, "create", "cm/a"), commit(2, "create", "cm/b", "test"), commit(3, "create", "cm/c", rest=True)]
    assert Observation(0, commits=changes).by_operators() == changes[:1]


def test_violations_are_the_same_by_oracle_and_object():
    one = Violation("O2", "cm/a", "is absent")
    assert (str(one), str(Violation("O13", "", "a stream"))) == ("O2: cm/a is absent", "O13: a stream")
    others = [
        Violation("O2", "cm/a", "differs"),
        Violation("O3", "cm/a", "is absent"),
        Violation("O2", "cm/b", "is absent"),
    ]
    assert [one.same_as(other) for other in others] == [True, False, False]
