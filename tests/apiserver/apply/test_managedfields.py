"""The entries after writes, against sets of paths."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from fakekube.apiserver.apply import fieldset, managedfields
from fakekube.apiserver.apply.comparison import compare
from fakekube.apiserver.apply.managedfields import Writer
from fakekube.apiserver.apply.managedfieldsentry import MOST_LATEST
from fakekube.apiserver.apply.updater import Updater
from tests.apiserver.apply.schemas import ROOT
from tests.apiserver.apply.test_typed import VALUES

V1 = "example.com/v1"
UPDATER = Updater(
    V1, lambda obj, _source, version: (obj, ROOT) if version == V1 else None, {}, {"metadata": {}}, reconciles=True
)


@st.composite
def objects(draw):
    meta = {"name": "a", "uid": "1"}
    if draw(st.booleans()):
        meta["labels"] = draw(st.dictionaries(st.sampled_from("ab"), st.sampled_from("12"), max_size=2))
    return {**draw(VALUES), "metadata": meta}


def written(live, new, who, second):
    writer = Writer(who, f"2026-01-01T00:00:{second:02}Z")
    return managedfields.updated(live, new, UPDATER, writer)


def of_model(owned, times, live, new, who, second):
    """A write removes the fields that it changes or removes from all others; the writer owns the changed fields."""
    found = compare({**live, "metadata": {**live["metadata"], "managedFields": None}}, new, ROOT)
    changed = set(fieldset.paths(found.added)) | set(fieldset.paths(found.modified))
    nobodys = set(fieldset.paths(managedfields.STRIPPED))
    changed, removed = changed - nobodys, set(fieldset.paths(found.removed))
    for other in owned:
        owned[other] -= removed | (changed if other != who else set())
    if changed:
        owned[who] = owned.get(who, set()) | changed
        times[who] = second
    for gone in [other for other, paths in owned.items() if not paths]:
        del owned[gone]


@given(st.lists(st.tuples(st.sampled_from(["ann", "bob"]), objects(), st.booleans()), min_size=1, max_size=6))
def test_ownership_after_a_sequence_of_writes(writes):
    check_ownership(writes)


PARTS = st.sampled_from([("size",), ("labels", "a"), ("labels", "b"), ("free", "x"), ("free", "y")])


@given(st.lists(st.tuples(st.sampled_from(["ann", "bob"]), PARTS, st.sampled_from("123")), min_size=3, max_size=8))
def test_ownership_after_changes_of_one_field_each(changes):
    """As controllers write: most of them change the fields that they own."""
    writes, fields = [], {}
    for who, (field, *below), value in changes:
        fields = {**fields, field: {**fields.get(field, {}), below[0]: value} if below else int(value)}
        writes.append((who, {"metadata": {"name": "a", "uid": "1"}, "spec": fields}, False))
    check_ownership(writes)


def check_ownership(writes):
    live, owned, times = {"metadata": {}}, {}, {}
    for second, (who, new, sends_entries) in enumerate(writes):
        before = live
        if sends_entries and "managedFields" in live["metadata"]:
            new = {**new, "metadata": {**new["metadata"], "managedFields": live["metadata"]["managedFields"]}}
        entries = [dict(entry) for entry in live["metadata"].get("managedFields", [])]
        live = written(before, new, who, second)
        assert before["metadata"].get("managedFields", []) == entries, "what is stored is not changed"
        if not owned and before["metadata"].get("uid"):
            assert "managedFields" not in live["metadata"]  # field management is disabled
            continue
        of_model(owned, times, before, managedfields.without_entries(new), who, second)
        shown = {one["manager"]: one for one in live["metadata"].get("managedFields", [])}
        assert {name: set(fieldset.paths(one["fieldsV1"])) for name, one in shown.items()} == owned
        assert {name: int(one["time"][17:19]) for name, one in shown.items()} == {name: times[name] for name in owned}
        for one in shown.values():
            assert list(fieldset.in_order(one["fieldsV1"])) == list(one["fieldsV1"])


def test_unchanged_entries_are_not_encoded_again():
    live = written({"metadata": {}}, {"metadata": {"name": "a", "uid": "1"}, "spec": {"size": 1}}, "ann", 0)
    live = written(live, {**live, "spec": {"size": 1, "on": True}}, "bob", 1)
    again = written(live, {**live, "spec": {"size": 1, "on": False}}, "bob", 2)
    (ann, bob), (ann_again, bob_again) = (one["metadata"]["managedFields"] for one in (live, again))
    assert ann_again is ann
    assert bob_again == {**bob, "time": "2026-01-01T00:00:02Z"}
    assert bob_again["fieldsV1"] is bob["fieldsV1"]


@given(st.lists(st.tuples(st.sampled_from(["ann", "bob"]), objects(), st.booleans()), min_size=2, max_size=6))
def test_an_apply_with_the_fields_of_the_last_one_gives_the_same_object_with_and_without_pruning(writes):
    """The schemas of built-in kinds do not change (`reconciles`): there pruning is skipped if it removes nothing."""
    builtin = replace(UPDATER, reconciles=False)
    live = {"metadata": {"name": "a"}}
    for second, (who, config, is_apply) in enumerate(writes):
        if not is_apply:
            live = written(live, {**live, **config, "metadata": live["metadata"] | config["metadata"]}, who, second)
            continue
        for value in (config, {**config, **{key: live[key] for key in config.keys() & live.keys()}}):
            writer = Writer(who, f"2026-01-01T00:00:{second:02}Z")
            value = {**value, "metadata": {"name": "a", **config["metadata"]}}
            pruned, skipped = (
                managedfields.applied(live, value, updater, writer, force=True) for updater in (UPDATER, builtin)
            )
            assert skipped == pruned
            live = pruned


def entry_of(number, who="ann", second=0, spec=None, updater=UPDATER):
    """The entry of a new object."""
    new = {"metadata": {"name": f"n{number}", "uid": str(number)}, "spec": spec or {"size": number}}
    made = managedfields.updated({"metadata": {}}, new, updater, Writer(who, f"2026-01-01T00:00:{second:02}Z"))
    [entry] = made["metadata"]["managedFields"]
    return entry


def test_new_objects_with_the_same_fields_share_their_entries():
    first, second, later, last = entry_of(1), entry_of(2), entry_of(3, second=7), entry_of(4, second=7)
    assert second is first
    assert later["fieldsV1"] is first["fieldsV1"]
    assert (first["time"], later["time"]) == ("2026-01-01T00:00:00Z", "2026-01-01T00:00:07Z")
    assert last is later
    assert entry_of(5, "bob", 7) == {**later, "manager": "bob"}
    other = entry_of(6, second=7, spec={"on": True})
    assert (list(other["fieldsV1"]["f:spec"]), list(later["fieldsV1"]["f:spec"])) == ([".", "f:on"], [".", "f:size"])


def test_few_managers_are_remembered():
    updater = replace(UPDATER)
    for number in range(2 * MOST_LATEST + 1):
        assert entry_of(number, f"m{number}", updater=updater)["manager"] == f"m{number}"
        assert 0 < len(updater.latest) <= MOST_LATEST
