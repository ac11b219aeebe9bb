"""Which fields of final objects are compared: leaves and their paths, times, uids, masks of users and of two references."""

from copy import deepcopy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakekube.simulation.statemask import Mask, changed_status, is_compared, is_time, leaves


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ({}, {"": {}}),
        ({"spec": {"a": 1, "b": {"c": None}}}, {"spec.a": 1, "spec.b.c": None}),
        ({"spec": {}, "data": []}, {"spec": {}, "data": []}),
        ({"l": [1, {"x": 2}]}, {"l[0]": 1, "l[1].x": 2}),
        # items of different types have no order, others do
        ({"l": [{"type": "A", "x": 1}, {"type": "B"}]}, {"l[A].type": "A", "l[A].x": 1, "l[B].type": "B"}),
        ({"l": [{"type": "A"}, {"type": "A"}]}, {"l[0].type": "A", "l[1].type": "A"}),
        ({"l": [{"type": "A"}, {"x": 1}]}, {"l[0].type": "A", "l[1].x": 1}),
        ({"l": [{"type": 1}, {"type": 2}]}, {"l[0].type": 1, "l[1].type": 2}),
        ({"l": [{"type": "A"}, "B"]}, {"l[0].type": "A", "l[1]": "B"}),
        ({"l": ({"a": 1},)}, {"l[0].a": 1}),
        ({7: {"a": 1}}, {"7.a": 1}),
    ],
)
def test_the_leaves_of_an_object(value, found):
    assert dict(leaves(value)) == found


@pytest.mark.parametrize(
    ("value", "is_one"),
    [
        ("2026-01-01T00:00:00Z", True),
        ("2026-01-01 00:00:00", True),
        ("2026-01-01T00:00:00.123456+01:00", True),
        ("2026-01-01T00:00:00-0100", True),
        ("2026-01-01", False),
        ("at 2026-01-01T00:00:00Z", False),
        ("2026-01-01T00:00:00Z, twice", False),
        # 2020-01-01 to 2050-01-01, in seconds and in milliseconds
        (1_577_836_799, False),
        (1_577_836_800, True),
        (2_524_607_999, True),
        (2_524_608_000, False),
        (1_577_836_799_999, False),
        (1_577_836_800_000, True),
        (2_524_607_999_999, True),
        (2_524_608_000_000, False),
        (1_577_836_800.5, True),
        ("1577836800", True),
        ("1577836799", False),
        ("1577836800000", True),
        ("1577836800s", False),
        (0, False),
        (True, False),
        (None, False),
        ([], False),
    ],
)
def test_what_counts_as_a_time(value, is_one):
    assert is_time(value) is is_one


A_UID, B_UID = "01234567-89ab-cdef-0123-456789abcdef", "fedcba98-7654-3210-fedc-ba9876543210"


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ({"spec": {"a": 1}}, {"spec": {"a": 1}}, []),
        ({"spec": {"a": 1}}, {"spec": {"a": 2}}, [("spec.a", 1, 2)]),
        ({"spec": {"a": 1}}, {"spec": {}}, [("spec.a", 1, None), ("spec", None, {})]),
        ({"spec": {"a": 1}}, {}, [("spec.a", 1, None)]),
        ({}, {"data": {"k": "v"}}, [("data.k", None, "v")]),
        ({"spec": {"a": 1, "b": 2}}, {"spec": {"b": 3, "c": 4}}, [("spec.a", 1, None), ("spec.b", 2, 3), ("spec.c", None, 4)]),
        ({"spec": {"a": 1}}, {"spec": {"a": "1"}}, [("spec.a", 1, "1")]),
        ({"spec": {"a": f"x-{A_UID}"}}, {"spec": {"a": f"x-{B_UID}"}}, []),
        ({"spec": {"a": f"x-{A_UID}"}}, {"spec": {"a": f"y-{B_UID}"}}, [("spec.a", f"x-{A_UID}", f"y-{B_UID}")]),
        ({"spec": {"a": A_UID}}, {"spec": {"a": 1}}, [("spec.a", A_UID, 1)]),
        ({"spec": {"t": "2026-01-01T00:00:00Z"}}, {"spec": {"t": "2026-01-02T00:00:00Z"}}, []),
        ({"spec": {"t": "2026-01-01T00:00:00Z"}}, {"spec": {}}, [("spec.t", "2026-01-01T00:00:00Z", None), ("spec", None, {})]),
        ({"status": {"a": None, "b": []}}, {"status": {"c": {}}}, []),
        ({"status": {"a": 0}}, {"status": {}}, [("status.a", 0, None)]),
        ({"status": {"a": []}}, {"status": {"a": [1]}}, [("status.a[0]", None, 1)]),
        ({"spec": {"a": None}}, {"spec": {"a": []}}, [("spec.a", None, [])]),
    ],
)  # fmt: skip
def test_the_differences_of_two_objects(before, after, found):
    assert Mask().differences("cm/a", before, after) == found


