"""The status of definitions: names that others use, conditions, and termination."""

from typing import Any

import pytest

from fakekube.apiserver.crd import apiapproval, definitionstatus
from fakekube.apiserver.crd.definitionstatus import CLEANUP_FINALIZER

Object = dict[str, Any]

NOW, BEFORE = "2026-01-02T00:00:00Z", "2026-01-01T00:00:00Z"
NAMES = {"plural": "widgets", "singular": "widget", "shortNames": ["w"], "kind": "Widget", "listKind": "WidgetList"}


def crd(names: Object | None = None, accepted: Object | None = None, **meta: Any) -> Object:
    status = {"acceptedNames": accepted} if accepted is not None else {}
    return {"metadata": meta, "spec": {"group": "example.com", "names": NAMES | (names or {})}, "status": status}


def states(obj: Object) -> dict[str, tuple[str, str]]:
    return {one["type"]: (one["status"], one["reason"]) for one in obj["status"].get("conditions", ())}


@pytest.mark.parametrize(
    ("other", "reason", "message"),
    [
        ({}, "NoConflicts", "no conflicts found"),
        ({"plural": "gadgets", "kind": "Gadget"}, "NoConflicts", "no conflicts found"),
        ({"plural": "widgets"}, "PluralConflict", '"widgets" is already in use'),
        ({"singular": "widgets"}, "PluralConflict", '"widgets" is already in use'),
        ({"plural": "widget"}, "SingularConflict", '"widget" is already in use'),
        ({"shortNames": ["w"]}, "ShortNamesConflict", '"w" is already in use'),
        ({"kind": "Widget"}, "KindConflict", '"Widget" is already in use'),
        ({"listKind": "Widget"}, "KindConflict", '"Widget" is already in use'),
        ({"kind": "WidgetList"}, "ListKindConflict", '"WidgetList" is already in use'),
        ({"plural": "Widget", "kind": "widgets"}, "NoConflicts", "no conflicts found"),
        ({"plural": "widgets", "kind": "Widget"}, "KindConflict", '"Widget" is already in use'),
    ],
)
def test_a_name_that_another_definition_uses(other: Object, reason: str, message: str) -> None:
    own = crd()
    found = definitionstatus.named(own, [own, crd(accepted=other)], NOW)
    condition = definitionstatus.condition(found, "NamesAccepted")
    assert condition is not None
    assert (condition["reason"], condition["message"]) == (reason, message)
    accepted = reason == "NoConflicts"
    assert condition["status"] == ("True" if accepted else "False")
    assert states(found)["Established"] == (("True", "InitialNamesAccepted") if accepted else ("False", "NotAccepted"))


def test_names_without_a_conflict_are_accepted_beside_one_that_has_it() -> None:
    own = crd({"categories": ["all"]})
    found = definitionstatus.named(own, [own, crd(accepted={"shortNames": ["w"]})], NOW)
    assert found["status"]["acceptedNames"] == {
        "plural": "widgets", "kind": "Widget", "singular": "widget", "listKind": "WidgetList", "categories": ["all"],
    }  # fmt: skip


def test_names_that_are_no_longer_wanted_are_given_up() -> None:
    own = crd({"shortNames": [], "singular": ""}, accepted={**NAMES, "categories": ["all"]})
    assert definitionstatus.named(own, [own], NOW)["status"]["acceptedNames"] == {
        "plural": "widgets", "kind": "Widget", "listKind": "WidgetList",
    }  # fmt: skip


def test_own_names_are_no_conflict() -> None:
    own = crd({"shortNames": ["w", "x"]}, accepted=NAMES)
    found = definitionstatus.named(own, [own], NOW)
    assert states(found)["NamesAccepted"] == ("True", "NoConflicts")
    assert found["status"]["acceptedNames"]["shortNames"] == ["w", "x"]


