"""What the controllers of namespaces, accounts, tokens and ranges read and write, and which errors they pass on."""

import asyncio
import base64
from types import SimpleNamespace

import pytest

from controllerlib import ApiError, Request
from fakekube.controllers.core import defaultaccounts, rootcapublisher
from fakekube.controllers.core.servicecidrs import ServiceCidrController
from fakekube.controllers.core.tokensecrets import Item, TokenSecretController
from fakekube.controllers.settings import Settings
from tests.controllers.workloads import NOW, stamp

NOT_FOUND, CONFLICT = ApiError(404, "NotFound", "x"), ApiError(409, "Conflict", "x")
EXISTS, BROKEN = ApiError(409, "AlreadyExists", "x"), ApiError(500, "InternalError", "broken")
ENDING = ApiError(403, "Forbidden", "x", {"details": {"causes": [{"reason": "NamespaceTerminating"}]}})


class HeldKind:
    """The objects of one kind."""

    def __init__(self, *objects):
        self.objects = objects

    def get(self, namespace, name):
        return next(
            (
                one
                for one in self.objects
                if (one["metadata"].get("namespace", ""), one["metadata"]["name"]) == (namespace, name)
            ),
            None,
        )

    def list(self, namespace=""):
        return [one for one in self.objects if one["metadata"].get("namespace", "") == namespace]


class HeldClient:
    """A client that notes its writes; requests fail by verb, reads return what it has."""

    def __init__(self, errors=None, **live):
        self.errors, self.live, self.writes = errors or {}, live, []

    async def get(self, api_version, kind, name, namespace=""):
        if "get" in self.errors:
            raise self.errors["get"]
        if kind not in self.live:
            raise NOT_FOUND
        return self.live[kind]

    def __getattr__(self, verb):
        async def write(*given, **options):
            self.writes.append((verb, *given, *options.items()))
            if verb in self.errors:
                raise self.errors[verb]

        return write


class HeldContext:
    """What controllers are built with; `requeues`: how often the present item has failed."""

    def __init__(self, client, settings=None, requeues=0, **kinds):
        self._client, self._kinds, self.settings = client, kinds, settings or Settings()
        queue = SimpleNamespace(num_requeues=lambda item: requeues)
        running = SimpleNamespace(queue=queue)
        names = ("service-cidr-controller", "serviceaccount-token-controller")
        self.manager = SimpleNamespace(controllers=dict.fromkeys(names, running), random=None)
        self.events, self.clock = [], None

    def client(self, *_, **__):
        return self._client

    def kind(self, api_version, kind):
        return self._kinds.get(kind, HeldKind())

    def recorder(self, component):
        return SimpleNamespace(event=lambda obj, *event: self.events.append(event))

    def controller(self, name):
        builder = SimpleNamespace(complete=lambda reconcile: setattr(self, "reconcile", reconcile))
        builder.watches = lambda *_, **__: builder
        return builder

    def now(self):
        return NOW


def run(coroutine):
    with asyncio.Runner() as runner:
        return runner.run(coroutine)


def raises(error):
    return pytest.raises(type(error), match=error.message)


def named(name, namespace="ns", **meta):
    return {"metadata": {"name": name, **({"namespace": namespace} if namespace else {}), **meta}}


# --- the default account and the root CA of a namespace


@pytest.mark.parametrize(("error", "passed"), [(EXISTS, False), (ENDING, False), (BROKEN, True), (None, False)])
def test_a_namespace_gets_an_account(error, passed):
    active = {**named("ns", ""), "status": {"phase": "Active"}}
    client = HeldClient({"create": error} if error else {})
    context = HeldContext(client, Namespace=HeldKind(active))
    defaultaccounts.add(context)
    if passed:
        with raises(error):
            run(context.reconcile(Request("", "ns")))
    else:
        run(context.reconcile(Request("", "ns")))
    made = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": "ns"}}
    assert client.writes == [("create", made)]


@pytest.mark.parametrize(
    ("namespaces", "accounts"),
    [
        ([], []),
        ([{**named("ns", ""), "status": {"phase": "Terminating"}}], []),
        ([named("ns", "")], []),
        ([{**named("ns", ""), "status": {"phase": "Active"}}], [named("default")]),
    ],
)
def test_a_namespace_that_ends_or_has_the_account_gets_none(namespaces, accounts):
    context = HeldContext(HeldClient(), Namespace=HeldKind(*namespaces), ServiceAccount=HeldKind(*accounts))
    defaultaccounts.add(context)
    run(context.reconcile(Request("", "ns")))
    assert context.client().writes == []