@pytest.mark.parametrize(
    ("path", "counts"),
    [
        ("metadata.uid", False),
        ("metadata.resourceVersion", False),
        ("metadata.generation", False),
        ("metadata.creationTimestamp", False),
        ("metadata.managedFields", False),
        ("metadata.managedFields[0].manager", False),
        ("metadata.deletionTimestamp", False),
        ("metadata.deletionTimestampX", True),
        ("status.observedGeneration", False),
        ("status.observedGeneration.x", False),
        ("metadata.ownerReferences[0].uid", False),
        ("metadata.ownerReferences[0].name", True),
        ("spec.claimRef.resourceVersion", False),
        ("spec.uid", False),
        ("spec.uids", True),
        ("uid.spec", True),
        ("metadata.labels.uid", False),
        ("metadata.name", True),
        ("status.conditions[Ready].observedGeneration", True),
        ("metadata.annotations.deployment.kubernetes.io/revision", True),
        ("status.containerStatuses[0].restartCount", True),
    ],
)
def test_the_fields_that_the_server_sets_do_not_count(path, counts):
    assert Mask().counts("pod/a", path, 1) is counts


@pytest.mark.parametrize(
    ("path", "counts"),
    [
        ("status.conditions[Ready].observedGeneration", False),
        ("metadata.annotations.deployment.kubernetes.io/revision", False),
        ("spec.template.metadata.annotations.deployment.kubernetes.io/revision", True),
        ("status.containerStatuses[0].restartCount", False),
        ("status.collisionCount", False),
        ("status.collisionCounts", True),
        ("status.release", False),
        ("status.releases", True),
        ("spec.size", True),
    ],
)
def test_fields_that_count_what_another_release_has_done(path, counts):
    mask = Mask(["status.ignored"], ["status.release", "cm/old"])
    upgraded = mask.for_upgrades()
    assert upgraded.counts("pod/a", path, 1) is counts
    assert not upgraded.counts("pod/a", "status.ignored", 1)
    assert mask.counts("pod/a", path, 1), "without an upgrade they count"


@pytest.mark.parametrize(
    ("pattern", "target", "path", "counts"),
    [
        ("status.phase", "pod/a", "status.phase", False),
        ("status.phase", "pod/a", "status.phases", True),
        ("status.*", "pod/a", "status.phase", False),
        ("status.*", "pod/a", "status", True),
        ("*", "pod/a", "spec.x", False),
        # a path stands for what is below it
        ("spec.template", "pod/a", "spec.template.spec.x", False),
        ("spec.template", "pod/a", "spec.template[0].x", False),
        ("spec.template", "pod/a", "spec.templates", True),
        ("spec.ports[0]", "svc/a", "spec.ports[0].name", False),
        ("spec.ports[0]", "svc/a", "spec.ports[1].name", True),
        ("spec.ports[0]", "svc/a", "spec.ports0", True),
        ("status.conditions[*].reason", "pod/a", "status.conditions[Ready].reason", False),
        # with an object before it
        ("pod/*:status.podIP", "pod/a", "status.podIP", False),
        ("pod/*:status.podIP", "svc/a", "status.podIP", True),
        ("pod/*:status", "pod/prod/a", "status.podIP", False),
        ("pod/b:status", "pod/a", "status.podIP", True),
    ],
)
def test_the_patterns_of_a_mask(pattern, target, path, counts):
    assert Mask([pattern]).counts(target, path, 1) is counts
    assert Mask(["spec.other", pattern]).counts(target, path, 1) is counts


