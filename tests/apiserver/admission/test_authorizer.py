"""What the variable `authorizer` of an admission policy asks the authorizers."""

from types import SimpleNamespace

import pytest

from fakekube.apiserver.admission.evaluation import _authorizer
from fakekube.apiserver.auth.rbac import Decision
from fakekube.apiserver.user import User
from fakekube.apiserver.wire.request import Request, parse

ALICE = User("alice", groups=("dev",))


@pytest.fixture
def asked():
    return []


@pytest.fixture
def authorizer(asked):
    def decide(user, info):
        asked.append((user, info))
        return Decision(True, "may")

    info = parse(Request("PUT", "/apis/apps/v1/namespaces/a/deployments/d/scale"))
    call = SimpleNamespace(server=SimpleNamespace(decide=decide), user=ALICE, info=info)
    return _authorizer(SimpleNamespace(call=call, name="d"))


def parts(info):
    return info.verb, info.group, info.version, info.namespace, info.resource, info.subresource, info.name


def test_the_resource_of_the_request(authorizer, asked):
    check = authorizer["requestResource"]
    answer = check.ask(check, "get")
    assert (answer.allowed, answer.reason) == (True, "may")
    [(user, info)] = asked
    assert (user, parts(info)) == (ALICE, ("get", "apps", "*", "a", "deployments", "scale", "d"))


def test_a_resource_without_further_fields(authorizer, asked):
    check = authorizer.start.having("resource", "pods")
    check.ask(check, "list")
    [(_, info)] = asked
    assert (info.is_resource, parts(info)) == (True, ("list", "", "*", "", "pods", "", ""))


def test_a_service_account_has_its_groups(authorizer):
    user = authorizer.for_account("space", "name")["requestResource"].user
    assert user.name == "system:serviceaccount:space:name"
    assert user.groups == ("system:serviceaccounts", "system:serviceaccounts:space", "system:authenticated")
    assert authorizer.for_account("space", "name").start.user == user


def test_types_of_checks(authorizer):
    start = authorizer.start
    found = [start, start.having("group", "apps"), start.having("group", "apps").having("resource", "pods")]
    assert [one.cel_type.rpartition(".")[2] for one in found] == ["PathCheck", "GroupCheck", "ResourceCheck"]
