"""How members of a cluster and of its desks are called, found, marked and refused; all of it is pure."""

from types import SimpleNamespace

import pytest

from fakekube import FakeKube
from fakekube.harness.desks.access import Access
from fakekube.harness.desks.controllers import Controllers
from fakekube.harness.desks.faults import Faults
from fakekube.harness.desks.nodes import Nodes
from fakekube.harness.desks.pods import Pods
from fakekube.harness.desks.webhooks import Webhooks
from fakekube.harness.driving.asynctests import _adopt, _reset
from fakekube.harness.members import (
    CLOSED,
    NOT_OPEN,
    Member,
    Need,
    When,
    changes,
    check_can_open,
    check_reachable,
    closed,
    implements,
    label,
    limited_to,
    mark_of,
    members_of,
    not_open,
    opened,
    reads,
    skip_the_rest,
    skipped_on,
    steps,
    unknown,
)


class Face:
    """A protocol with a member of each kind."""

    @steps(Need.CLOCK)
    def settle(self):
        """Settles."""

    @changes()
    def create(self):
        """Creates."""

    @reads(Need.STORE)
    def versions(self):
        """Reads."""

    @property
    @reads()
    def name(self):
        """Names."""

    @property
    @changes(Need.WEBHOOKS)
    def bundle(self):
        """Bundles."""

    def unmarked(self):
        """Has no mark."""


class More(Face):
    @steps()
    def settle(self):
        """Settles otherwise."""


MARKS = {
    "settle": Member(When.STEP, Need.CLOCK), "create": Member(When.CHANGE, Need.API), "versions": Member(When.READ, Need.STORE),
    "name": Member(When.READ, Need.API), "bundle": Member(When.CHANGE, Need.WEBHOOKS),
}  # fmt: skip


def test_the_members_of_a_class_are_those_with_a_mark():
    assert members_of(Face) == MARKS
    assert members_of(More) == {**MARKS, "settle": Member(When.STEP, Need.API)}
    assert (mark_of(Face.unmarked), mark_of(Face.name), mark_of(3)) == (None, MARKS["name"], None)


@pytest.mark.parametrize(
    ("face", "name", "called"),
    [
        (FakeKube, "settle", "settle()"), (FakeKube, "ledger", "ledger"), (Faults, "compact", "faults.compact()"),
        (Access, "url", "access.url"), (Webhooks, "ca_bundle", "webhooks.ca_bundle"), (Pods, "__call__", "pods()"),
        (Controllers, "__getitem__", "controllers"), (Controllers, "__iter__", "controllers"), (Nodes, "__len__", "nodes"),
    ],
)  # fmt: skip
def test_how_a_test_calls_a_member(face, name, called):
    assert label(face, name) == called


# --- documentation and marks of a protocol


def test_what_implements_a_protocol_has_its_marks_and_its_documentation():
    @implements(Face)
    class Made:
        def settle(self):
            return 1

        def create(self):
            """Of its own."""

        @property
        def name(self):
            return "x"

        def unmarked(self): ...

    assert members_of(Made) == {name: MARKS[name] for name in ("settle", "create", "name")}
    assert (Made.settle.__doc__, Made.create.__doc__, Made.name.__doc__) == ("Settles.", "Of its own.", "Names.")
    assert (Made.unmarked.__doc__, Made().settle(), Made().name) == (None, 1, "x")


# --- life


@pytest.mark.parametrize(
    ("when", "text", "refused"), [(not_open, NOT_OPEN, {"settle"}), (closed, CLOSED, {"settle", "create"})]
)
def test_what_is_refused_before_and_after_the_life_of_a_cluster(when, text, refused):
    face = Face()
    when([face])
    for name in ("settle", "create", "versions"):
        if name in refused:
            with pytest.raises(RuntimeError) as caught:
                getattr(face, name)(1, any=2)
            assert str(caught.value) == f"{name}(): {text}"
        else:
            assert getattr(face, name)() is None
    assert (face.name, face.bundle, face.unmarked()) == (None, None, None)
    if when is not_open:
        opened([face])
        assert (face.settle(), vars(face)) == (None, {})