def published(error=None, known=None):
    client = HeldClient({"create": error, "update": error} if error else {})
    context = HeldContext(client, Settings(root_ca="PEM"), ConfigMap=HeldKind(*([known] if known else [])))
    rootcapublisher.add(context)
    run(context.reconcile(Request("", "ns")))
    return client.writes


@pytest.mark.parametrize("error", [None, NOT_FOUND, ENDING])
def test_the_root_ca_is_published_in_a_namespace(error):
    ((verb, made),) = published(error)
    assert (verb, made["metadata"]["namespace"], made["data"]) == ("create", "ns", {"ca.crt": "PEM"})
    assert made["metadata"]["annotations"]["kubernetes.io/description"].startswith("Contains a CA bundle ")


@pytest.mark.parametrize("error", [BROKEN, CONFLICT])
def test_other_errors_of_publishing_are_passed_on(error):
    with raises(error):
        published(error)


@pytest.mark.parametrize(
    ("data", "annotations", "written"),
    [
        ({"ca.crt": "PEM"}, {"kubernetes.io/description": "any"}, False),
        ({"ca.crt": "PEM"}, None, True),
        ({"ca.crt": "other"}, {"kubernetes.io/description": "any", "a": "1"}, True),
        (None, {"kubernetes.io/description": "any"}, True),
    ],
)
def test_a_published_root_ca_that_differs_is_corrected(data, annotations, written):
    known = {**named("kube-root-ca.crt", labels={"a": "1"}), "data": data}
    known["metadata"]["annotations"] = annotations
    writes = published(known=known)
    assert len(writes) == written
    for _, made in writes:
        assert (made["data"], made["metadata"]["labels"]) == ({"ca.crt": "PEM"}, {"a": "1"})
        assert made["metadata"]["annotations"].items() >= ({"a": "1"} if "a" in (annotations or {}) else {}).items()


# --- tokens in Secrets

SECRET = Item("secret", "ns", "s", "s-uid", "robot", "r-uid")
ACCOUNT = Item("account", "ns", "robot", "r-uid")
ROBOT = named("robot", uid="r-uid")


def secret(name="s", *, account="robot", uid="r-uid", type="kubernetes.io/service-account-token", **data):
    names = {"kubernetes.io/service-account.name": account, "kubernetes.io/service-account.uid": uid}
    meta = {"uid": f"{name}-uid", "resourceVersion": "1", "annotations": names}
    return {**named(name, **meta), "type": type, "data": data}


def encoded(text):
    return base64.b64encode(text.encode()).decode()


FULL = {"namespace": "x", "token": "x", "ca.crt": encoded("PEM")}


def synced(item, client, *, requeues=0, **kinds):
    context = HeldContext(client, Settings(root_ca="PEM"), requeues, **kinds)
    run(TokenSecretController(context, lambda claims: f"token of {claims['sub']}").reconcile(item))
    return client.writes


def test_the_tokens_of_an_account_that_is_gone_are_deleted():
    others = [secret("other", account="x"), secret("old", uid="y"), secret("opaque", type="Opaque")]
    deleted = ("delete", "v1", "Secret", "s", "ns", ("uid", "s-uid"))
    kinds = {"Secret": HeldKind(secret(), *others)}
    assert synced(ACCOUNT, HeldClient(ServiceAccount=ROBOT), **kinds) == [deleted]
    assert synced(ACCOUNT, HeldClient(), ServiceAccount=HeldKind(ROBOT), **kinds) == []
    assert synced(ACCOUNT, HeldClient(), ServiceAccount=HeldKind(named("robot", uid="new")), **kinds) == [deleted]


@pytest.mark.parametrize("cached", [True, False])
def test_a_secret_is_filled_for_an_account_of_the_cache_or_of_the_server(cached):
    client = HeldClient(Secret=secret(), ServiceAccount=ROBOT)
    ((verb, made),) = synced(
        SECRET, client, Secret=HeldKind(secret()), ServiceAccount=HeldKind(*([ROBOT] if cached else []))
    )
    data = {
        "namespace": encoded("ns"),
        "token": encoded("token of system:serviceaccount:ns:robot"),
        "ca.crt": encoded("PEM"),
    }
    assert (verb, made["data"]) == ("update", data)


