"""The rules of webhooks and policies: which requests they match (`rules.Matcher`)."""

from types import SimpleNamespace
from typing import Any

import pytest

from fakekube.apiserver.admission.matching import rule_matches

ALL = {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"]}


def does_match(
    rule: dict[str, Any], plural: str = "pods", *, namespace: str = "default", subresource: str = "", name: str = "a"
) -> bool:
    resource: Any = SimpleNamespace(group="apps", version="v1", plural=plural)
    call = SimpleNamespace(namespace=namespace, info=SimpleNamespace(subresource=subresource))
    attributes: Any = SimpleNamespace(call=call, operation="UPDATE", name=name, is_namespace=plural == "namespaces")
    return rule_matches({**ALL, **rule}, attributes, resource)


@pytest.mark.parametrize(
    ("rule", "found"),
    [
        ({}, True),
        ({"operations": ["UPDATE"]}, True),
        ({"operations": ["CREATE", "UPDATE"]}, True),
        ({"operations": ["CREATE", "*"]}, True),
        ({"operations": ["CREATE"]}, False),
        ({"operations": []}, False),
        ({"operations": None}, False),
        ({"apiGroups": ["apps"]}, True),
        ({"apiGroups": ["", "apps"]}, True),
        ({"apiGroups": [""]}, False),
        ({"apiGroups": []}, False),
        ({"apiVersions": ["v1beta1", "v1"]}, True),
        ({"apiVersions": ["v1beta1"]}, False),
        ({"resources": []}, False),
        ({"resourceNames": []}, True),
        ({"resourceNames": ["b", "a"]}, True),
        ({"resourceNames": ["b"]}, False),
    ],
)
def test_the_parts_of_a_rule(rule: dict[str, Any], found: bool) -> None:
    assert does_match(rule) is found


@pytest.mark.parametrize(
    ("text", "whole", "status"),
    [
        ("*", True, False),
        ("*/*", True, True),
        ("pods", True, False),
        ("pods/*", True, True),
        ("pods/status", False, True),
        ("*/status", False, True),
        ("pods/scale", False, False),
        ("nodes", False, False),
        ("nodes/*", False, False),
    ],
)
def test_resources_and_their_subresources(text: str, whole: bool, status: bool) -> None:
    rule = {"resources": ["secrets", text]}
    assert does_match(rule) is whole
    assert does_match(rule, subresource="status") is status


@pytest.mark.parametrize(
    ("scope", "in_namespace", "cluster", "of_namespace"),
    [
        ("*", True, True, True),
        (None, True, True, True),
        ("Namespaced", True, False, False),
        ("Cluster", False, True, True),
    ],
)
def test_a_namespace_is_not_in_a_namespace(
    scope: str | None, in_namespace: bool, cluster: bool, of_namespace: bool
) -> None:
    rule = {"scope": scope}
    assert does_match(rule) is in_namespace
    assert does_match(rule, "nodes", namespace="") is cluster
    assert does_match(rule, "namespaces", namespace="") is of_namespace
    assert does_match(rule, "namespaces", namespace="a") is of_namespace
