"""Admission policies: validating and mutating ones that apply to the namespace of the scenario."""

from __future__ import annotations

import copy
from typing import Any

from tests.differential.celexpressions import expression
from tests.differential.scenario import MERGE_PATCH, Draw, Object, Scenario, Step, create, patch

GROUP = "/apis/admissionregistration.k8s.io/v1"

VARIABLES = {
    "string": ("object.metadata.name", "object.metadata.namespace", "request.operation", "request.userInfo.username", "object.data.a", "request.name",
               "namespaceObject.metadata.name", "variables.s", "request.kind.kind", "object.metadata.labels.app", "string(request.dryRun)"),
    "int": ("size(object.metadata.name)", "object.spec.replicas", "variables.i", "size(request.userInfo.groups)", "size(object.data)"),
    "bool": ("has(object.data)", "object == oldObject", "oldObject == null", "has(object.spec)", "variables.b", "request.dryRun", "'app' in object.metadata.labels",
             "authorizer.group('').resource('pods').namespace('default').check('get').allowed()", "authorizer.path('/healthz').check('get').allowed()",
             "authorizer.serviceAccount('default', 'x').group('').resource('secrets').check('list').allowed()", "params.data.a == 'b'", "params == null"),
    "strings": ("request.userInfo.groups", "object.metadata.labels.map(k, k)"),
    "map": ("{'a': size(object.metadata)}",),
}  # fmt: skip

#: Those that are valid without params and variables.
PLAIN = {
    kind: tuple(one for one in every if "params" not in one and "variables" not in one)
    for kind, every in VARIABLES.items()
}

RESOURCES: tuple[Object, ...] = (
    {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]},
    {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps", "pods"]},
    {"apiGroups": ["apps"], "apiVersions": ["v1"], "resources": ["deployments"]},
    {"apiGroups": ["apps"], "apiVersions": ["v1"], "resources": ["deployments", "deployments/scale"]},
    {"apiGroups": ["", "apps"], "apiVersions": ["*"], "resources": ["pods", "configmaps", "deployments"]},
)
OPERATIONS = (["CREATE"], ["UPDATE"], ["CREATE", "UPDATE"], ["*"], ["DELETE"], ["CREATE", "UPDATE", "DELETE"])


def scenario(draw: Draw, namespace: str) -> Scenario:
    """Policies that are only tried, then some with bindings, and requests that they concern."""
    mutating = draw.chance(0.45)
    plural = "mutatingadmissionpolicies" if mutating else "validatingadmissionpolicies"
    make = _mutating if mutating else _validating
    steps = [
        create(f"{GROUP}/{plural}", make(draw, namespace, "t", 0.25), ("dryRun", "All"))
        for _ in range(draw.number(1, 3))
    ]
    steps.append(create(f"/api/v1/namespaces/{namespace}/configmaps", _configmap("params", {"a": "b"})))
    cleanup: list[str] = []
    draw.careful = True
    # several validating policies deny in another order each time
    for i in range(draw.weighted({1: 3, 2: 1}) if mutating else 1):
        policy = make(draw, namespace, f"p{i}", 0.0)
        binding = _binding(draw, namespace, policy)
        bindings = plural.replace("policies", "policybindings")
        steps += [create(f"{GROUP}/{plural}", policy), create(f"{GROUP}/{bindings}", binding)]
        cleanup += [
            f"{GROUP}/{bindings}/{binding['metadata']['name']}",
            f"{GROUP}/{plural}/{policy['metadata']['name']}",
        ]
    marks, removed = _mark(namespace, mutating)
    steps += [*marks, *_requests(draw, namespace)]
    return Scenario(steps, [*cleanup, *removed])


