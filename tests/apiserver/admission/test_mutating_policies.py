"""MutatingAdmissionPolicies."""

from tests.apiserver.api import CRDS

GROUP = "/apis/admissionregistration.k8s.io/v1"


def version(name, default, *, storage=False):
    spec = {"type": "object", "properties": {"d": {"type": "string", "default": default}, "z": {"type": "string"}}}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    return {"name": name, "served": True, "storage": storage, "schema": schema}


def test_a_mutation_is_applied_and_defaulted_in_the_version_of_the_policy(api):
    names = {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"}
    versions = [version("v1", "one", storage=True), version("v2", "two")]
    spec = {"group": "x.io", "scope": "Namespaced", "names": names, "versions": versions}
    api.ok("POST", CRDS, {"metadata": {"name": "things.x.io"}, "spec": spec})
    rule = {"apiGroups": ["x.io"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["things"]}
    removal = {"patchType": "JSONPatch", "jsonPatch": {"expression": '[JSONPatch{op: "remove", path: "/spec/d"}]'}}
    spec = {
        "reinvocationPolicy": "Never",
        "matchConstraints": {"matchPolicy": "Equivalent", "resourceRules": [rule]},
        "mutations": [removal],
    }
    api.ok("POST", f"{GROUP}/mutatingadmissionpolicies", {"metadata": {"name": "p"}, "spec": spec})
    binding = {"metadata": {"name": "b"}, "spec": {"policyName": "p"}}
    api.ok("POST", f"{GROUP}/mutatingadmissionpolicybindings", binding)
    thing = {"metadata": {"name": "a"}, "spec": {"z": "1"}}
    found = api.ok(
        "POST", "/apis/x.io/v2/namespaces/default/things", {**thing, "apiVersion": "x.io/v2", "kind": "Thing"}
    )
    assert found["spec"] == {"d": "one", "z": "1"}
