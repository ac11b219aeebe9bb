"""The pure rules of smaller parts: findings and levels, anchors of faults, what other backends read and remove."""

import asyncio
import socket
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from fakekube.apiserver.user import User
from fakekube.harness.audit import _is
from fakekube.harness.backends import leftovers
from fakekube.harness.backends.activity import Activity, ObservedTransport, end_of
from fakekube.harness.backends.connection import NoBackend
from fakekube.harness.backends.discoveredkinds import DiscoveredKinds
from fakekube.harness.backends.reaching import Reaching
from fakekube.harness.backends.selection import cluster_of, connected
from fakekube.harness.desks.findings import Findings
from fakekube.harness.desks.processes import Processes
from fakekube.harness.detectors.finding import Finding, FindingError, listed, shortened
from fakekube.harness.detectors.isolation import isolated
from fakekube.harness.detectors.knowndetectors import DEFAULTS, KNOWN, defaults_of, levels_of
from fakekube.harness.detectors.levels import parse_levels
from fakekube.harness.faultinjection.statechange import Anchor, StateChange, field
from fakekube.harness.records.fielddiff import changed_fields
from fakekube.harness.records.testfailure import PACKAGE, failure_text
from fakekube.harness.state.exporting import portable
from fakekube.server import bootstrap
from fakekube.virtualtime import NotQuiescent, VirtualTimeLoop

NOW = datetime(2026, 1, 1, tzinfo=UTC)
CATALOG = bootstrap._catalog(bootstrap.KUBERNETES_VERSION)

# --- findings


def finding(detector="noop-write", text="x", **more):
    return Finding(detector, text, NOW, **more)


@pytest.mark.parametrize(
    ("one", "text"),
    [
        (finding(), "[noop-write] x"), (finding(who="op"), "[noop-write] op: x"), (finding(times=2), "[noop-write] x (2 times)"),
        (finding(times=1, who="op"), "[noop-write] op: x"),
    ],
)  # fmt: skip
def test_a_finding_as_text(one, text):
    assert str(one) == text


def test_the_first_ten_findings_of_each_detector_are_listed():
    found = [finding(text=str(number)) for number in range(10)]
    assert shortened(found) == [f"[noop-write] {number}" for number in range(10)]
    found += [finding("hot-loop"), finding(text="10"), finding(text="11")]
    assert shortened(found)[9:] == [
        "[noop-write] 9",
        "[hot-loop] x",
        "[noop-write] and 2 more, which `fakekube.findings` has",
    ]
    assert listed(found[:2]) == "[noop-write] 0\n[noop-write] 1"
    assert "1,991 more" in shortened([finding(text=str(number)) for number in range(2001)])[-1]


def test_the_error_of_findings_says_how_to_allow_them():
    error = FindingError(iter([finding(), finding(text="y")]))
    assert len(error.findings) == 2
    assert 'fakekube.findings.allow("noop-write", reason=...), or' in str(error)
    assert 'allow("noop-write", reason=...) for each, or' in str(FindingError([finding(), finding("hot-loop")]))


def test_levels_of_detectors():
    assert levels_of({}) == dict(DEFAULTS)
    first, second, *_ = DEFAULTS
    assert levels_of({first: "off"}) == {**DEFAULTS, first: "off"}
    assert levels_of({"all": "off", second: "error"}) == {**dict.fromkeys(DEFAULTS, "off"), second: "error"}
    assert set(levels_of({"all": "warn"}).values()) == {"warn"}
    for wrong, error, said in (
        ("x", TypeError, "pass a mapping"), ({"nothing": "off"}, ValueError, "there is no detector 'nothing'"), ({first: "loud"}, ValueError, "the level is 'error'"),
        ({"all": "loud"}, ValueError, "the level is"),
    ):  # fmt: skip
        with pytest.raises(error, match=said):
            levels_of(wrong)
    assert list(DEFAULTS) == sorted(DEFAULTS)
    assert [getattr(one, "raises", False) for one in KNOWN] == sorted(getattr(one, "raises", False) for one in KNOWN)
    one, other = (type(name, (), {"levels": {"x": level}}) for name, level in (("One", "warn"), ("Other", "error")))
    assert defaults_of([one, one]) == {"x": "warn"}
    with pytest.raises(ValueError, match="Other: 'x' has the default level 'warn' in another detector"):
        defaults_of([one, other])