def kept() -> list[Step]:
    """Policies that stay, and apply to nothing: kube-apiserver forgets parameters for good when no bound policy has them."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE"]}
    spec: Object = {
        "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
        "matchConstraints": _matching("nosuch", rule),
    }
    mutation = {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object{}"}}
    mutating = {**spec, "mutations": [mutation], "reinvocationPolicy": "Never"}
    validating = {**spec, "validations": [{"expression": "true"}]}
    steps: list[Step] = []
    for kind, plural, content, bound in (
        ("MutatingAdmissionPolicy", "mutatingadmission", mutating, {}),
        ("ValidatingAdmissionPolicy", "validatingadmission", validating, {"validationActions": ["Deny"]}),
    ):
        binding = {
            "policyName": "differential-kept",
            "paramRef": {"name": "x", "namespace": "default", "parameterNotFoundAction": "Allow"},
            **bound,
        }
        steps += [
            create(f"{GROUP}/{plural}policies", {**_header("differential", kind, "kept"), "spec": content}),
            create(
                f"{GROUP}/{plural}policybindings",
                {**_header("differential", f"{kind}Binding", "kept"), "spec": binding},
            ),
        ]
    return steps


def _header(namespace: str, kind: str, name: str) -> Object:
    return {"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": f"{namespace}-{name}"}}


def _matching(namespace: str, rule: Object) -> Object:
    return {"namespaceSelector": {"matchLabels": {"of": namespace}}, "resourceRules": [rule]}


def _mark(namespace: str, mutating: bool) -> tuple[list[Step], list[str]]:
    """A policy that is created after the others, and waits until the server applies it."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["serviceaccounts"], "operations": ["CREATE"]}
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "mark"}}
    if mutating:
        kind, plural, until = "MutatingAdmissionPolicy", "mutatingadmissionpolicies", "metadata.annotations.mark"
        mutation = {
            "patchType": "ApplyConfiguration",
            "applyConfiguration": {"expression": "Object{metadata: Object.metadata{annotations: {'mark': 'x'}}}"},
        }
        spec: Object = {"mutations": [mutation], "reinvocationPolicy": "Never", "failurePolicy": "Fail"}
        bound: Object = {}
    else:
        kind, plural, until = "ValidatingAdmissionPolicy", "validatingadmissionpolicies", 422
        spec, bound = {"validations": [{"expression": "false"}]}, {"validationActions": ["Deny"]}
    # without its parameter the policy does nothing: it shows that the server knows the parameters, too
    spec["paramKind"] = {"apiVersion": "v1", "kind": "ConfigMap"}
    bound["paramRef"] = {"name": "params", "namespace": namespace, "parameterNotFoundAction": "Allow"}
    policy = {**_header(namespace, kind, "mark"), "spec": {**spec, "matchConstraints": _matching(namespace, rule)}}
    binding = {**_header(namespace, f"{kind}Binding", "mark"), "spec": {"policyName": f"{namespace}-mark", **bound}}
    paths = [f"{GROUP}/{plural}", f"{GROUP}/{plural.replace('policies', 'policybindings')}"]
    steps = [create(path, body, compared=False) for path, body in zip(paths, (policy, binding), strict=True)]
    steps.append(
        create(
            f"/api/v1/namespaces/{namespace}/serviceaccounts", account, ("dryRun", "All"), until=until, compared=False
        )
    )
    return steps, [f"{path}/{namespace}-mark" for path in reversed(paths)]


def _common(draw: Draw, namespace: str, wrong: float) -> Object:
    rule = {**copy.deepcopy(draw.one(RESOURCES)), "operations": draw.one(OPERATIONS)}
    if draw.chance(0.1):
        rule["resourceNames"] = ["a"]
    spec: Object = {
        "failurePolicy": draw.one(("Fail", "Fail", "Ignore")),
        "matchConstraints": _matching(namespace, rule),
    }
    if draw.chance(0.15):
        spec["matchConstraints"]["objectSelector"] = {"matchLabels": {"app": "a"}}
    if draw.chance(0.1):
        spec["matchConstraints"]["excludeResourceRules"] = [{**rule, "operations": ["DELETE"]}]
    if draw.chance(0.3):
        spec["matchConditions"] = [
            {"name": f"c{i}", "expression": expression(draw, "bool", PLAIN, 1, wrong)} for i in range(draw.number(1, 2))
        ]
    spec["variables"] = [
        {"name": name, "expression": expression(draw, kind, PLAIN, 1, wrong)}
        for name, kind in (("s", "string"), ("i", "int"), ("b", "bool"))
    ]
    if draw.chance(0.3):
        spec["paramKind"] = {"apiVersion": "v1", "kind": "ConfigMap"}
    return spec