def test_a_definition_that_is_established_stays_so_with_a_conflict() -> None:
    own = crd()
    own = definitionstatus.named(own, [own], BEFORE)
    assert definitionstatus.named(own, [own], NOW) is own
    changed = {**own, "spec": {**own["spec"], "names": NAMES | {"kind": "Other"}}}
    found = definitionstatus.named(changed, [changed, crd(accepted={"kind": "Other"})], NOW)
    assert states(found) == {
        "NamesAccepted": ("False", "KindConflict"), "Established": ("True", "InitialNamesAccepted"),
    }  # fmt: skip
    assert found["status"]["acceptedNames"]["kind"] == "Widget"


def test_the_transition_time_of_a_condition_changes_with_its_status() -> None:
    first = definitionstatus.with_condition(crd(), "A", "True", "r", "m", BEFORE)
    both = definitionstatus.with_condition(first, "B", "True", "r", "m", BEFORE)
    same = definitionstatus.with_condition(both, "A", "True", "other", "text", NOW)
    assert definitionstatus.condition(same, "A") == {
        "type": "A", "status": "True", "lastTransitionTime": BEFORE, "reason": "other", "message": "text",
    }  # fmt: skip
    changed = definitionstatus.with_condition(same, "A", "False", "r", "m", NOW)
    assert [(one["type"], one["lastTransitionTime"]) for one in changed["status"]["conditions"]] == [
        ("A", NOW), ("B", BEFORE),
    ]  # fmt: skip
    assert [definitionstatus.is_true(changed, type) for type in "ABC"] == [False, True, False]


@pytest.mark.parametrize(
    ("text", "status", "reason", "begin"),
    [
        ("", "False", "MissingAnnotation", "protected groups must have approval annotation"),
        ("unapproved, experimental", "False", "UnapprovedAnnotation", 'not approved: "unapproved, experimental"'),
        ("https://github.com/a/1", "True", "ApprovedAnnotation", "approved in https://github.com/a/1"),
        ("github.com/a/1", "False", "InvalidAnnotation", "protected groups must have approval annotation"),
        ("/a/1", "False", "InvalidAnnotation", "protected groups must have approval annotation"),
        ("https:///a", "False", "InvalidAnnotation", "protected groups must have approval annotation"),
    ],
)
def test_the_approval_of_a_protected_group(text: str, status: str, reason: str, begin: str) -> None:
    own = crd(annotations={apiapproval.ANNOTATION: text})
    assert definitionstatus.conformant(own, NOW) is own
    own["spec"]["group"] = "apps.k8s.io"
    found = definitionstatus.condition(definitionstatus.conformant(own, NOW), "KubernetesAPIApprovalPolicyConformant")
    assert found is not None
    assert (found["status"], found["reason"]) == (status, reason)
    assert found["message"].startswith(begin)


@pytest.mark.parametrize(
    ("group", "protected"),
    [
        ("k8s.io", True), ("kubernetes.io", True), ("a.k8s.io", True), ("a.b.kubernetes.io", True),
        ("ak8s.io", False), ("k8s.io.example.com", False), ("example.com", False),
    ],
)  # fmt: skip
def test_groups_that_are_protected(group: str, protected: bool) -> None:
    assert apiapproval.is_protected(group) is protected


def test_the_termination_of_a_definition() -> None:
    own = crd(finalizers=["a/b"])
    marked = definitionstatus.marked_deleted(own, NOW)
    assert marked["metadata"] == {"finalizers": ["a/b", CLEANUP_FINALIZER], "deletionTimestamp": NOW}
    assert states(marked) == {"Terminating": ("True", "InstanceDeletionPending")}
    again = definitionstatus.marked_deleted({**marked, "metadata": {**marked["metadata"]}}, BEFORE)
    assert again["metadata"] == marked["metadata"]
    assert states(definitionstatus.deleting(marked, NOW)) == {"Terminating": ("True", "InstanceDeletionInProgress")}
    never = definitionstatus.cleaned(marked, NOW)
    assert never["metadata"] == {"deletionTimestamp": NOW, "finalizers": ["a/b"]}
    assert states(never) == {"Terminating": ("False", "NeverEstablished")}
    established = definitionstatus.named(crd(finalizers=[CLEANUP_FINALIZER]), [], NOW)
    done = definitionstatus.cleaned(established, NOW)
    assert done["metadata"] == {}
    assert states(done)["Terminating"] == ("False", "InstanceDeletionCompleted")
