"""What the server remembers between requests: it saves work, is bounded, and ends when what it depends on changes."""

import pytest

from fakekube.apiserver import flowcontrol
from fakekube.apiserver.auth import jsonwebtoken, rbac
from fakekube.apiserver.auth.jsonwebtoken import KeySet, derived_key
from fakekube.apiserver.registry.generic.validation import labelselectors, rules
from fakekube.apiserver.registry.generic.validation.field import Field
from fakekube.apiserver.registry.generic.validation.rules import memoized
from fakekube.apiserver.user import ADMIN
from tests.apiserver.api import CONFIGMAPS, Api, info

ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_a_rule_is_not_repeated_for_the_last_valid_values(monkeypatch, limit):
    monkeypatch.setattr(rules, "MEMORY", limit)
    called = []

    @memoized("name", maps=["labels"])
    def rule(field: Field, least: int) -> None:
        called.append(field["name"].value)
        field["name"].invalid_if("is bad" if field["name"].value == "bad" else "")

    def check(name, least=0, **labels):
        before = len(called)
        rule(Field({"name": name, "labels": labels}), least)
        return len(called) > before

    for name in range(limit):
        assert check(f"n{name}")
    assert not any(check(f"n{name}") for name in range(limit))
    assert check("more")  # all others are forgotten
    assert not check("more")
    assert check("n0") is True
    assert [check("bad"), check("bad")] == [True, True]


def test_a_rule_is_repeated_for_other_members_and_arguments():
    called = []

    @memoized("name", maps=["labels"])
    def rule(field: Field, least: int) -> None:
        called.append(field.value)

    for value, least in (
        ({"name": "a"}, 0), ({"name": "a"}, 1), ({"name": "b"}, 0), ({"name": "a", "labels": {"x": "1"}}, 0),
        ({"name": "a", "labels": {"x": "2"}}, 0), ({"labels": {"x": "2"}}, 0),
    ):  # fmt: skip
        before = len(called)
        for _ in range(2):
            rule(Field(value), least)
        assert len(called) == before + 1
    rule(Field({"name": "a", "other": 1}), 0)  # the rule does not depend on it
    assert len(called) == 6


def test_valid_labels_are_remembered_up_to_a_number(monkeypatch):
    monkeypatch.setattr(labelselectors, "MEMORY", 3)
    monkeypatch.setattr(labelselectors, "_valid", set())
    sizes = []
    for number in range(8):
        labelselectors.validate_labels(Field({"a": f"v{number}"}))
        sizes.append(len(labelselectors._valid))
    assert sizes == [1, 2, 3, 1, 2, 3, 1, 2]
    labelselectors.validate_labels(Field({"a": "not valid", "b": "ok"}))
    assert ("a", "not valid") not in labelselectors._valid


def test_verified_tokens_are_remembered_up_to_a_number(monkeypatch):
    monkeypatch.setattr(jsonwebtoken, "CACHE_LIMIT", 3)
    keys = KeySet(derived_key)
    sizes = []
    for number in range(5):
        token = keys.sign({"n": number})
        assert keys.claims(token) == {"n": number}
        assert keys.claims(token) is keys.claims(token)
        sizes.append(len(keys._valid))
    assert sizes == [1, 2, 3, 1, 2]


def test_rules_of_requests_are_remembered_while_no_role_changes(monkeypatch):
    monkeypatch.setattr(rbac, "CACHE_LIMIT", 3)
    api = Api(authorization_mode="RBAC")
    cache = rbac.RuleCache(api.apiserver.store)
    for size in range(3):
        assert len(cache.current()) == size
        cache.current()[size] = ()
    assert cache.current() == {}
    cache.current()["a"] = ()
    api.ok("POST", CONFIGMAPS, {"metadata": {"name": "a"}})
    assert list(cache.current()) == ["a"]
    api.ok("POST", ROLES, {"metadata": {"name": "r"}, "rules": []})
    assert cache.current() == {}


def test_classifications_of_requests_are_remembered_up_to_a_number(monkeypatch):
    monkeypatch.setattr(flowcontrol, "CACHE_LIMIT", 3)
    api = Api()
    classifier = flowcontrol.Classifier(api.apiserver.store)
    sizes = []
    for number in range(5):
        classifier.dispatch(ADMIN, info("list", namespace=f"n{number}"))
        sizes.append(len(classifier._cache))
    assert sizes == [1, 2, 3, 1, 2]
    assert sum(classifier.dispatched.values()) == 5