def test_levels_of_texts():
    assert parse_levels(["a=off, b=warn", "c=error"]) == {"a": "off", "b": "warn", "c": "error"}
    assert parse_levels([]) == {}
    with pytest.raises(ValueError, match="'a' must be NAME=LEVEL"):
        parse_levels(["a"])


@pytest.mark.parametrize(
    ("host", "local"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("localhost", True),
        ("::1", True),
        ("192.0.2.1", False),
        ("example.com", False),
    ],
)
def test_after_the_test_only_local_servers_are_connected_to(host, local):
    network = SimpleNamespace(outside="before")
    before = socket.socket.connect, socket.socket.connect_ex, subprocess.Popen.__init__
    with isolated(network), socket.socket() as sock:
        sock.settimeout(0.5)
        for connect in (sock.connect, sock.connect_ex, lambda address: network.outside(sock, address)):
            if local:
                try:
                    connect((host, 1))
                except OSError as error:
                    assert "the test has ended" not in str(error)
            else:
                with pytest.raises(ConnectionRefusedError, match=r"the test has ended: .* is not connected to"):
                    connect((host, 1))
        with pytest.raises(PermissionError, match="no processes are started"):
            subprocess.Popen(["true"])
    assert network.outside == "before"
    assert (socket.socket.connect, socket.socket.connect_ex, subprocess.Popen.__init__) == before
    with isolated(network), pytest.raises(ConnectionRefusedError):
        network.outside(None, "/run/socket")


# --- failures and fields


def test_a_failure_as_text():
    def representation(path, message="AssertionError: no"):
        return SimpleNamespace(reprcrash=SimpleNamespace(path=str(path), lineno=12, message=message))

    root = Path("/project/tests")
    assert failure_text(representation(root / "a" / "test_b.py"), root) == "a/test_b.py:12: AssertionError: no"
    assert failure_text(representation("/other/test_b.py"), root) == "/other/test_b.py:12: AssertionError: no"
    assert (
        failure_text(representation("/x/site-packages/y.py"), root)
        == failure_text(representation(PACKAGE / "y.py"), root)
        == "AssertionError: no"
    )
    assert failure_text("  plain text \n", root) == "plain text"
    for lines, more in ((25, None), (26, 1), (40, 15)):
        text = failure_text("\n".join(map(str, range(lines))), root).splitlines()
        assert (text[24], text[25:]) == ("24", [] if more is None else [f"({more} more lines)"])
    assert len(failure_text("x" * 5000, root)) == 4000


def test_changed_fields_are_the_smallest():
    before = {
        "a": 1,
        "l": [1, {"x": 1}, 3],
        "m": {"y": 1},
        "metadata": {"resourceVersion": "1", "managedFields": []},
        "same": [1],
    }
    after = {"b": 2, "l": [1, {"x": 2}], "m": {}, "metadata": {"resourceVersion": "2"}, "same": [1]}
    assert [tuple(one) for one in changed_fields(before, after)] == [
        ("a", 1, None, False, True), ("b", None, 2, True, False), ("l[1].x", 1, 2, False, False), ("l[2]", 3, None, False, True), ("m.y", 1, None, False, True),
    ]  # fmt: skip
    assert list(changed_fields(before, before)) == []


# --- anchors of faults

DEPLOYMENTS = CATALOG.find_kind("apps/v1", "Deployment")
NODES = CATALOG.find_kind("v1", "Node")


def state_change(verb="update", resource=DEPLOYMENTS, namespace="d", name="web-1", before=None, after=None, number=2):
    old = {"spec": {"replicas": 1, "l": [{"x": "a"}]}, "metadata": {"resourceVersion": "1", "generation": 1}}
    new = {
        "spec": {"replicas": 3, "l": [{"x": "a"}, {}]},
        "metadata": {"resourceVersion": "2", "generation": 2, "labels": {"a": "b"}},
    }
    return StateChange(verb, resource, namespace, name, before or old, after or new, "op", number)