def _known(spec: Object) -> Any:
    return (
        VARIABLES
        if "paramKind" in spec
        else {kind: tuple(one for one in every if "params" not in one) for kind, every in VARIABLES.items()}
    )


def _validating(draw: Draw, namespace: str, name: str, wrong: float) -> Object:
    spec = _common(draw, namespace, wrong)
    known = _known(spec)
    validations: list[Object] = []
    for _ in range(draw.number(1, 3)):
        one: Object = {"expression": expression(draw, "bool", known, draw.number(1, 2), wrong)}
        if draw.chance(0.3):
            one["message"] = draw.one(("bad", "not good"))
        if draw.chance(0.5):
            one["messageExpression"] = expression(draw, "string", known, draw.number(1, 2), wrong)
        if draw.chance(0.3):
            one["reason"] = draw.one(
                ("Forbidden", "Invalid", "RequestEntityTooLarge", "Unauthorized") + (() if not wrong else ("Other",))
            )
        validations.append(one)
    spec["validations"] = validations
    if draw.chance(0.3):
        spec["auditAnnotations"] = [{"key": "k", "valueExpression": expression(draw, "string", known, 1, wrong)}]
    return {**_header(namespace, "ValidatingAdmissionPolicy", name), "spec": spec}


APPLIED = (
    "Object{metadata: Object.metadata{labels: {'x': %s}}}",
    "Object{metadata: Object.metadata{annotations: {'y': %s, 'z': 'w'}}}",
    "Object{data: {'m': %s}}",
    "has(object.data) ? Object{data: {'n': %s}} : Object{}",
    "Object{spec: Object.spec{replicas: size(%s)}}",
    "Object{spec: Object.spec{template: Object.spec.template{metadata: Object.spec.template.metadata{labels: {'t': %s}}}}}",
    "Object{spec: Object.spec{containers: [Object.spec.containers.item{name: 'c', image: %s}]}}",
    "Object{spec: Object.spec{containers: [Object.spec.containers.item{name: %s, image: 'side'}]}}",
    "Object{spec: Object.spec{nosuch: %s}}",
    "Object{kind: %s}",
    "Object{metadata: Object.metadata{name: %s}}",
)
JSON = (
    "[JSONPatch{op: 'add', path: '/metadata/labels/j', value: %s}]",
    "[JSONPatch{op: 'add', path: '/data', value: {'a': %s}}]",
    "[JSONPatch{op: 'replace', path: '/data/a', value: %s}]",
    "[JSONPatch{op: 'test', path: '/data/a', value: %s}, JSONPatch{op: 'remove', path: '/data/a'}]",
    "[JSONPatch{op: 'remove', path: '/metadata/labels/' + jsonpatch.escapeKey(%s)}]",
    "[JSONPatch{op: 'copy', from: '/metadata/name', path: '/metadata/labels/c'}, JSONPatch{op: 'add', path: '/metadata/annotations', value: {'q': %s}}]",
    "[JSONPatch{op: 'add', path: '/spec/template/spec/containers/-', value: Object.spec.template.spec.containers{name: 'x', image: %s}}]",
    "has(object.spec) ? [JSONPatch{op: 'add', path: '/spec/replicas', value: size(%s)}] : []",
    "[JSONPatch{op: 'move', from: '/data/a', path: '/data/' + %s}]",
)