@pytest.mark.parametrize(
    ("pattern", "target", "may"),
    [
        ("cm/*-old", "cm/a-old", True),
        ("cm/*-old", "cm/a", False),
        ("cm/a:data.x", "cm/a", False),  # a field of it
        ("status", "status", False),
    ],
)
def test_objects_that_an_upgrade_may_leave(pattern, target, may):
    assert Mask(upgraded=[pattern]).may_differ(target) is may
    assert not Mask([pattern]).may_differ(target)


def test_fields_and_objects_that_an_upgrade_may_leave_are_told_apart():
    mask = Mask(upgraded=["cm/a:data.x", "status.x", "cm/b"]).for_upgrades()
    assert [mask.counts("cm/a", path, 1) for path in ("data.x", "status.x", "data.y")] == [False, False, True]
    assert mask.counts("cm/b", "cm/b", 1)


def test_what_differs_between_two_references_is_left_out():
    mask = Mask()
    first = {"cm/a": {"data": {"same": "1", "drawn": "x", "first": "1"}}, "cm/b": {"data": {"drawn": "x"}}}
    second = {"cm/a": {"data": {"same": "1", "drawn": "y", "second": "1"}}, "cm/c": {"data": {"drawn": "y"}}}
    mask.learn(first, second)
    names = ("same", "drawn", "first", "second")
    assert [mask.counts("cm/a", f"data.{one}", "") for one in names] == [True, False, False, False]
    assert mask.counts("cm/b", "data.drawn", "")
    assert mask.differences("cm/a", {"data": {"same": "1", "drawn": "x"}}, {"data": {"same": "2", "drawn": "z"}}) == [
        ("data.same", "1", "2")
    ]


def service(ip, port=80):
    return {"spec": {"clusterIPs": [ip], "ports": [{"nodePort": port}]}}


def test_what_the_server_draws_may_differ_and_what_clients_name_may_not():
    mask = Mask()
    first = {"svc/a": service("10.0.0.7"), "svc/b": service("10.0.0.1"), "cm/a": {"data": {"ip": "10.0.0.1"}}}
    second = {"svc/a": service("10.0.0.7"), "svc/b": service("10.0.0.2"), "cm/a": {"data": {"ip": "10.0.0.2"}}}
    mask.learn(first, second)
    assert mask.counts("cm/a", "data.ip", ""), "it is compared, without the address"
    third = {"svc/a": service("10.0.0.7"), "svc/b": service("10.0.0.3"), "cm/a": {"data": {"ip": "10.0.0.3"}}}
    allocated = mask.allocations(first, third)
    assert mask.differences("cm/a", first["cm/a"], third["cm/a"], allocated) == []
    assert mask.differences("cm/a", first["cm/a"], {"data": {"ip": "10.0.0.9"}}, allocated) != []
    moved = {**third, "svc/a": service("10.0.0.8")}
    allocated = mask.allocations(first, moved)
    assert mask.differences("svc/a", first["svc/a"], moved["svc/a"], allocated) != []


@pytest.mark.parametrize(
    ("first", "second", "target", "compared"),
    [
        (["external/b/x"], ["external/b/y"], "external/b/z", "external/b/*"),
        (["external/b/x"], ["external/b/x"], "external/b/z", "external/b/z"),
        (["external/b/x"] * 2, ["external/b/x"], "external/b/z", "external/b/*"),
        (["external/b/x"], ["external/b/x"] * 2, "external/b/z", "external/b/*"),
        (["external/b/x"], ["external/b/y"], "external/c/z", "external/c/z"),
        (["external/b/x"], [], "cm/b/z", "cm/b/z"),
        (["external/b/x", "external/b/y"], ["external/b/y", "external/b/x"], "external/b/z", "external/b/z"),
    ],
)
def test_items_of_an_api_whose_names_are_drawn_are_counted(first, second, target, compared):
    mask = Mask()
    mask.learn_external(first, second)
    assert mask.external(target) == compared
    assert mask.items([target, target, "external/other/a"]) == {compared: 2, "external/other/a": 1}


