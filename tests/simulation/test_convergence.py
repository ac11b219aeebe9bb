"""O8 and O9: a new cluster that is given the last spec, and the last change taken back."""

from dataclasses import replace

import pytest

from fakekube.simulation.oracles.convergence import recovers, same_as_new
from fakekube.simulation.statemask import Mask
from tests.simulation.observations import CHILD, REFERENCE, commit, conditions, obj

OWNED = {**CHILD, "metadata": {**CHILD["metadata"], "ownerReferences": [{"uid": "u-1"}, {"uid": "u-2"}]}}


@pytest.mark.parametrize(
    ("left", "is_left"),
    [((), False), (("u-1",), True), (("u-2",), True), (("u-1", "u-2"), True), (("u-3",), False)],
)
def test_o8_what_has_lost_all_its_owners_is_no_remainder(left, is_left):
    owners = {f"store/{uid}": obj("Store", uid, uid) for uid in left}
    reference = replace(REFERENCE, final={"pod/a-0": OWNED, **owners})
    fresh = replace(REFERENCE, mode="fresh", final=owners)
    text = "O8: pod/a-0 is left at the end (a new cluster that is given the last spec does not have it)"
    assert [str(one) for one in same_as_new(reference, fresh, Mask())] == [text] * is_left


def test_o8_each_difference_is_named():
    reference = replace(REFERENCE, final={"pod/a-0": CHILD, "pod/other": CHILD})
    absent = "O8: pod/a-0 is absent at the end (a new cluster that is given the last spec has it)"
    new = obj("Pod", "a-0", spec={"image": "2"})
    other = "O8: pod/a-0 spec.image '1', in a new cluster '2' (given the last spec at once)"
    orphan = obj("Pod", "a-0", spec={"image": "1"}, status={"phase": "Failed"})
    for old, fresh, texts in (
        ({}, {"pod/a-0": CHILD}, [absent]),
        ({"pod/a-0": CHILD}, {"pod/a-0": new}, [other]),
        ({"pod/a-0": CHILD}, {"pod/a-0": orphan}, []),  # the status is not compared
        (reference.final, {"pod/a-0": CHILD}, []),  # nobody has made the other one
    ):
        found = same_as_new(replace(reference, final=old), replace(REFERENCE, final=fresh), Mask())
        assert [str(one) for one in found] == texts


@pytest.mark.parametrize(
    ("was", "now", "is_found"),
    [
        ("True", "False", True),
        ("False", "True", False),  # it was not well before, either
        ("True", "True", False),
    ],
)
def test_o9_what_was_well_before_the_last_change_is_well_without_it(was, now, is_found):
    first, second = ({**obj("Store", "a"), "spec": {"size": size}} for size in (1, 2))
    child = {**obj("Pod", "a-0"), **conditions(Ready=was)}
    made = commit(1, "create", "store/a", "test", after=first)
    change = commit(3, "update", "store/a", "test", first, second)
    reference = replace(REFERENCE, commits=[made, commit(2, "create", "pod/a-0", after=child), change], rests=[2])
    back = replace(REFERENCE, final={"store/a": first, "pod/a-0": {**obj("Pod", "a-0"), **conditions(Ready=now)}})
    text = (
        f"O9: pod/a-0 status.conditions[Ready].status '{now}', before it '{was}' (after the last change is taken back)"
    )
    assert [str(one) for one in recovers(reference, back, Mask())] == [text] * is_found
    gone = [str(one) for one in recovers(reference, replace(back, final={"store/a": first}), Mask())]
    assert gone == ["O9: pod/a-0 is absent after the last change is taken back (it was there before it)"]
    assert list(recovers(replace(reference, rests=[]), replace(back, final={}), Mask())) == [], "it was not at rest"
