"""Assertions of absence do not pass because of a typo."""

import re

import pytest

from controllerlib import Request
from tests.harness.operators import build, config_map, nothing


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"verb": "craete"}, "verb='craete' matches no verb of the API: did you mean 'create'?"),
        ({"verb": "CREATE"}, "did you mean 'create'?"),
        ({"verb": "put", "resource": "configmaps"}, "did you mean 'update'?"),
        ({"resource": "ConfigMap"}, "resource='ConfigMap': did you mean 'configmaps'?"),
        ({"resource": "cm"}, "resource='cm': did you mean 'configmaps'?"),
        ({"resource": "confimaps"}, "resource='confimaps': the cluster does not have it: did you mean 'configmaps'?"),
        ({"resource": "deployments.apps"}, "did you mean 'deployments'?"),
    ],
    ids=lambda one: str(one) if isinstance(one, dict) else "",
)
def test_requests_with_a_verb_or_a_resource_that_does_not_exist_are_refused(fakekube, wanted, message):
    fakekube.create(config_map("a"))
    for call in (fakekube.requests, lambda **fields: fakekube.assert_requests(0, **fields)):
        with pytest.raises(ValueError, match=re.escape(message)):
            call(**wanted)
    with pytest.raises(ValueError, match=re.escape(message)):
        fakekube.processes.wait_for(**wanted)


@pytest.mark.parametrize(
    "wanted",
    [{"verb": "delete*"}, {"verb": "post"}, {"resource": ""}, {"resource": "*s"}, {"resource": "gadgets"}],
    ids=str,
)
def test_requests_that_could_exist_are_none(fakekube, wanted):
    fakekube.assert_requests(0, **wanted)


@pytest.mark.parametrize("key", ["a", Request("", "a")], ids=["text", "request"])
def test_a_key_without_the_namespace_of_its_kind_is_refused(fakekube, key):
    view = fakekube.start(build(nothing))["minder"]
    fakekube.create(config_map("a"))
    fakekube.settle()
    assert view.reconciles("default/a") == 1
    for call in (view.reconciles, view.causes, view.history, view.next_due, view.failures, view.results, view.errors):
        with pytest.raises(ValueError, match=r"key='a': a ConfigMap has a namespace: did you mean 'default/a'\?"):
            call(key)
    with pytest.raises(ValueError, match="did you mean 'default/a'"):
        view.enqueue(str(key))
    with pytest.raises(ValueError, match="did you mean 'default/a'"):
        fakekube.assert_reconciled(key, times=0)
    with pytest.raises(ValueError, match="did you mean 'default/a'"):
        view.assert_reconciled(key, times=0)


def test_a_key_with_a_namespace_that_its_kind_does_not_have_is_refused(fakekube):
    def add(manager):
        manager.controller("nodes").for_("v1", "Node").complete(nothing)

    view = fakekube.start(add)["nodes"]
    with pytest.raises(ValueError, match=r"key='default/n': a Node has no namespace: did you mean 'n'\?"):
        view.reconciles("default/n")


def test_keys_of_the_controllers_own_are_accepted(fakekube):
    view = fakekube.start(build(nothing))["minder"]
    view.enqueue(Request("", "everything"))
    fakekube.settle()
    assert (view.reconciles("everything"), view.reconciles("nothing")) == (1, 0)
