"""The controller of the status of ValidatingAdmissionPolicies, through the API."""

import pytest

API_VERSION, KIND = "admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy"

pytestmark = pytest.mark.fakekube(controllers=["validatingadmissionpolicy-status"], rbac=True)

WIDGETS = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.com"},
    "spec": {
        "group": "example.com",
        "names": {"kind": "Widget", "plural": "widgets", "singular": "widget"},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}},
                    }
                },
            }
        ],
    },
}


def policy(*expressions, group="scheduling.k8s.io", resources=("priorityclasses",), **spec):
    rule = {"apiGroups": [group], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": list(resources)}
    validations = [{"expression": one} for one in expressions]
    spec = {"matchConstraints": {"resourceRules": [rule]}, "validations": validations, **spec}
    return {"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": "p"}, "spec": spec}


def status(fakekube):
    fakekube.settle()
    return fakekube.get(API_VERSION, KIND, "p").get("status")


def warnings(fakekube):
    found = status(fakekube)["typeChecking"].get("expressionWarnings", ())
    return [(one["fieldRef"], one["warning"].splitlines()[0]) for one in found]


def test_a_policy_without_faults_is_observed(fakekube):
    fakekube.create(policy("object.value < 5 && object.metadata.labels.app == 'web'"))
    assert status(fakekube) == {"observedGeneration": 1, "typeChecking": {}}


def test_warnings_follow_the_generation(fakekube):
    fakekube.create(policy("object.values < 5"))
    (warning,) = status(fakekube)["typeChecking"]["expressionWarnings"]
    assert warning == {
        "fieldRef": "spec.validations[0].expression",
        "warning": "scheduling.k8s.io/v1, Kind=PriorityClass: ERROR: <input>:1:7: undefined field 'values'\n"
        " | object.values < 5\n | ......^\n",
    }
    fakekube.patch(API_VERSION, KIND, "p", {"spec": {"validations": [{"expression": "object.value < 5"}]}})
    assert status(fakekube) == {"observedGeneration": 2, "typeChecking": {}}


def test_the_status_is_applied_once_for_a_generation(fakekube):
    fakekube.create(policy("object.values < 5"))
    written = fakekube.get(API_VERSION, KIND, "p") if status(fakekube) else None
    (manager,) = [one for one in written["metadata"]["managedFields"] if one.get("subresource") == "status"]
    assert (manager["manager"], manager["operation"]) == ("validatingadmissionpolicy-status-controller", "Apply")
    fakekube.patch(API_VERSION, KIND, "p", {"metadata": {"labels": {"a": "b"}}})
    assert status(fakekube)["observedGeneration"] == 1
    assert [one.user_agent.rpartition("/")[2] for one in fakekube.requests(verb="patch", subresource="status")] == [
        "system:serviceaccount:kube-system:validatingadmissionpolicy-status-controller"
    ]


def test_custom_kinds_and_their_changes_are_known(fakekube):
    fakekube.create(WIDGETS)
    fakekube.create(policy("object.spec.colour == ''", group="example.com", resources=["widget", "widgets"]))
    said = "example.com/v1, Kind=Widget: ERROR: <input>:1:12: undefined field 'colour'"
    assert warnings(fakekube) == [("spec.validations[0].expression", said)]
    changed = {**WIDGETS["spec"]["versions"][0]}
    spec = {"type": "object", "properties": {"colour": {"type": "string"}}}
    changed["schema"] = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    name = WIDGETS["metadata"]["name"]
    fakekube.patch("apiextensions.k8s.io/v1", "CustomResourceDefinition", name, {"spec": {"versions": [changed]}})
    fakekube.patch(API_VERSION, KIND, "p", {"spec": {"failurePolicy": "Ignore"}})
    assert warnings(fakekube) == []


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("Lease", []),
        ("LeaseList", ["undefined field 'spec'"]),
        ("Unknown", ["undeclared reference to 'params' (in container '')"]),
    ],
)
def test_the_kind_of_parameters_is_looked_up(fakekube, kind, said):
    fakekube.create(
        policy("params.spec.holderIdentity == ''", paramKind={"apiVersion": "coordination.k8s.io/v1", "kind": kind})
    )
    assert [text.rpartition(": ")[2] for _, text in warnings(fakekube)] == said


def test_a_group_that_is_not_served_has_no_warnings(fakekube):
    fakekube.create(policy("object.foo == 1", paramKind={"apiVersion": "gone.com/v1", "kind": "X"}, group="gone.com"))
    assert status(fakekube) == {"observedGeneration": 1, "typeChecking": {}}
