"""RBAC decisions, which are cached while no role and no binding changes."""

import random

import pytest

from fakekube.apiserver.auth import rbac
from fakekube.apiserver.storage.store import Store
from fakekube.apiserver.user import User
from fakekube.apiserver.wire.request import RequestInfo
from fakekube.apiserver.wire.status import together

GROUP = rbac.GROUP
ALICE, BOB = User("alice", groups=("dev",)), User("bob")


def put(store, kind, path, obj):
    """Writes an object, or deletes it (None)."""
    collection = f"{kind}.{GROUP}"
    before = store.get(collection, path)
    if obj is None:
        return store.delete(collection, path, before) if before else None
    namespace, _, name = path.rpartition("/")
    obj = {"metadata": {"name": name, **({"namespace": namespace} if namespace else {})}, **obj}
    return store.update(collection, path, before, obj) if before else store.create(collection, path, obj)


def role(verbs=("get",), resources=("pods",), groups=("",), **more):
    return {"rules": [{"verbs": list(verbs), "apiGroups": list(groups), "resources": list(resources), **more}]}


def binding(name, *subjects, kind="Role"):
    shown = [{"kind": kind, "name": name} for kind, name in subjects]
    return {"roleRef": {"apiGroup": GROUP, "kind": kind, "name": name}, "subjects": shown}


def asks(verb="get", resource="pods", *, name="a", namespace="n", group="", subresource=""):
    return RequestInfo(
        verb, "", is_resource=True, group=group, version="v1", namespace=namespace, resource=resource, name=name,
        subresource=subresource,
    )  # fmt: skip


@pytest.fixture
def store():
    made = Store()
    put(made, "roles", "n/reader", role())
    put(made, "rolebindings", "n/readers", binding("reader", ("User", "alice")))
    return made


def allowed(store, user, info):
    return rbac.authorize(store, user, info).allowed


def test_the_cache_is_invalidated_with_a_role_or_binding(store):
    assert allowed(store, ALICE, asks())
    assert not allowed(store, ALICE, asks("list"))
    put(store, "roles", "n/reader", role(("list",)))
    assert not allowed(store, ALICE, asks())
    assert allowed(store, ALICE, asks("list"))
    put(store, "rolebindings", "n/readers", None)
    assert not allowed(store, ALICE, asks("list"))
    put(store, "clusterroles", "everything", role("*", "*", "*"))
    put(store, "clusterrolebindings", "all", binding("everything", ("Group", "dev"), kind="ClusterRole"))
    assert allowed(store, ALICE, asks("list"))
    assert not allowed(store, BOB, asks("list"))


def test_the_cache_is_valid_after_compaction(store):
    assert allowed(store, ALICE, asks())
    put(store, "rolebindings", "n/readers", None)
    store.compact()
    assert not allowed(store, ALICE, asks())
    put(store, "rolebindings", "n/readers", binding("reader", ("User", "alice")))
    store.compact()
    assert allowed(store, ALICE, asks())


def test_names_are_checked_for_each_request(store):
    put(store, "roles", "n/reader", role(resourceNames=["a", "b"]))
    assert [allowed(store, ALICE, asks(name=name)) for name in ("a", "c", "b", "")] == [True, False, True, False]


def test_users_namespaces_and_groups_are_distinguished(store):
    assert allowed(store, ALICE, asks())
    assert not allowed(store, User("alice2"), asks())
    assert not allowed(store, BOB, asks())
    assert not allowed(store, ALICE, asks(namespace="other"))
    assert not allowed(store, ALICE, asks(namespace=""))
    assert not allowed(store, ALICE, asks(group="apps"))
    assert not allowed(store, ALICE, asks(subresource="log"))
    assert not allowed(store, ALICE, RequestInfo("get", "/metrics"))


def test_the_reason_is_the_first_binding_that_allows(store):
    put(store, "rolebindings", "n/a-first", binding("reader", ("Group", "dev")))
    text = 'RBAC: allowed by RoleBinding "{}/n" of Role "reader" to {}'
    assert rbac.authorize(store, ALICE, asks()).reason == text.format("a-first", 'Group "dev"')
    put(store, "rolebindings", "n/a-first", None)
    assert rbac.authorize(store, ALICE, asks()).reason == text.format("readers", 'User "alice"')