@pytest.mark.parametrize("missing", ["namespace", "token", "ca.crt"])
def test_only_what_a_secret_lacks_is_filled_in(missing):
    found = secret(**{name: value for name, value in FULL.items() if name != missing})
    found["metadata"]["annotations"] = {"kubernetes.io/service-account.name": "robot", "a": "1"}
    ((_, made),) = synced(SECRET, HeldClient(Secret=found), Secret=HeldKind(found), ServiceAccount=HeldKind(ROBOT))
    assert {name: value for name, value in made["data"].items() if name != missing} == {
        name: value for name, value in FULL.items() if name != missing
    }
    assert made["data"][missing]
    assert made["metadata"]["annotations"] == {
        "kubernetes.io/service-account.name": "robot",
        "kubernetes.io/service-account.uid": "r-uid",
        "a": "1",
    }


@pytest.mark.parametrize(
    ("item", "live", "accounts", "deleted"),
    [
        (SECRET, {}, [], True),
        (SECRET, {"ServiceAccount": named("robot", uid="new")}, [], True),
        (
            SECRET._replace(account_uid=""),
            {"ServiceAccount": named("robot", uid="new"), "Secret": secret(**FULL)},
            [],
            False,
        ),
        (SECRET._replace(account=""), {}, [], False),
        (SECRET, {"Secret": secret(**FULL)}, [ROBOT], False),
    ],
    ids=["no account", "another account", "any account", "of no account", "complete"],
)
def test_a_secret_without_its_account_is_deleted(item, live, accounts, deleted):
    writes = synced(item, HeldClient(**live), Secret=HeldKind(secret(**FULL)), ServiceAccount=HeldKind(*accounts))
    assert writes == ([("delete", "v1", "Secret", "s", "ns", ("uid", "s-uid"))] if deleted else [])


@pytest.mark.parametrize(
    "live", [{}, {"Secret": secret(**FULL)}, {"Secret": {**secret(), "metadata": {**secret()["metadata"], "resourceVersion": "2"}}}],
    ids=["gone", "filled", "changed"],
)  # fmt: skip
def test_a_secret_that_has_changed_at_the_server_is_left_to_the_next_event(live):
    assert synced(SECRET, HeldClient(**live), Secret=HeldKind(secret()), ServiceAccount=HeldKind(ROBOT)) == []


@pytest.mark.parametrize(("error", "passed"), [(NOT_FOUND, False), (CONFLICT, False), (BROKEN, True)])
def test_errors_of_tokens_are_retried_ten_times(error, passed):
    held = {"Secret": HeldKind(secret()), "ServiceAccount": HeldKind(ROBOT)}
    for item, errors, kinds in (
        (SECRET, {"update": error}, held),
        (ACCOUNT, {"delete": error}, {"Secret": held["Secret"]}),
    ):
        client = HeldClient(errors, Secret=secret())
        if passed:
            with raises(error):
                synced(item, client, requeues=9, **kinds)
            synced(item, client, requeues=10, **kinds)
        else:
            synced(item, client, **kinds)
        assert client.writes


@pytest.mark.parametrize("known", [[], [secret() | {"metadata": {**secret()["metadata"], "uid": "new"}}]])
@pytest.mark.parametrize(
    ("account", "left"),
    [
        ({**ROBOT, "secrets": [{"name": "s"}, {"name": "t"}]}, [{"name": "t"}]),
        ({**ROBOT, "secrets": [{"name": "t"}]}, None),
        (ROBOT, None),
        ({**named("robot", uid="new"), "secrets": [{"name": "s"}]}, None),
    ],
)
def test_a_secret_that_is_gone_is_removed_from_its_account(known, account, left):
    writes = synced(SECRET, HeldClient(ServiceAccount=account), Secret=HeldKind(*known), ServiceAccount=HeldKind(ROBOT))
    assert writes == ([] if left is None else [("update", {**account, "secrets": left})])
    assert synced(SECRET, HeldClient(ServiceAccount=account), Secret=HeldKind(*known)) == []


# --- ranges of Services


def cidr(name, *cidrs, deleted=None, finalizers=(), ready=None):
    meta = {"finalizers": list(finalizers), **({} if deleted is None else {"deletionTimestamp": stamp(deleted)})}
    conditions = [] if ready is None else [{"type": "Ready", **ready}]
    return {**named(name, "", **meta), "spec": {"cidrs": list(cidrs)}, "status": {"conditions": conditions}}


def address(name, by="ipallocator.k8s.io"):
    return named(name, "", labels={"ipaddress.kubernetes.io/managed-by": by})