@pytest.mark.parametrize(
    ("is_open", "is_closed", "said"),
    [(False, False, None), (True, False, "is open already"), (False, True, "is closed, and cannot be opened again")],
)
def test_a_cluster_is_opened_once(is_open, is_closed, said):
    if said is None:
        check_can_open(is_open=is_open, is_closed=is_closed)
        return
    with pytest.raises(RuntimeError, match=said):
        check_can_open(is_open=is_open, is_closed=is_closed)


def test_the_address_of_a_closed_cluster_is_refused():
    check_reachable("url", is_closed=False)
    with pytest.raises(RuntimeError, match=r"^url: this cluster is closed: its records"):
        check_reachable("url", is_closed=True)


# --- other backends


def skipped(call):
    with pytest.raises(pytest.skip.Exception) as caught:
        call()
    return str(caught.value)


def test_a_desk_that_a_backend_lacks_skips_the_test():
    desk = skipped_on("envtest", Face)
    assert isinstance(desk, Face)
    assert type(desk).__name__ == "Face"
    assert skipped(lambda: desk.settle(1, a=2)) == "needs the clock: settle() is not available on backend envtest"
    assert skipped(lambda: desk.create()) == "needs fakekube's own server: create() is not available on backend envtest"
    assert skipped(lambda: desk.name) == "needs fakekube's own server: name is not available on backend envtest"
    assert skipped(lambda: desk.bundle) == "needs webhooks in virtual time: bundle is not available on backend envtest"
    assert (desk.unmarked(), desk.settle.__doc__) == (None, "Settles.")


def test_a_desk_that_is_limited_keeps_what_needs_the_api_alone():
    desk = limited_to("cluster", Face())
    assert (desk.create(), desk.name) == (None, None)
    assert (
        skipped(lambda: desk.versions()) == "needs the server's store: versions() is not available on backend cluster"
    )
    assert skipped(lambda: desk.bundle) == "needs webhooks in virtual time: bundle is not available on backend cluster"


def test_members_of_a_protocol_that_a_backend_does_not_define_skip_the_test():
    @skip_the_rest
    class Made(Face):
        access = SimpleNamespace(backend="other")

        @steps()
        def settle(self):
            return 1

    made = Made()
    assert made.settle() == 1
    assert skipped(lambda: made.versions(1)) == "needs the server's store: versions() is not available on backend other"
    assert skipped(lambda: made.name) == "needs fakekube's own server: name is not available on backend other"
    assert (Made.name.__doc__, Made.versions.__doc__) == ("Names.", "Reads.")


# --- names that do not exist

DESKS = (
    "faults",
    "state",
    "nodes",
    "pods",
    "controllers",
    "access",
    "webhooks",
    "findings",
    "exploration",
    "processes",
)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("setle", ["settle"]), ("requsts", ["requests"]), ("log_", ["log"]), ("finding", ["findings"]),
        ("compact", ["faults.compact"]), ("hold", ["faults.hold_watches"]), ("snapshots", ["state.snapshot"]),
        ("version", ["state.versions"]), ("kubeconfigs", ["access.kubeconfig"]), ("disturb", ["faults.disturb_watches"]),
        ("add_node", ["nodes.add", "pods.add_stages"]),
        ("serve_webhook", ["webhooks.serve", "webhooks.map_service", "webhooks.ca_bundle"]),
        ("freeze", []), ("zzz", []), ("_setle", []), ("__wrapped__", []),
    ],
)  # fmt: skip
def test_what_a_name_may_have_meant(name, meant):
    said = f"'FakeKube' object has no attribute {name!r}"
    found = " or ".join(f"fakekube.{one}" for one in meant)
    assert unknown(FakeKube, DESKS, name) == (f"{said}: did you mean {found}?" if meant else said)


# --- context variables of fixtures


def test_context_variables_are_taken_over_and_given_back_in_turn():
    from contextvars import ContextVar, copy_context

    one, two, three = (ContextVar(name) for name in ("one", "two", "three"))
    one.set(1)
    two.set(2)
    context = copy_context()
    context.run(lambda: (one.set(10), three.set(30)))

    def taken():
        tokens = _adopt(context)
        assert [one.get(), two.get(), three.get()] == [10, 2, 30]
        tokens += [(one, one.set(11)), (one, one.set(12))]
        _reset(tokens)
        return [one.get(), two.get(), three.get(None)]

    assert copy_context().run(taken) == [1, 2, None]