def test_a_state_change_has_an_anchor_and_fields():
    assert state_change().anchor == "update deployment/d/web-1#2"
    assert state_change(resource=NODES, namespace="").anchor == "update node/web-1#2"
    assert list(state_change().fields()) == ["metadata.labels.a", "spec.l.1", "spec.replicas"]
    assert list(StateChange("create", NODES, "", "n", None, {"a": {"b": 1}}, "", 1).fields()) == ["a.b"]


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("update deployment/web-1", True), ("update deployments/d/web-1", True), ("update deploy/web-*", True), ("* */*", True), ("update Deployment/d/*-1", True),
        ("update deployment/e/web-1", False), ("update deployment/web", False), ("create deployment/web-1", False), ("update pod/web-1", False),
        ("update deployment/web-1{spec.replicas}", True), ("update deployment/web-1{spec.replicas=3}", True), ("update deployment/web-1{spec.replicas= 3}", True),
        ("update deployment/web-1{spec.replicas=1}", False), ("update deployment/web-1{spec.replicas:1>3}", True), ("update deployment/web-1{spec.replicas:2>3}", False),
        ("update deployment/web-1{spec.replicas:1>2}", False), ("update deployment/web-1{spec.l.0.x}", False), ("update deployment/web-1{spec.none}", False),
        ("update deployment/d*/w*b-1", True), ("update deployment/w.b-1", False),
    ],
)  # fmt: skip
def test_whether_an_anchor_matches(text, matches):
    assert Anchor.parse(text).matches(state_change()) is matches


@pytest.mark.parametrize(
    ("text", "anchor", "shown"),
    [
        ("update a/b", Anchor("update", "a", "*", "b"), "update a/b#1"),
        (" delete a/b/c#12 ", Anchor("delete", "a", "b", "c", "", 12), "delete a/b/c#12"),
        ("* a.b-c/*{x:1>2}#3", Anchor("*", "a.b-c", "*", "*", "x:1>2", 3), "* a.b-c/*{x:1>2}#3"),
    ],
)
def test_an_anchor_is_text(text, anchor, shown):
    assert Anchor.parse(text) == anchor
    assert str(anchor) == shown


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        (3, TypeError, "pass text"), ("update a", ValueError, "is not 'verb kind/name'"), ("update a/b#0", ValueError, "is not"), ("patch a/b", ValueError, "one of create, update, delete"),
        ("update a/b{}", ValueError, "is not"), ("update a/b/c/d", ValueError, "is not"),
    ],
)  # fmt: skip
def test_a_text_that_is_no_anchor(text, error, said):
    with pytest.raises(error, match=said):
        Anchor.parse(text)


@pytest.mark.parametrize(
    ("path", "value"), [("a.0.b", 1), ("a.1", None), ("a.x", None), ("c", None), ("a.0.b.d", None), ("a", [{"b": 1}])]
)
def test_the_value_of_a_field(path, value):
    assert field({"a": [{"b": 1}]}, path) == value


# --- other backends


class Server:
    """Objects by path, as a real server would have them; `stubborn` ones have a finalizer that nothing removes."""

    def __init__(self, **objects):
        self.objects, self.log = {}, []

    def add(self, path, uid="u", *, finalizers=(), **more):
        name = path.rpartition("/")[2]
        self.objects[path] = {"metadata": {"name": name, "uid": uid, "finalizers": list(finalizers), **more}}
        return path.rpartition("/")[0], self.objects[path]

    def __call__(self, method, path, body=None, headers=None):
        self.log.append((method, path))
        found = self.objects.get(path)
        if method == "GET" and found is None and any(one.startswith(f"{path}/") for one in self.objects):
            return 200, {}, {"items": [one for name, one in self.objects.items() if name.rpartition("/")[0] == path]}
        if method == "PUT" and path.endswith("/finalize"):
            self.objects.pop(path.removesuffix("/finalize"))
            return 200, {}, {}
        if found is None:
            return 404, {}, {}
        if method == "DELETE" and body["preconditions"]["uid"] == found["metadata"]["uid"]:
            if found["metadata"]["finalizers"] or (path.startswith("/api/v1/namespaces/") and path.count("/") == 4):
                found["metadata"]["deletionTimestamp"] = "now"
            else:
                self.objects.pop(path)
        if method == "PATCH" and found["metadata"].get("deletionTimestamp"):
            self.objects.pop(path)
        return 200, {}, found