GUARD = "networking.k8s.io/service-cidr-finalizer"


def ranged(*ranges, addresses=(), errors=None, requeues=0):
    client = HeldClient(errors)
    context = HeldContext(client, requeues=requeues, ServiceCIDR=HeldKind(*ranges), IPAddress=HeldKind(*addresses))
    result = run(ServiceCidrController(context).reconcile(Request("", "a")))
    return result, client.writes, context.events


@pytest.mark.parametrize(
    ("others", "addresses", "kept"),
    [
        ([], [], False),
        ([], ["10.0.0.1"], True),
        ([], ["10.0.1.1"], False),
        ([], ["10.0.0.0"], False),
        ([], ["10.0.0.255"], False),
        ([], ["fd00::1"], False),
        ([("10.0.0.0/24",)], ["10.0.0.1"], False),
        ([("10.0.0.0/16",)], ["10.0.0.1"], False),
        ([("10.0.0.0/25",)], ["10.0.0.1"], False),
        ([("10.0.0.0/25",)], ["10.0.0.1", "10.0.0.200"], True),
        ([("10.0.1.0/24",)], ["10.0.0.1"], True),
        ([("fd00::/64",)], ["10.0.0.1"], True),
    ],
)
def test_a_range_with_an_address_in_use_stays_unless_another_one_has_it(others, addresses, kept):
    rest = [cidr(f"r{index}", *one) for index, one in enumerate(others)]
    mine = cidr("a", "10.0.0.0/24", deleted=60, finalizers=[GUARD])
    _, writes, _ = ranged(mine, *rest, addresses=map(address, addresses))
    assert [write[0] for write in writes] == (["apply"] if kept else ["patch"])
    if kept:
        (condition,) = writes[0][1]["status"]["conditions"]
        assert (condition["status"], condition["reason"], condition["lastTransitionTime"]) == (
            "False",
            "Terminating",
            stamp(0),
        )
    else:
        assert writes[0][2] == {"metadata": {"$deleteFromPrimitiveList/finalizers": [GUARD]}}


def test_addresses_of_other_managers_do_not_keep_a_range():
    mine = cidr("a", "10.0.0.0/24", deleted=60, finalizers=[GUARD])
    assert ranged(mine, addresses=[address("10.0.0.1", "other"), named("10.0.0.2", "")])[1][0][0] == "patch"


@pytest.mark.parametrize(("seconds", "wait"), [(0, 10.0), (4, 6.0), (10, None), (11, None)])
def test_a_range_is_released_ten_seconds_after_its_deletion(seconds, wait):
    result, writes, _ = ranged(cidr("a", "10.0.0.0/24", deleted=seconds, finalizers=[GUARD]))
    assert (result.requeue_after if result else None) == wait
    assert len(writes) == (wait is None)
    assert ranged(cidr("a", "10.0.0.0/24", deleted=60))[1] == []


READY = {"status": "True", "message": "Kubernetes Service CIDR is ready"}


@pytest.mark.parametrize(
    ("finalizers", "ready", "writes"),
    [
        ([], None, ["patch", "apply"]),
        ([GUARD], None, ["apply"]),
        ([], READY, ["patch"]),
        ([GUARD], READY, []),
        ([GUARD], {**READY, "reason": "x"}, ["apply"]),
        ([GUARD], {**READY, "status": "False"}, ["apply"]),
        ([GUARD], {**READY, "message": "x"}, ["apply"]),
    ],
)
def test_a_range_gets_a_finalizer_and_is_ready(finalizers, ready, writes):
    _, found, _ = ranged(cidr("a", "10.0.0.0/24", finalizers=finalizers, ready=ready))
    assert [one[0] for one in found] == writes


def test_errors_of_ranges_are_retried_fifteen_times():
    mine = cidr("a", "10.0.0.0/24")
    with raises(BROKEN):
        ranged(mine, errors={"patch": BROKEN}, requeues=14)
    assert ranged(mine, errors={"patch": BROKEN}, requeues=15)[0] is None
    assert [one[0] for one in ranged(mine, errors={"patch": NOT_FOUND})[1]] == ["patch", "apply"]
    _, _, events = ranged(mine, errors={"apply": BROKEN}, requeues=15)
    assert events == [("Warning", "KubernetesServiceCIDRError", "The ServiceCIDR Status can not be set to Ready=True")]
    assert ranged()[:2] == (None, [])