def test_bindings_to_missing_roles_are_the_reason(store):
    put(store, "rolebindings", "n/x", binding("gone", ("User", "bob"), kind="Role"))
    assert rbac.authorize(store, BOB, asks()).reason == 'RBAC: role.rbac.authorization.k8s.io "gone" not found'
    put(store, "clusterrolebindings", "y", binding("lost", ("User", "bob"), kind="ClusterRole"))
    assert rbac.authorize(store, BOB, asks()).reason == (
        'RBAC: [clusterrole.rbac.authorization.k8s.io "lost" not found, '
        'role.rbac.authorization.k8s.io "gone" not found]'
    )
    assert rbac.authorize(store, ALICE, asks()).reason.startswith("RBAC: allowed by ")


def test_namespaces_without_bindings_share_their_decisions(store):
    put(store, "clusterroles", "reader", role())
    put(store, "clusterrolebindings", "bobs", binding("reader", ("User", "bob"), kind="ClusterRole"))
    for namespace in ("a", "b", "c"):
        assert allowed(store, BOB, asks(namespace=namespace))
        assert not allowed(store, ALICE, asks(namespace=namespace))
    assert len(store.derived(rbac.RuleCache).current()) == 2
    put(store, "rolebindings", "b/readers", binding("reader", ("User", "alice"), kind="ClusterRole"))
    assert [allowed(store, ALICE, asks(namespace=namespace)) for namespace in ("a", "b", "c")] == [False, True, False]


def test_servers_do_not_share_the_cache(store):
    assert allowed(store, ALICE, asks())
    assert not allowed(Store(), ALICE, asks())


def test_the_size_of_the_cache_is_limited(store, monkeypatch):
    monkeypatch.setattr(rbac, "CACHE_LIMIT", 10)
    for number in range(100):
        assert not allowed(store, ALICE, RequestInfo("get", f"/{number}"))
        assert len(store.derived(rbac.RuleCache).entries) <= 10


@pytest.mark.parametrize("seed", range(5))
def test_cached_decisions_equal_new_ones(seed):
    chance, store = random.Random(seed), Store()
    verbs, resources, names = ("get", "list", "*"), ("pods", "pods/log", "*/log", "*"), ((), ("a",), ("b", "c"))
    for _ in range(400):
        kind, path = chance.choice(
            [("roles", "n/r"), ("roles", "n/s"), ("clusterroles", "r"), ("rolebindings", "n/b"),
             ("rolebindings", "n/c"), ("clusterrolebindings", "b")]
        )  # fmt: skip
        if chance.random() < 0.2:
            put(store, kind, path, None)
        elif kind.endswith("bindings"):
            of = "ClusterRole" if kind.startswith("cluster") else chance.choice(["Role", "ClusterRole"])
            subject = chance.choice([("User", "alice"), ("Group", "dev"), ("User", "bob")])
            put(store, kind, path, binding(chance.choice("rs"), subject, kind=of))
        else:
            made = role([chance.choice(verbs)], [chance.choice(resources)])
            made["rules"][0]["resourceNames"] = list(chance.choice(names))
            put(store, kind, path, made)
        for _ in range(5):
            info = asks(
                chance.choice(verbs[:2]), name=chance.choice("abc"), namespace=chance.choice(["n", ""]),
                subresource=chance.choice(["", "log"]),
            )  # fmt: skip
            user = chance.choice([ALICE, BOB])
            reasons = [
                reason
                for reason, rule in rbac.rules_for(store, user, info.namespace)
                if rbac._rule_matches(rule, info) and info.name in (rule["resourceNames"] or [info.name])
            ]
            problems = []
            list(rbac.rules_for(store, user, info.namespace, problems))
            why = f"RBAC: {together(problems)}" if problems else ""
            anew = rbac.Decision(True, reasons[0]) if reasons else rbac.Decision(False, why)
            assert rbac.authorize(store, user, info) == anew