def test_what_a_test_has_created_is_removed_with_its_finalizers_latest_first():
    server = Server()
    maps, crds = "/api/v1/namespaces/other/configmaps", leftovers._DEFINITIONS
    created = [
        server.add("/api/v1/namespaces/mine"), server.add("/api/v1/nodes/n"), server.add(f"{maps}/a", finalizers=["x/y"]), server.add(f"{maps}/b"),
        server.add(f"{crds}/c"), server.add("/api/v1/namespaces/mine/configmaps/in"), server.add("/api/v1/namespaces/later"),
    ]  # fmt: skip
    server.add("/api/v1/namespaces/mine/pods/unknown", finalizers=["x/y"])
    server.add(f"{maps}/b", uid="another object of this name")
    kinds = [CATALOG.find_kind("v1", kind) for kind in ("Pod", "ConfigMap", "Node")]
    leftovers.remove(server, created, kinds, keep_definitions=True)
    assert sorted(server.objects) == [f"{maps}/b", f"{crds}/c"]
    deleted = [path for method, path in server.log if method == "DELETE"]
    assert deleted == [
        "/api/v1/namespaces/mine/pods/unknown", "/api/v1/namespaces/mine/configmaps/in", f"{maps}/b", f"{maps}/a", "/api/v1/nodes/n", "/api/v1/namespaces/later", "/api/v1/namespaces/mine",
    ]  # fmt: skip
    leftovers.remove(server, created, kinds, keep_definitions=False)
    assert sorted(server.objects) == [f"{maps}/b"]


def test_what_is_left_is_named(monkeypatch):
    monkeypatch.setattr(leftovers, "_PATIENCE", 0.0)
    server = Server()
    created = [server.add(f"{leftovers._DEFINITIONS}/c", finalizers=["x/y"])]
    with pytest.raises(
        leftovers.NotRemoved, match=r"still in the cluster: /apis/apiextensions.k8s.io/v1/customresourcedefinitions/c\Z"
    ):
        leftovers.remove(server, created, [], keep_definitions=False)


def test_users_of_a_real_cluster_are_impersonated_with_one_group():
    assert Reaching.impersonation(None) == {}
    assert Reaching.impersonation(User("bob")) == {"Impersonate-User": "bob"}
    account = User(
        "system:serviceaccount:a:b",
        groups=("system:serviceaccounts", "system:serviceaccounts:a", "system:authenticated", "dev"),
    )
    assert Reaching.impersonation(account) == {"Impersonate-User": account.name, "Impersonate-Group": "dev"}
    with pytest.raises(ValueError, match="with one group at most"):
        Reaching.impersonation(User("bob", groups=("a", "b")))


def test_the_kubeconfig_of_another_context_is_a_copy_with_whole_paths(tmp_path):
    path = tmp_path / "config"
    path.write_text(yaml.safe_dump({
        "current-context": "a", "clusters": [{"name": "c", "cluster": {"server": "x", "certificate-authority": "ca.pem"}}],
        "users": [{"name": "u", "user": {"client-key": "/k", "tokenFile": "t", "token": "x"}}, {"name": "v"}],
    }))  # fmt: skip
    same = Reaching(SimpleNamespace(kubeconfig=path, context=None))
    assert same.kubeconfig == path
    other = Reaching(SimpleNamespace(kubeconfig=path, context="b"))
    copy = other.kubeconfig
    assert other.kubeconfig is copy
    found = yaml.safe_load(copy.read_text())
    assert found["current-context"] == "b"
    assert found["clusters"][0]["cluster"] == {"server": "x", "certificate-authority": str(tmp_path / "ca.pem")}
    assert found["users"][0]["user"] == {"client-key": "/k", "tokenFile": str(tmp_path / "t"), "token": "x"}
    assert copy.stat().st_mode & 0o077 == 0
    other.close()
    assert not copy.exists()
    for argv, error in (("kubectl get", TypeError), ([], ValueError)):
        with pytest.raises(error, match="run_process"):
            same.run(argv, {}, in_coroutine=False)
    done = same.run(["sh", "-c", 'echo "$KUBECONFIG $A"'], {"env": {"A": "1"}}, in_coroutine=False)
    assert (done.stdout, done.returncode) == (f"{path} 1\n", 0)


def test_the_cluster_of_another_backend_has_portable_settings_only():
    connection = SimpleNamespace(backend="envtest")
    for settings, what in (
        ({"version": "1.30"}, "version='1.30'"),
        ({"nodes": 0}, "nodes=0"),
        ({"unknown": 1}, "unknown=1"),
    ):
        with pytest.raises(
            pytest.skip.Exception, match=f"needs fakekube's own server: {what} is not available on backend envtest"
        ):
            cluster_of(connection, settings, "x", {})
    with pytest.raises(NoBackend, match="--fakekube-quiet=soon: pass a number of seconds"):
        cluster_of(connection, {"version": None, "rbac": True}, "x", {"quiet": "soon"})
    with (
        pytest.raises(NoBackend, match="--fakekube-backend=other: choose fakekube, envtest, cluster"),
        connected("other", None),
    ):
        pass


