"""Who writes a policy or a binding with parameters must be allowed to read them (`admissionregistration/*/authz.go`)."""

from typing import Any

import pytest

from fakekube.apiserver.user import ADMIN, User
from tests.apiserver.api import Api
from tests.apiserver.validation.test_devicerules import granted

Object = dict[str, Any]
GROUP = "admissionregistration.k8s.io"
POLICIES = ("ValidatingAdmissionPolicy", "MutatingAdmissionPolicy")
CONFIG_MAP, SECRET = ({"apiVersion": "v1", "kind": kind} for kind in ("ConfigMap", "Secret"))
USER = "&{writer  [system:authenticated] map[]}"


def path(kind: str) -> str:
    plural = f"{kind.lower()[:-1]}ies" if kind.endswith("y") else f"{kind.lower()}s"
    return f"/apis/{GROUP}/v1/{plural}"


def policy(kind: str, params: Object | None, name: str = "p", **more: Any) -> Object:
    rule = {"apiGroups": ["x"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["xs"]}
    spec: Object = {"matchConstraints": {"resourceRules": [rule]}, **more}
    if params is not None:
        spec["paramKind"] = params
    if kind.startswith("V"):
        spec["validations"] = [{"expression": "true"}]
    else:
        spec |= {"reinvocationPolicy": "Never"}
        patch = {"expression": "[JSONPatch{op: 'test', path: '/a', value: 1}]"}
        spec["mutations"] = [{"patchType": "JSONPatch", "jsonPatch": patch}]
    return {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}


def binding(kind: str, ref: Object, of: str = "p") -> Object:
    spec = {"policyName": of, "paramRef": {"parameterNotFoundAction": "Deny", **ref}}
    if kind.startswith("V"):
        spec["validationActions"] = ["Deny"]
    return {"apiVersion": f"{GROUP}/v1", "kind": f"{kind}Binding", "metadata": {"name": "b"}, "spec": spec}


@pytest.fixture
def api() -> Api:
    return Api(authorization_mode="RBAC")


@pytest.fixture
def writer(api: Api) -> User:
    return granted(api, "writer", (GROUP, "*", "*"), ("", "configmaps", "get"))


@pytest.mark.parametrize("kind", POLICIES)
def test_param_kinds_must_be_readable(api: Api, writer: User, kind: str) -> None:
    dry = f"{path(kind)}?dryRun=All"
    for params in (None, CONFIG_MAP):
        api.ok("POST", dry, policy(kind, params), user=writer)
    for params in (SECRET, {"apiVersion": "no.example.com/v1", "kind": "Nothing"}):
        api.ok("POST", dry, policy(kind, params), user=ADMIN)
        shown = f"(kind={params['kind']}, apiVersion={params['apiVersion']})"
        why = f'user {USER} must have "get" permission on all objects of the referenced paramKind {shown}'
        found = api.refused("POST", dry, policy(kind, params), user=writer)[2]
        assert found.endswith(f"is invalid: spec.paramKind: Forbidden: {why}")


@pytest.mark.parametrize("kind", POLICIES)
def test_an_unchanged_param_kind_is_not_checked_again(api: Api, writer: User, kind: str) -> None:
    stored = api.ok("POST", path(kind), policy(kind, SECRET))
    one = f"{path(kind)}/p"
    changed = policy(kind, SECRET, failurePolicy="Ignore")
    changed["metadata"] |= {"resourceVersion": stored["metadata"]["resourceVersion"]}
    stored = api.ok("PUT", one, changed, user=writer)
    other = policy(kind, {"apiVersion": "v1", "kind": "Pod"})
    other["metadata"] |= {"resourceVersion": stored["metadata"]["resourceVersion"]}
    assert "spec.paramKind: Forbidden: " in api.refused("PUT", one, other, user=writer)[2]


def test_an_invalid_policy_is_not_checked(api: Api, writer: User) -> None:
    body = policy("ValidatingAdmissionPolicy", SECRET)
    body["spec"]["validations"] = [{"expression": "nosuch"}]
    assert "paramKind" not in api.refused("POST", path("ValidatingAdmissionPolicy"), body, user=writer)[2]


@pytest.mark.parametrize("kind", POLICIES)
def test_param_refs_must_be_readable(api: Api, writer: User, kind: str) -> None:
    api.ok("POST", path(kind), policy(kind, CONFIG_MAP, "open"))
    api.ok("POST", path(kind), policy(kind, SECRET, "closed"))
    api.ok("POST", path(kind), policy(kind, {"apiVersion": "no.example.com/v1", "kind": "Nothing"}, "unknown"))
    dry = f"{path(kind + 'Binding')}?dryRun=All"
    named, selected = {"name": "x", "namespace": "default"}, {"selector": {"matchLabels": {"a": "b"}}}
    api.ok("POST", dry, binding(kind, named, "open"), user=writer)
    api.ok("POST", dry, binding(kind, named, "closed"), user=ADMIN)

    def refusal(ref: Object, of: str) -> str:
        return api.refused("POST", dry, binding(kind, ref, of), user=writer)[2].partition("spec.paramRef: Forbidden: ")[
            2
        ]

    def lacking(verb: str) -> str:
        first, second = (USER, verb) if kind.startswith("V") else (verb, USER)
        return f'user {first} does not have "{second}" permission on the object referenced by paramRef'

    everything = f'and user {USER} does not have "get" permission for all groups, versions and resources'
    assert refusal(named, "closed") == lacking("get")
    assert refusal(selected, "open") == lacking("list")
    assert (
        refusal(named, "missing")
        == f"unable to get policy missing to determine minimum required permissions {everything}"
    )
    shown = "&{no.example.com/v1 Nothing}"
    assert refusal(named, "unknown") == (
        f"unable to resolve paramKind {shown} to determine minimum required permissions {everything}"
    )


def test_a_param_ref_is_checked_with_each_update(api: Api, writer: User) -> None:
    kind = POLICIES[0]
    api.ok("POST", path(kind), policy(kind, SECRET))
    body = binding(kind, {"name": "x", "namespace": "default"})
    stored = api.ok("POST", path(f"{kind}Binding"), body)
    body["metadata"] |= {"resourceVersion": stored["metadata"]["resourceVersion"]}
    assert "spec.paramRef: Forbidden" in api.refused("PUT", f"{path(f'{kind}Binding')}/b", body, user=writer)[2]
