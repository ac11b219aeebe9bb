"""The audit log: which requests it has by a policy, and how much of them."""

import json
import resource
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import orjson
import pytest

from fakekube.apiserver.user import User
from fakekube.apiserver.wire.request import Request, parse
from fakekube.server import bootstrap
from fakekube.server.direct import DirectTransport
from fakekube.server.process.auditlog import audit_log
from fakekube.server.process.auditpolicy import AuditPolicy, InvalidPolicy
from fakekube.server.process.serverlog import OncePerMinute
from fakekube.server.random import SeededRandom
from fakekube.server.runner import ServerRunner
from fakekube.server.systemclock import SystemClock
from fakekube.virtualtime.seeds import Seed

ALICE = User("alice", "1", ("dev", "system:authenticated"))
PODS = "/api/v1/namespaces/a/pods"


def policy(*rules, **fields):
    return {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": list(rules), **fields}


@pytest.mark.parametrize(
    ("rule", "method", "path", "matches"),
    [
        ({}, "GET", PODS, True),
        ({"users": ["alice"]}, "GET", PODS, True), ({"users": ["bob"]}, "GET", PODS, False),
        ({"userGroups": ["ops", "dev"]}, "GET", PODS, True), ({"userGroups": ["ops"]}, "GET", PODS, False),
        ({"verbs": ["list"]}, "GET", PODS, True), ({"verbs": ["get"]}, "GET", PODS, False),
        ({"namespaces": ["a"]}, "GET", PODS, True), ({"namespaces": [""]}, "GET", PODS, False),
        ({"namespaces": [""]}, "GET", "/api/v1/nodes", True), ({"namespaces": ["a"]}, "GET", "/healthz", False),
        ({"resources": [{"group": ""}]}, "GET", PODS, True), ({"resources": [{"group": "apps"}]}, "GET", PODS, False),
        ({"resources": [{"resources": ["pods"]}]}, "GET", PODS, True),
        ({"resources": [{"resources": ["pods"]}]}, "GET", f"{PODS}/x/log", False),
        ({"resources": [{"resources": ["pods/log"]}]}, "GET", f"{PODS}/x/log", True),
        ({"resources": [{"resources": ["pods/*"]}]}, "GET", f"{PODS}/x/log", True),
        ({"resources": [{"resources": ["*/log"]}]}, "GET", f"{PODS}/x/log", True),
        ({"resources": [{"resources": ["*/log"]}]}, "GET", f"{PODS}/x", False),
        ({"resources": [{"resources": ["*"]}]}, "GET", f"{PODS}/x/log", True),
        ({"resources": [{"resources": ["pods"], "resourceNames": ["x"]}]}, "GET", f"{PODS}/x", True),
        ({"resources": [{"resources": ["pods"], "resourceNames": ["y"]}]}, "GET", f"{PODS}/x", False),
        ({"nonResourceURLs": ["/healthz"]}, "GET", "/healthz", True),
        ({"nonResourceURLs": ["/health*"]}, "GET", "/healthz", True),
        ({"nonResourceURLs": ["*"]}, "GET", "/version", True), ({"nonResourceURLs": ["*"]}, "GET", PODS, False),
        ({"nonResourceURLs": ["/healthz"]}, "GET", "/healthz/etcd", False),
    ],
)  # fmt: skip
def test_which_rule_matches(rule, method, path, matches):
    found = AuditPolicy(policy({"level": "Request", **rule}, {"level": "Metadata"})).of(
        ALICE, parse(Request(method, path))
    )
    assert found.level == ("Request" if matches else "Metadata")


def test_without_a_rule_nothing_is_recorded_and_stages_add_up():
    rules = AuditPolicy(
        policy(
            {"level": "Request", "verbs": ["get"], "omitStages": ["Panic"]},
            omitStages=["RequestReceived"],
            omitManagedFields=True,
        )
    )
    assert rules.of(ALICE, parse(Request("GET", PODS))).level == "None"
    found = rules.of(ALICE, parse(Request("GET", f"{PODS}/a")))
    assert (found.omitted, found.omits_managed_fields) == ({"Panic", "RequestReceived"}, True)


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (None, "expected a document of kind Policy in audit.k8s.io/v1"),
        (policy(), "loaded illegal policy with 0 rules"),
        (policy({"level": "Much"}), 'rules[0].level: Unsupported value: "Much": supported values: "None", "Metadata", '),
        (policy({"level": "None"}, {"level": "None", "omitStages": ["End"]}), 'rules[1].omitStages[0]: Invalid value: "End"'),
        (policy({"level": "None", "nonResourceURLs": ["/a"], "namespaces": ["b"]}), "rules[0].nonResourceURLs: rules cannot apply to both"),
        (policy("None"), "rules[0]: expected a map"),
    ],
)  # fmt: skip
def test_what_is_no_policy(document, message):
    with pytest.raises(InvalidPolicy) as refused:
        AuditPolicy(document)
    assert str(refused.value).startswith(message)