def discovery(*resources):
    rows = [{"resource": plural, "responseKind": kind and {"group": "", "version": "v1", "kind": kind}, "scope": "Namespaced", "verbs": ["get"],
             "subresources": [{"subresource": "status", "verbs": ["get"], "responseKind": None}]} for plural, kind in resources]  # fmt: skip
    item = {"metadata": {"name": "shop.io"}, "versions": [{"version": "v1", "resources": rows}, {"version": "v2"}]}
    return {"kind": "APIGroupDiscoveryList", "items": [item]}


class Discovery:
    """A server whose resources appear after some reads of discovery."""

    def __init__(self, *steps, defined=()):
        self.steps, self.defined, self.reads = list(steps), defined, 0

    def __call__(self, method, path, headers=None):
        if path.endswith("customresourcedefinitions"):
            return (
                200,
                {},
                {
                    "items": [
                        {
                            "spec": {
                                "group": "shop.io",
                                "names": {"kind": kind},
                                "versions": [{"name": "v1", "served": served}],
                            }
                        }
                        for kind, served in self.defined
                    ]
                },
            )
        if path == "/api":
            return 200, {}, {"kind": "APIGroupDiscoveryList", "items": []}
        self.reads += 1
        return self.steps[min(self.reads, len(self.steps)) - 1]


def test_kinds_are_discovered_when_they_are_not_known():
    empty, full = ((200, {}, discovery(*rows)) for rows in ((("nothing", None),), (("gadgets", "Gadget"),)))
    server = Discovery(full)
    kinds = DiscoveredKinds(server)
    assert list(kinds.resources()) == []
    for _ in range(2):
        assert kinds.find_kind("shop.io/v1", "Gadget").plural == "gadgets"
    assert server.reads == 1
    assert kinds.find_kind("shop.io/v1", "Toy") is None
    assert server.reads == 2
    assert [one.plural for one in kinds.resources()] == ["gadgets"]
    assert (kinds.catalog, kinds.find_remote_kind("a", "b")) == (kinds, None)
    late = Discovery(empty, empty, full, defined=[("Gadget", True)])
    assert DiscoveredKinds(late).find_kind("shop.io/v1", "Gadget").kind == "Gadget"
    assert late.reads == 3
    for defined in ([], [("Gadget", False)], [("Toy", True)]):
        server = Discovery(empty, full, defined=defined)
        assert DiscoveredKinds(server).find_kind("shop.io/v1", "Gadget") is None
        assert server.reads == 1
    for answer in ((404, {}, {}), (200, {}, "x"), (200, {}, {"kind": "APIGroupList"})):
        with pytest.raises(RuntimeError, match="the server has no aggregated discovery"):
            DiscoveredKinds(Discovery(answer)).refresh()


class LoopClock:
    def monotonic(self):
        return asyncio.get_running_loop().time()

    async def sleep_until(self, deadline):
        await asyncio.sleep(deadline - self.monotonic())


class Transport:
    """Takes two seconds for each request; its watch has three events."""

    async def request(self, method, path, **options):
        await asyncio.sleep(2)
        if method == "DELETE":
            raise ConnectionError
        return (201 if method in ("POST", "PATCH") else 200), {}, {"metadata": {"uid": "u", "name": "a"}}

    async def open_watch(self, path, **options):
        async def events():
            for number, kind in enumerate(("ADDED", "BOOKMARK", "MODIFIED")):
                await asyncio.sleep(3)
                yield {"type": kind, "number": number}

        return (200 if "pods" in path else 403), {}, events()

    async def aclose(self):
        """Nothing is open."""


