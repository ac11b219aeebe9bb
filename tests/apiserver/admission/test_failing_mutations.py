"""MutatingAdmissionPolicies that fail: their configuration, their conditions, and the patches that they make."""

import pytest

from tests.apiserver.api import CONFIGMAPS, PODS, configmap

GROUP = "/apis/admissionregistration.k8s.io/v1"
DATA = "Object{data: {'mutated': 'yes'}}"
NO_PARAMS = "no params found for policy binding with `Deny` parameterNotFoundAction"


def mutating(api, expression, *, resource="configmaps", binding=None, **spec):
    """Creates a policy for new objects, and its binding."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": [resource]}
    policy = {
        "reinvocationPolicy": "Never",
        "matchConstraints": {"resourceRules": [rule]},
        "mutations": [{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}],
        **spec,
    }
    api.ok("POST", f"{GROUP}/mutatingadmissionpolicies", {"metadata": {"name": "p"}, "spec": policy})
    bound = {"policyName": "p", **(binding or {})}
    api.ok("POST", f"{GROUP}/mutatingadmissionpolicybindings", {"metadata": {"name": "b"}, "spec": bound})


CONDITION = {"matchConditions": [{"name": "c", "expression": "object.data.missing == 'x'"}]}
UNKNOWN = {"paramKind": {"apiVersion": "x.io/v1", "kind": "Nothing"}}
WITHOUT = {
    "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
    "binding": {"paramRef": {"name": "gone", "parameterNotFoundAction": "Deny"}},
}


@pytest.mark.parametrize(
    ("spec", "reason", "why"),
    [
        pytest.param(
            UNKNOWN,
            "Forbidden",
            'policy "p" denied request: failed to configure policy: failed to find resource referenced by paramKind: '
            "'x.io/v1, Kind=Nothing'",
            id="an unknown kind of parameters",
        ),
        pytest.param(
            WITHOUT,
            "Forbidden",
            f"policy 'p' with binding 'b' denied request: failed to configure binding: {NO_PARAMS}",
            id="no parameters",
        ),
        pytest.param(
            CONDITION,
            "Invalid",
            "policy 'p' with binding 'b' denied request: expression 'object.data.missing == 'x'' resulted in error: "
            "no such key: missing",
            id="a condition",
        ),
    ],
)
def test_what_cannot_run_refuses_the_request_unless_failures_are_ignored(api, spec, reason, why):
    mutating(api, DATA, **spec)
    found = api.refused("POST", CONFIGMAPS, configmap(data={"a": "1"}))
    assert found == (403, reason, why)
    api.ok(
        "PATCH",
        f"{GROUP}/mutatingadmissionpolicies/p",
        {"spec": {"failurePolicy": "Ignore"}},
        content_type="application/merge-patch+json",
    )
    assert api.ok("POST", CONFIGMAPS, configmap(data={"a": "1"}))["data"] == {"a": "1"}


POD = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "a", "image": "i"}]}}
CONTAINER = "Object.spec.containers"


@pytest.mark.parametrize(
    ("spec", "paths"),
    [
        (f"containers: [{CONTAINER}{{name: 'a', args: ['x']}}]", ".spec.containers[0].args"),
        (
            f"containers: [{CONTAINER}{{name: 'b'}}, {CONTAINER}{{name: 'a', command: ['x'], args: ['x']}}]",
            ".spec.containers[1].command, .spec.containers[1].args",
        ),
        (
            "tolerations: [Object.spec.tolerations{key: 'k'}], "
            "securityContext: Object.spec.securityContext{supplementalGroups: [1]}",
            ".spec.tolerations, .spec.securityContext.supplementalGroups",
        ),
        (
            "topologySpreadConstraints: [Object.spec.topologySpreadConstraints{topologyKey: 'k', "
            "whenUnsatisfiable: 'DoNotSchedule', maxSkew: 1, "
            "labelSelector: Object.spec.topologySpreadConstraints.labelSelector{matchExpressions: []}}]",
            ".spec.topologySpreadConstraints[0].labelSelector, "
            ".spec.topologySpreadConstraints[0].labelSelector.matchExpressions",
        ),
    ],
)
def test_all_atomic_parts_of_an_apply_configuration_are_told(api, spec, paths):
    mutating(api, f"Object{{spec: Object.spec{{{spec}}}}}", resource="pods")
    assert api.refused("POST", PODS, POD)[2].endswith(
        "error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: " + paths
    )


@pytest.mark.parametrize(
    "spec",
    [
        f"containers: [{CONTAINER}{{name: 'a', image: 'new'}}]",
        "nodeSelector: {'a': 'b'}",
        "imagePullSecrets: [Object.spec.imagePullSecrets{name: 's'}]",
    ],
)
def test_what_has_no_atomic_part_is_merged(api, spec):
    # a node selector is an atomic map; the references of pull secrets are atomic structs
    mutating(api, f"Object{{spec: Object.spec{{{spec}}}}}", resource="pods")
    code, _ = api.call("POST", PODS, POD)
    assert (code == 201) is ("image:" in spec)


@pytest.mark.parametrize(
    ("expression", "name", "expected"),
    [
        ("Object{spec: Object.spec{containers: [Object.containers{name: 'a'}]}}", "Object.containers", CONTAINER),
        (
            "Object{spec: Object.spec{containers: [Object.spec.containers{name: 'a', "
            "resources: Object.spec.resources{}}]}}",
            "Object.spec.resources",
            f"{CONTAINER}.resources",
        ),
    ],
)
def test_the_types_inside_of_lists_are_named_after_their_fields(api, expression, name, expected):
    mutating(api, expression, resource="pods")
    assert f'type mismatch: unexpected type name "{name}", expected "{expected}"' in api.refused("POST", PODS, POD)[2]