def _mutating(draw: Draw, namespace: str, name: str, wrong: float) -> Object:
    spec = _common(draw, namespace, wrong)
    known = _known(spec)
    mutations: list[Object] = []
    for _ in range(draw.number(1, 2)):
        inner = "'v'" if draw.chance(0.4) else expression(draw, "string", known, 1, wrong)
        if draw.chance(0.55):
            mutations.append(
                {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": draw.one(APPLIED) % inner}}
            )
        else:
            mutations.append({"patchType": "JSONPatch", "jsonPatch": {"expression": draw.one(JSON) % inner}})
    if wrong and draw.chance(0.15):
        mutations[0][draw.one(("patchType", "jsonPatch", "applyConfiguration"))] = draw.one(
            (None, "Other", {}, {"expression": ""})
        )
    spec |= {"mutations": mutations, "reinvocationPolicy": draw.one(("Never", "IfNeeded"))}
    return {**_header(namespace, "MutatingAdmissionPolicy", name), "spec": spec}


def _binding(draw: Draw, namespace: str, policy: Object) -> Object:
    name = policy["metadata"]["name"]
    spec: Object = {"policyName": name}
    if policy["kind"] == "ValidatingAdmissionPolicy":
        spec["validationActions"] = draw.one(
            (["Deny"], ["Deny"], ["Warn"], ["Audit"], ["Warn", "Audit"], ["Deny", "Audit"])
        )
    if "paramKind" in policy["spec"]:
        ref: Object = draw.one(
            ({"name": "params"}, {"name": "params"}, {"name": "nosuch"}, {"selector": {"matchLabels": {"app": "a"}}})
        )
        spec["paramRef"] = {**ref, "namespace": namespace, "parameterNotFoundAction": draw.one(("Deny", "Allow"))}
    if draw.chance(0.1):
        spec["matchResources"] = {"objectSelector": {"matchLabels": {"app": "a"}}}
    kind = f"{policy['kind']}Binding"
    return {**_header(namespace, kind, "x"), "metadata": {"name": name}, "spec": spec}


def _configmap(name: str, data: Object) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": {"app": "a"}}, "data": data}


def _requests(draw: Draw, namespace: str) -> list[Step]:
    core = f"/api/v1/namespaces/{namespace}"
    apps = f"/apis/apps/v1/namespaces/{namespace}/deployments"
    small = {"containers": [{"name": "c", "image": "x"}]}
    bodies = {
        f"{core}/configmaps": [_configmap("a", {"a": "b"}), _configmap("b", {}), {**_configmap("c", {"a": "1.2.3.4"}), "metadata": {"name": "c"}}],
        f"{core}/pods": [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "labels": {"app": "a"}}, "spec": small}],
        apps: [{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}, "spec": {
            "replicas": 2, "selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": small}}}],
    }  # fmt: skip
    made: list[tuple[str, Object]] = []
    steps: list[Step] = []
    for _ in range(draw.number(5, 8)):
        kind = draw.weighted({"create": 5, "put": 2, "patch": 2, "delete": 1, "scale": 1}) if made else "create"
        dry = (("dryRun", "All"),) if draw.chance(0.2) else ()
        if kind == "create":
            collection = draw.one(tuple(bodies))
            body = draw.one(bodies[collection])
            made.append((f"{collection}/{body['metadata']['name']}", body))
            steps.append(create(collection, body, *dry))
            continue
        path, body = draw.one(made)
        if kind == "put":
            steps.append(
                Step(
                    "PUT",
                    path,
                    {**body, "metadata": {**body["metadata"], "annotations": {"n": str(draw.number(0, 9))}}},
                    dry,
                )
            )
        elif kind == "patch":
            steps.append(patch(path, MERGE_PATCH, {"metadata": {"labels": {"app": draw.one(("a", "b", None))}}}, *dry))
        elif kind == "scale" and "deployments" in path:
            steps.append(patch(f"{path}/scale", MERGE_PATCH, {"spec": {"replicas": draw.number(0, 5)}}, *dry))
        else:
            steps.append(Step("DELETE", path, query=dry))
    return steps