def test_operators_are_quiet_when_nothing_has_happened_for_some_time():
    async def main():
        loop, activity = asyncio.get_running_loop(), Activity(LoopClock())
        transport = ObservedTransport(Transport(), activity)
        await activity.quiet(0.5, 10, lambda: iter(()))
        assert loop.time() == pytest.approx(0.5, abs=0.06)
        tasks = [
            asyncio.create_task(transport.request(method, "/x/a")) for method in ("GET", "PATCH", "POST", "DELETE")
        ]
        await asyncio.sleep(0)
        assert activity.requests() == ["GET /x/a", "PATCH /x/a", "POST /x/a", "DELETE /x/a"]
        begun = loop.time()
        await activity.quiet(0.5, 10, lambda: iter(()))
        assert loop.time() - begun == pytest.approx(2.5, abs=0.2)
        await asyncio.gather(*tasks, return_exceptions=True)
        assert ([path for path, _ in activity.created], activity.requests()) == (["/x", "/x/a"], [])
        code, _, stream = await transport.open_watch("/pods")
        before, noted = activity.last, []
        async for event in stream:
            noted.append((event["type"], activity.last > before))
            before = activity.last
        assert (code, noted) == (200, [("ADDED", True), ("BOOKMARK", False), ("MODIFIED", True)])
        assert (await transport.open_watch("/secrets"))[0] == 403
        with pytest.raises(NotQuiescent, match=r"not quiet for 1 s within 5 s: a queue\Z"):
            await activity.quiet(1, 5, lambda: iter(["a queue"]))
        chatter = asyncio.create_task(chat(activity))
        with pytest.raises(NotQuiescent, match="requests and watch events follow each other"):
            await activity.quiet(1, 5, lambda: iter(()))
        await end_of([chatter])
        assert chatter.cancelled()

    async def chat(activity):
        while True:
            activity.note()
            await asyncio.sleep(0.3)

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(main())


# --- manifests, requests and waits


@pytest.mark.parametrize(
    ("kind", "clean", "spec"),
    [
        ("Service", True, {"type": "ClusterIP", "ports": [{"port": 1}]}),
        ("Service", False, {"type": "ClusterIP", "clusterIP": "10.0.0.1", "ports": [{"port": 1, "nodePort": 2}]}),
        ("Other", True, {"type": "ClusterIP", "clusterIP": "10.0.0.1", "ports": [{"port": 1, "nodePort": 2}]}),
    ],
)
def test_what_a_server_allocates_is_left_out_of_clean_manifests_of_services(kind, clean, spec):
    given = {"type": "ClusterIP", "clusterIP": "10.0.0.1", "ports": [{"port": 1, "nodePort": 2}]}
    made = portable({"kind": kind, "metadata": {"name": "a"}, "spec": given, "status": {}}, clean=clean)
    assert (made["spec"], "status" in made) == (spec, not clean)


@pytest.mark.parametrize(
    ("labels", "left"),
    [(None, None), ({}, None), ({"job-name": "a"}, None), ({"job-name": "a", "app": "b"}, {"app": "b"})],
)
def test_the_generated_labels_of_a_job_are_left_out(labels, left):
    made = portable({"kind": "Job", "metadata": {"name": "a", "labels": labels}, "spec": {"selector": {}}}, clean=False)
    assert (made["metadata"].get("labels"), "selector" in made["spec"]) == (left, False)


@pytest.mark.parametrize(
    ("value", "wanted", "equal"),
    [("pods", "p*", True), ("pods", "pods", True), ("[x]", "[x]", True), ("pods", "P*", False), (200, 200, True), (200, "2*", False), ("200", 200, False)],
)  # fmt: skip
def test_fields_of_requests_match_patterns(value, wanted, equal):
    assert _is(value, wanted) is equal


@pytest.mark.parametrize(("seconds", "timeout", "valid"), [(0, 1, False), (0.1, 1, True), (1, 1, False), (2, 1, False)])
def test_a_quiet_time_is_shorter_than_the_timeout(monkeypatch, seconds, timeout, valid):
    monkeypatch.setattr("fakekube.harness.desks.processes.until", lambda *_, **options: options["interval"])
    stepping = SimpleNamespace(in_real_time=lambda wait: wait)
    desk = SimpleNamespace(_runner=None, _bubble=None, _stepping=stepping, _quiet=lambda quiet, wait: wait)
    wait = (
        Processes.wait_until_quiet.__wrapped__
        if hasattr(Processes.wait_until_quiet, "__wrapped__")
        else Processes.wait_until_quiet
    )
    if valid:
        assert wait(desk, seconds, timeout=timeout) == seconds / 5
    else:
        with pytest.raises(ValueError, match="0 < seconds < timeout"):
            wait(desk, seconds, timeout=timeout)


def test_findings_are_a_sequence():
    findings = Findings.__new__(Findings)
    findings._detection = SimpleNamespace(findings=["one", "two"])
    assert (findings[0], findings[-1], findings[1:], len(findings)) == ("one", "two", ["two"], 2)
    assert findings == ["one", "two"]
    assert findings != ["one"]