def marked(value="1", **more):
    return {"metadata": {"annotations": {"fakekube.dev/race": value}, **more}}


@pytest.mark.parametrize(
    ("before", "after", "paths"),
    [
        ({"metadata": {}}, marked(), []),
        ({}, marked(), []),
        ({"metadata": {"annotations": {"a": "1"}}}, marked(), ["metadata.annotations.a"]),
        ({"metadata": {"name": "a"}}, marked(name="b"), ["metadata.name"]),
        ({"data": {"json": '{"b": 1,"a": 2}'}}, {"data": {"json": '{"a": 2, "b": 1, "fakekube.dev/race": "1"}'}}, []),
        ({"data": {"json": '{"b": 1}'}}, {"data": {"json": '{"b": 2, "fakekube.dev/race": "1"}'}}, ["data.json"]),
        ({"data": {"keys": "a"}}, {"data": {"keys": "a,fakekube.dev/race=1"}}, []),
        ({"spec": {"l": [{"name": "a"}]}}, {"spec": {"l": [{"name": "a"}, {"name": "fakekube.dev/race"}]}}, []),
        # with the mark on both sides, everything counts
        (marked(), marked("2"), ["metadata.annotations.fakekube.dev/race"]),
    ],
)
def test_what_a_competing_writer_has_set_is_no_difference_wherever_it_is_copied(before, after, paths):
    assert [path for path, *_ in Mask().differences("cm/a", before, after)] == paths


@pytest.mark.parametrize(
    ("before", "after", "changed"),
    [
        (None, None, {}),
        (None, {"status": {"a": 1}}, {"a": (None, 1)}),
        ({"status": {"a": 1, "b": 2}}, {"status": {"a": 1, "b": 3}}, {"b": (2, 3)}),
        ({"status": {"a": 1, "b": 2}}, {"status": {"b": 2}}, {"a": (1, None)}),
        ({"spec": {"a": 1}}, {"spec": {"a": 2}}, {}),
    ],
)
def test_the_fields_of_the_status_that_change(before, after, changed):
    assert changed_status(before, after) == changed


@pytest.mark.parametrize(
    ("target", "compared"),
    [
        ("pod/a", True), ("event/a", False), ("ev/prod/a", False), ("lease/a", False), ("ip/10.0.0.1", False),
        ("ipaddress/a", False), ("controllerrevision/a", False), ("events/a", True), ("cm/event", True), ("pod", True),
        ("event", False),
    ],
)  # fmt: skip
def test_records_are_not_compared(target, compared):
    assert is_compared(target) is compared


scalars = st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from(["", "a", "b"])
names = st.sampled_from(["alpha", "beta", "gamma"])
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3), max_leaves=8
)
objects = st.dictionaries(st.sampled_from(["spec", "data", "extra"]), values, max_size=3)


def located(value, path=()):
    """The places of all leaves that are no empty mapping or list."""
    if isinstance(value, dict):
        return [place for name, one in value.items() for place in located(one, (*path, name))]
    if isinstance(value, list):
        return [place for index, one in enumerate(value) for place in located(one, (*path, index))]
    return [path]


def text_of(place):
    return "".join(f"[{one}]" if isinstance(one, int) else f".{one}" for one in place).lstrip(".")


@given(objects, st.data())
def test_a_change_of_one_leaf_is_one_difference(obj, data):
    assert Mask().differences("cm/a", obj, deepcopy(obj)) == []
    places = located(obj)
    if not places:
        return
    place = data.draw(st.sampled_from(places))
    other = deepcopy(obj)
    part = other
    for step in place[:-1]:
        part = part[step]
    before, part[place[-1]] = part[place[-1]], "changed"
    path = text_of(place)
    assert Mask().differences("cm/a", obj, other) == [(path, before, "changed")]
    assert Mask().differences("cm/a", other, obj) == [(path, "changed", before)]
    assert Mask([path.replace("alpha", "alph?")]).differences("cm/a", obj, other) == []
    mask = Mask()
    mask.learn({"cm/a": obj, "cm/b": obj}, {"cm/a": other, "cm/b": obj})
    assert mask.differences("cm/a", obj, other) == []
    assert mask.differences("cm/b", obj, other) == [(path, before, "changed")]