@pytest.fixture
def logged(tmp_path):
    """The events of some requests under a policy."""

    def run(document, *asks):
        (tmp_path / "log").unlink(missing_ok=True)
        (tmp_path / "policy").write_text(json.dumps(document))
        random = SeededRandom(Seed(1))
        server = bootstrap.api_server(datetime(2026, 1, 1, tzinfo=UTC), random, fixed_uids=True)
        runner = ServerRunner(server, SystemClock(), random)
        with audit_log(tmp_path / "policy", tmp_path / "log") as record:
            record(runner)
            client = DirectTransport(runner, user=ALICE, headers={"User-Agent": "mine/1"})
            for method, path, body, *query in asks:
                client.request_now(method, path, body=body, query=query)
        return [orjson.loads(line) for line in (tmp_path / "log").read_bytes().splitlines()]

    return run


MAPS = "/api/v1/namespaces/default/configmaps"
BODY = {"metadata": {"name": "a"}, "data": {"x": "1"}}


def test_an_event_of_each_level(logged):
    def keys(level):
        (found,) = logged(
            policy({"level": level}, omitStages=["RequestReceived"], omitManagedFields=True), ("POST", MAPS, BODY)
        )
        return found

    found = keys("Metadata")
    assert datetime.fromisoformat(found.pop("requestReceivedTimestamp")) <= datetime.fromisoformat(
        found.pop("stageTimestamp")
    )
    assert len(found.pop("auditID")) == 36
    assert found == {
        "kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "Metadata", "stage": "ResponseComplete", "requestURI": MAPS,
        "verb": "create", "user": {"username": "alice", "uid": "1", "groups": ["dev", "system:authenticated"]},
        "userAgent": "mine/1",
        "objectRef": {"resource": "configmaps", "namespace": "default", "name": "a", "apiVersion": "v1"},
        "responseStatus": {"metadata": {}, "code": 201}, "annotations": {"authorization.k8s.io/decision": "allow"},
    }  # fmt: skip
    found = keys("Request")
    assert (found["requestObject"]["data"], "responseObject" in found) == ({"x": "1"}, False)
    found = keys("RequestResponse")
    assert (found["responseObject"]["kind"], "managedFields" in found["responseObject"]["metadata"]) == (
        "ConfigMap",
        False,
    )


def test_stages_failures_and_queries(logged):
    asks = [
        ("GET", f"{MAPS}/none", None),
        ("GET", MAPS, None, ("limit", "1"), ("labelSelector", "a=b")),
        ("GET", "/version", None),
    ]
    found = logged(policy({"level": "None", "nonResourceURLs": ["/version"]}, {"level": "Metadata"}), *asks)
    assert [one["stage"] for one in found] == ["RequestReceived", "ResponseComplete"] * 2
    assert found[0]["auditID"] == found[1]["auditID"]
    assert "responseStatus" not in found[0]
    assert found[1]["responseStatus"] == {
        "metadata": {}, "status": "Failure", "reason": "NotFound", "code": 404, "message": 'configmaps "none" not found',
    }  # fmt: skip
    assert found[3]["requestURI"] == f"{MAPS}?limit=1&labelSelector=a%3Db"


EVERYTHING = policy({"level": "Metadata"}, omitStages=["RequestReceived"])


@pytest.fixture
def audited(tmp_path):
    """A client of a server whose audit log is at a path, with a function that ends it."""
    (tmp_path / "policy").write_text(json.dumps(EVERYTHING))

    @contextmanager
    def run(path):
        random = SeededRandom(Seed(1))
        server = bootstrap.api_server(datetime(2026, 1, 1, tzinfo=UTC), random, fixed_uids=True)
        runner = ServerRunner(server, SystemClock(), random)
        with audit_log(tmp_path / "policy", path) as record:
            record(runner)
            yield DirectTransport(runner, user=ALICE)

    return run


def test_requests_are_answered_although_the_log_cannot_be_written(audited, caplog):
    with audited(Path("/dev/full")) as client:
        for _ in range(3):
            assert client.request_now("GET", MAPS)[0] == 200
    assert len(caplog.records) == 3
    assert caplog.messages[0] == "--audit-log-path /dev/full: events cannot be written"
    assert isinstance(caplog.records[0].exc_info[1], OSError)
    limit = OncePerMinute()
    assert [limit.filter(record) for record in caplog.records] == [True, False, False]


def test_the_log_goes_on_with_a_new_line_once_there_is_room(audited, tmp_path):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    path = tmp_path / "log"
    with audited(path) as client:
        client.request_now("GET", MAPS)
        resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 20, hard))
        try:
            for _ in range(2):
                assert client.request_now("GET", MAPS)[0] == 200
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        client.request_now("GET", f"{MAPS}/a")
    first, torn, last = path.read_bytes().splitlines()
    assert [orjson.loads(line)["requestURI"] for line in (first, last)] == [MAPS, f"{MAPS}/a"]
    assert len(torn) == 20


@pytest.mark.parametrize(
    ("path", "failed"), [("log", []), ("/dev/full", ['apiserver_audit_error_total{plugin="log"} 2'])]
)
def test_events_levels_and_errors_are_counted(audited, tmp_path, path, failed):
    with audited(tmp_path / path) as client:
        for _ in range(2):
            client.request_now("GET", MAPS)
        lines = client.request_now("GET", "/metrics")[2].splitlines()
    assert [one for one in lines if one.startswith("apiserver_audit_")] == [
        "apiserver_audit_event_total 2", 'apiserver_audit_level_total{level="Metadata"} 2', *failed,
    ]  # fmt: skip


def test_nothing_is_recorded_without_a_policy(tmp_path):
    with audit_log(None, None) as record:
        assert record(None) is None
