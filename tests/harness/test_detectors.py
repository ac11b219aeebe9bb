"""Each detector with an operator that deserves its finding, and with one that does similar things and does not."""

import asyncio
import re
import time
from datetime import UTC, datetime, timedelta

import kubernetes
import pytest

from controllerlib import ApiError, Client, ControllerOptions, Result
from controllerlib.controller import UpdateEvent
from controllerlib.leaderelection import LeaderElection, LeaderElectionOptions
from fakekube import FakeKube, FindingError, HotLoop
from fakekube.harness.detectors.knowndetectors import DEFAULTS, KNOWN, defaults_of
from fakekube.harness.engine import engine_of
from tests.harness.operators import build, config_map, counting, every, failing, nothing, stamping
from tests.harness.planted import API, CRD, database
from tests.innerruns import LEAN, without_garbage_of_others

ON = {"all": "warn"}


@pytest.fixture
def kube():
    """A cluster whose detectors only warn, all of them but the probe of all objects."""
    with FakeKube(detect={**ON, "writes-at-rest": "off"}) as kube:
        yield kube


def found(kube):
    """The names of the detectors that have found something, when the test is over."""
    engine_of(kube).check_findings(warn=lambda warning: None)
    return sorted({one.detector for one in kube.findings})


def texts(kube):
    engine_of(kube).check_findings(warn=lambda warning: None)
    return [str(one) for one in kube.findings]


def read(client, request, api_version="v1", kind="ConfigMap"):
    return client.get(api_version, kind, request.name, namespace=request.namespace)


def run(kube, reconcile, *objects, seconds=10, **options):
    kube.apply(*(objects or [config_map("a")]))
    operator = kube.start(build(reconcile), **options)
    kube.advance(seconds)
    return operator


# --- reconcile-error and retried-error ---


def test_row6_an_operator_that_always_raises(kube):
    run(kube, failing(10_000))
    (text,) = texts(kube)
    assert text.startswith(
        "[reconcile-error] minder reconciling default/a [added] failed with RuntimeError: it failed ("
    )
    assert text.endswith("and has not succeeded since")


def test_an_error_that_a_retry_repairs(kube):
    run(kube, failing(2))
    assert found(kube) == ["retried-error"]


@pytest.mark.parametrize("error", [TypeError("a bug"), KeyError("x"), AttributeError("no attribute")])
def test_a_bug_is_an_error_although_a_retry_succeeds(kube, error):
    run(kube, failing(1, error))
    assert found(kube) == (["retried-error"] if isinstance(error, KeyError) else ["reconcile-error"])


def test_an_error_of_an_injected_fault_is_none(kube):
    with kube.fault(verb="update", error=500, times=2):
        run(kube, stamping(seen="yes"))
    assert found(kube) == ["noop-write"]


def test_a_conflict_that_a_retry_repairs_is_none(kube):
    async def reconcile(request, client):
        seen = await read(client, request)
        if not seen.get("data"):
            if len(kube.state.versions("v1", "ConfigMap", "a")) == 1:
                kube.patch("v1", "ConfigMap", "a", {"metadata": {"labels": {"x": "y"}}})
            await client.update({**seen, "data": {"x": "1"}})

    operator = run(kube, reconcile)
    assert found(kube) == []
    assert operator["minder"].results()[0] == "error"


def test_a_test_that_reads_the_errors_checks_them_itself(kube):
    operator = run(kube, failing(10_000))
    assert operator["minder"].errors()
    assert found(kube) == []


# --- hot-loop ---


@pytest.mark.slow
def test_row16_a_hot_loop_ends_after_a_hundred_writes(kube):
    kube.apply(config_map("a"))
    with pytest.raises(HotLoop, match=r"has written .*/configmaps/a 100 times in reconciles of default/a that its own"):
        kube.start(build(counting()))
    assert 100 <= len(kube.requests(verb="update")) <= 102


def test_a_loop_of_requeues_is_reported(kube):
    async def reconcile(request, client):
        seen = await read(client, request)
        number = int((seen.get("data") or {}).get("n", "0")) + 1
        await client.patch(seen, {"data": {"n": str(number)}})
        return Result(requeue=True)

    def add(manager):
        controller = manager.controller("c").for_("v1", "ConfigMap")
        controller.with_event_filter(lambda event: not isinstance(event, UpdateEvent)).complete(reconcile)

    kube.apply(config_map("a"))
    kube.start(add)
    kube.advance(hours=2)
    (text,) = texts(kube)
    assert text.endswith("configmaps/a 20 times in reconciles of default/a, while nothing else changed")


@pytest.mark.slow
def test_a_heartbeat_is_no_loop(kube):
    async def reconcile(request, client):
        seen = await read(client, request)
        beat = str(int(kube.clock.monotonic()) // 60)
        if (seen.get("data") or {}).get("beat") != beat:
            await client.update({**seen, "data": {"beat": beat}})
        return Result(requeue_after=60)

    run(kube, reconcile, seconds=86_400)
    assert found(kube) == []


def test_a_state_machine_of_many_steps_is_no_loop(kube):
    async def reconcile(request, client):
        seen = await read(client, request)
        step = int((seen.get("data") or {}).get("step", "0"))
        if step < 60:
            await client.update({**seen, "data": {"step": str(step + 1)}})

    run(kube, reconcile)
    assert found(kube) == []


# --- timestamp-loop ---


def stamp(value, *, only_if=lambda seen: True):
    """Writes a time of the present into the object."""

    async def reconcile(request, client):
        seen = await read(client, request)
        if only_if(seen):
            await client.update({**seen, "data": {**(seen.get("data") or {}), "seen": value()}})

    return reconcile


@pytest.mark.parametrize(
    "value",
    [
        lambda: datetime.now(UTC).isoformat(),
        lambda: datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        lambda: datetime.now(UTC).isoformat(timespec="microseconds"),
        lambda: str(int(time.time())),
        lambda: str(time.time()),
    ],
)
def test_row2_a_reconcile_that_writes_the_time_and_is_triggered_by_that(kube, value):
    run(kube, stamp(value), seconds=0)
    assert "timestamp-loop" in found(kube)
    assert any(
        "writes the present time to .data.seen of /api/v1/namespaces/default/configmaps/a" in t for t in texts(kube)
    )


def test_row2_also_if_it_compares_before_it_writes(kube):
    def differs(seen):
        return (seen.get("data") or {}).get("seen") != datetime.now(UTC).isoformat()

    operator = run(kube, stamp(lambda: datetime.now(UTC).isoformat(), only_if=differs), seconds=0)
    assert operator["minder"].reconciles() == 2
    assert found(kube) == ["timestamp-loop"]


def test_a_time_that_is_written_once_is_no_loop(kube):
    run(kube, stamp(lambda: datetime.now(UTC).isoformat(), only_if=lambda seen: not seen.get("data")), seconds=0)
    assert found(kube) == []


def test_a_time_that_is_kept_is_no_loop(kube):
    """The operator writes its status each time, with the time of the last transition."""

    async def reconcile(request, client):
        seen = await read(client, request)
        since = (seen.get("data") or {}).get("since") or datetime.now(UTC).isoformat()
        await client.update({**seen, "data": {"since": since}})

    run(kube, reconcile, seconds=0)
    assert found(kube) == ["noop-write"]


def test_a_heartbeat_with_the_time_is_no_loop(kube):
    async def reconcile(request, client):
        seen = await read(client, request)
        last = (seen.get("data") or {}).get("beat")
        now = datetime.now(UTC)
        if last is None or now - datetime.fromisoformat(last) >= timedelta(seconds=60):
            await client.update({**seen, "data": {"beat": now.isoformat()}})
        return Result(requeue_after=60)

    run(kube, reconcile, seconds=600)
    assert found(kube) == []


# --- noop-write, ignored-status, unguarded-update ---


def test_row9_renewals_of_leases_are_no_noop_writes(kube):
    kube.apply(config_map("a"))
    options = LeaderElectionOptions(name="minder", namespace="default", identity="one")
    kube.start(build(nothing), election=LeaderElection(options))
    kube.advance(60)
    assert kube.requests(resource="leases", verb="update")
    assert kube.findings.noop_writes() == []
    assert found(kube) == []


def renewing(field):
    async def renew(kube):
        api = Client(kube.access.transport(), user_agent="patroni")
        for _ in range(2):
            found = await api.get("v1", "ConfigMap", "a", namespace="default")
            await api.update({**found, "data": {field: datetime.now(UTC).isoformat()}})

    return renew


def test_renewals_of_other_objects_are_no_noop_writes(kube):
    """Leases that are ConfigMaps or Endpoints are written by clients without reconciles."""
    kube.apply(config_map("a"))
    kube.task(renewing("renewTime")(kube))
    kube.advance(1)
    assert kube.findings.noop_writes()
    assert found(kube) == []


def test_a_time_of_transition_does_not_excuse_a_noop_write(kube):
    kube.apply(config_map("a"))
    kube.task(renewing("lastTransitionTime")(kube))
    kube.advance(1)
    assert found(kube) == ["noop-write"]


def database_writer(write):
    def add(manager):
        async def reconcile(request, client):
            await write(await read(client, request, API, "Database"), client)

        manager.controller("writer").for_(API, "Database").complete(reconcile)

    return add


@pytest.mark.parametrize(
    "write",
    [
        lambda seen, client: client.update({**seen, "status": {"phase": "Ready"}}),
        lambda seen, client: client.patch(seen, {"status": {"phase": "Ready"}}),
        lambda seen, client: client.patch(
            seen, [{"op": "add", "path": "/status", "value": {"phase": "x"}}], type="json"
        ),
    ],
)
def test_a_status_that_the_server_ignores(kube, write):
    kube.apply(CRD, database())
    kube.start(database_writer(write))
    assert "ignored-status" in found(kube)


@pytest.mark.parametrize(
    "write",
    [
        lambda seen, client: client.update_status({**seen, "status": {"phase": "Ready"}}),
        lambda seen, client: client.patch_status(seen, {"status": {"phase": "Ready"}}),
        lambda seen, client: client.update({**seen, "metadata": {**seen["metadata"], "labels": {"x": "y"}}}),
        lambda seen, client: client.update({**seen, "status": {"phase": None, "conditions": []}}),
    ],
)
def test_a_status_that_is_written_as_it_should_or_not_changed(kube, write):
    kube.apply(CRD, database())
    kube.start(database_writer(write))
    assert "ignored-status" not in found(kube)


def test_an_object_that_is_sent_back_without_its_version(kube):
    async def reconcile(request, client):
        seen = await read(client, request)
        del seen["metadata"]["resourceVersion"]
        await client.update({**seen, "data": {"x": "1"}})

    run(kube, reconcile)
    assert "unguarded-update" in found(kube)


def test_an_object_that_is_replaced_on_purpose(kube):
    async def reconcile(request, client):
        if not (await read(client, request)).get("data"):
            await client.update(config_map(request.name, x="1"))

    run(kube, reconcile)
    assert found(kube) == []


# --- cache-mutation ---


def sharing(change):
    """An operator that reads the objects of the cache themselves."""

    def add(manager):
        async def reconcile(request):
            change(await manager.cache.get("v1", "ConfigMap", request.name, request.namespace, share=True))

        manager.controller("sharer").for_("v1", "ConfigMap").complete(reconcile)

    return add


def test_a_mutated_object_is_named_with_the_field_and_the_reconcile(kube):
    kube.apply(config_map("a", x="1"))
    kube.start(sharing(lambda obj: obj["data"].update(x="2")))
    (text,) = texts(kube)
    line = sharing.__code__.co_firstlineno + 4
    assert (
        f"sharer reconciling default/a [added] (test_detectors.py:{line}), or a handler or predicate before it, has modified"
        in text
    )
    assert "the cached ConfigMap default/a: .data.x is '2'" in text
    assert "'1' in the cluster at resourceVersion 53" in text


def test_objects_that_are_only_read_or_copied(kube):
    kube.apply(config_map("a", x="1"))
    kube.start(sharing(lambda obj: {**obj, "data": {}}))
    kube.patch("v1", "ConfigMap", "a", {"data": {"x": "3"}})
    kube.settle()
    assert found(kube) == []


def test_an_object_that_a_predicate_mutates_is_found_at_the_end(kube):
    def mutates(event):
        event.obj["metadata"]["labels"] = {"seen": "yes"}
        return False

    def add(manager):
        manager.controller("p").for_("v1", "ConfigMap", predicates=[mutates]).complete(nothing)

    kube.apply(config_map("a"))
    kube.start(add)
    (text,) = texts(kube)
    assert ".metadata.labels is {'seen': 'yes'} in the cache and absent in the cluster" in text


# --- ignored-conflict ---


def ignoring(answer):
    async def reconcile(request, client):
        seen = await read(client, request)
        if seen.get("data"):
            return None
        try:
            await client.update({**seen, "data": {"x": "1"}})
        except ApiError:
            return answer
        return None

    return reconcile


def test_a_conflict_that_is_ignored(kube):
    with kube.fault(verb="update", error=409, times=1):
        run(kube, ignoring(None))
    assert found(kube) == ["ignored-conflict"]


def test_a_conflict_that_is_requeued(kube):
    with kube.fault(verb="update", error=409, times=1):
        run(kube, ignoring(Result(requeue_after=1)))
    assert found(kube) == []


def test_a_conflict_of_which_an_event_takes_care(kube):
    with kube.fault(verb="update", error=409, times=1):
        run(kube, ignoring(None))
    kube.patch("v1", "ConfigMap", "a", {"metadata": {"labels": {"x": "y"}}})
    kube.settle()
    assert found(kube) == []


# --- finalizers and children ---


def test_a_finalizer_that_waits_with_a_requeue(kube):
    async def reconcile(request, client):
        seen = await read(client, request)
        if "deletionTimestamp" in seen["metadata"]:
            return Result(requeue_after=30)
        if not seen["metadata"].get("finalizers"):
            await client.patch(seen, {"metadata": {"finalizers": ["example.com/x"]}})
        return None

    run(kube, reconcile)
    kube.delete("v1", "ConfigMap", "a")
    kube.advance(100)
    assert found(kube) == []


def creating(*, owner, first, generate=False):
    """Creates a Secret for each ConfigMap, before or after it adds a finalizer."""

    async def reconcile(request, client):
        seen = await read(client, request)
        meta = {"namespace": request.namespace}
        meta.update({"generateName": "s-"} if generate else {"name": f"{request.name}-s"})
        if owner:
            reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": request.name, "uid": seen["metadata"]["uid"]}
            meta["ownerReferences"] = [{**reference, "controller": True}]
        if seen["metadata"].get("finalizers"):
            return
        if first:
            await client.create({"apiVersion": "v1", "kind": "Secret", "metadata": meta})
        await client.patch(seen, {"metadata": {"finalizers": ["example.com/x"]}})
        if not first:
            await client.create({"apiVersion": "v1", "kind": "Secret", "metadata": meta})

    return reconcile


@pytest.mark.parametrize(
    ("owner", "first", "expected"),
    [(False, True, ["late-finalizer"]), (True, True, []), (False, False, [])],
)
def test_the_order_of_a_finalizer_and_what_it_protects(kube, owner, first, expected):
    run(kube, creating(owner=owner, first=first))
    assert found(kube) == expected


@pytest.mark.parametrize(
    ("owner", "owns", "expected"),
    [(False, True, ["missing-owner"]), (True, True, []), (False, False, [])],
)
def test_the_owner_of_a_child(kube, owner, owns, expected):
    def add(manager):
        controller = manager.controller("c").for_("v1", "ConfigMap")
        if owns:
            controller = controller.owns("v1", "Secret")
        controller.complete(creating(owner=owner, first=False))

    kube.apply(config_map("a"))
    kube.start(add)
    assert found(kube) == expected


def test_many_children_of_one_reconcile_are_no_duplicates(kube):
    async def reconcile(request, client):
        if len(await client.list("v1", "Secret", "default")) < 3:
            for _ in range(3):
                meta = {"generateName": "s-", "namespace": "default"}
                await client.create({"apiVersion": "v1", "kind": "Secret", "metadata": meta})
        return Result(requeue_after=5)

    run(kube, reconcile, seconds=30)
    assert found(kube) == []
    assert len(kube.list("v1", "Secret")) == 3


# --- tasks, threads, blocking calls ---


async def tick(seconds=1.0):
    await asyncio.sleep(seconds)


async def boom():
    raise ConnectionError("it is down")


def test_tasks_that_are_awaited(kube):
    async def reconcile(request):
        async with asyncio.TaskGroup() as group:
            group.create_task(tick())
        await asyncio.gather(tick(), boom(), return_exceptions=True)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(tick(10), 1)
        task = asyncio.create_task(tick(100))
        task.cancel()

    run(kube, reconcile)
    assert found(kube) == []


def test_a_failed_task_is_named(kube, caplog):
    kept = []

    async def reconcile(request):
        kept.append(asyncio.create_task(boom()))

    run(kube, reconcile)
    (text,) = texts(kube)
    line = reconcile.__code__.co_firstlineno + 1
    by = f"started by minder reconciling default/a [added] at test_detectors.py:{line}"
    assert text.startswith(f"[failed-task] a task ({by}) of boom (test_detectors.py:")
    assert "failed with ConnectionError: it is down" in text


def test_a_task_beside_the_operator_that_fails_unseen(kube, caplog):
    async def work():
        asyncio.create_task(boom())  # noqa: RUF006 - the defect
        await asyncio.sleep(5)

    kube.task(work())
    kube.advance(10)
    assert found(kube) == ["failed-task"]


def test_a_blocking_request_in_a_coroutine_and_in_a_thread(kube):
    kube.apply(config_map("a"))
    api = kubernetes.client.CoreV1Api(kube.access.api_client())

    async def wrong():
        api.read_namespaced_config_map("a", "default")

    async def right():
        await asyncio.to_thread(api.read_namespaced_config_map, "a", "default")

    api.read_namespaced_config_map("a", "default")  # the test itself may
    kube.task(right())
    kube.advance(1)
    assert kube.findings == []
    kube.task(wrong())
    kube.advance(1)
    (text,) = texts(kube)
    assert text.startswith("[blocking-request] test_detectors.py:")
    assert " in test_a_blocking_request_in_a_coroutine_and_in_a_thread.<locals>.wrong makes a blocking call" in text


def test_a_killed_operator_has_no_findings(kube):
    operator = run(kube, failing(10_000))
    kube.kill(operator)
    kube.advance(10)
    assert found(kube) == []


def test_a_restarted_operator_has_those_of_its_present_incarnation(kube):
    operator = run(kube, failing(10_000))
    kube.restart(operator)
    kube.advance(10)
    assert found(kube) == ["reconcile-error"]


def test_row6_a_blocking_call_in_a_coroutine(kube):
    async def reconcile(request):
        time.sleep(1)  # noqa: ASYNC251 - the defect

    run(kube, reconcile)
    assert found(kube) == ["blocking-call", "reconcile-error"]


def test_a_blocking_call_in_a_thread(kube):
    async def reconcile(request):
        await asyncio.to_thread(time.sleep, 1)

    run(kube, reconcile)
    assert found(kube) == []


# --- access, leadership, faults ---


@pytest.mark.parametrize("rbac", [True, False], ids=["access is checked", "access is not checked"])
@pytest.mark.parametrize(("granted", "expected"), [(False, ["missing-permission"]), (True, [])])
def test_a_missing_permission(granted, expected, rbac):
    verbs = ["get", "list", "watch", *(["create"] if granted else [])]
    meta, account = {"name": "m"}, {"kind": "ServiceAccount", "namespace": "default", "name": "m"}
    group = "rbac.authorization.k8s.io"
    rules = [{"apiGroups": [""], "resources": ["configmaps", "secrets"], "verbs": verbs}]
    role = {"apiVersion": f"{group}/v1", "kind": "ClusterRole", "metadata": meta, "rules": rules}
    reference = {"apiGroup": group, "kind": "ClusterRole", "name": "m"}
    binding = {**role, "kind": "ClusterRoleBinding", "roleRef": reference, "subjects": [account]}
    del binding["rules"]

    async def reconcile(request, client):
        try:
            await client.create(
                {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "default"}}
            )
        except ApiError as error:
            assert error.reason == ("AlreadyExists" if granted or not rbac else "Forbidden")

    with FakeKube(rbac=rbac, detect={**ON, "writes-at-rest": "off"}) as kube:
        kube.apply(role, binding)
        run(kube, reconcile, service_account="default/m")
        assert found(kube) == expected


def test_a_denial_by_a_fault_is_no_missing_permission(kube):
    with kube.fault(verb="update", error=403, times=1):
        run(kube, stamping(seen="yes"))
    assert found(kube) == ["noop-write"]


def test_a_replica_that_only_leads_writes(kube):
    def replica(name, **options):
        election = LeaderElection(LeaderElectionOptions(name="m", namespace="default", identity=name))

        def add(manager):
            controller = manager.controller("m").for_("v1", "ConfigMap")
            controller.with_options(ControllerOptions(**options)).complete(stamping(seen=name))

        return kube.start(add, election=election)

    replica("one")
    replica("two")
    kube.apply(config_map("a"))
    kube.advance(30)
    assert found(kube) == ["noop-write"]


def test_row13_a_fault_that_matched_no_request(kube):
    with kube.fault(verb="update", resource="secrets", error=500, times=1):
        run(kube, stamping(seen="yes"))
    assert "[unused-fault] fault(verb='update', resource='secrets', times=1, error=500) matched no request" in texts(
        kube
    )


# --- polling ---


def lister(seconds, *, watches=False):
    async def work(client):
        if watches:
            _, _, stream = await client.transport.open_watch("/api/v1/secrets", headers={"User-Agent": "poller"})
        for _ in range(20):
            await client.raw_get("/api/v1/secrets")
            await asyncio.sleep(seconds)
        if watches:
            await stream.aclose()

    return work


@pytest.mark.parametrize(
    ("seconds", "watches", "expected"), [(5, False, ["poll-list"]), (300, False, []), (5, True, [])]
)
def test_lists_again_and_again(kube, seconds, watches, expected):
    from controllerlib import Client

    client = Client(kube.access.transport(), user_agent="poller")
    kube.task(lister(seconds, watches=watches)(client))
    kube.advance(seconds * 25)
    assert [name for name in found(kube) if name != "plain-watch"] == expected


@pytest.mark.parametrize(
    ("seconds", "expected"), [(0.1, ["short-requeue"]), (0.999, ["short-requeue"]), (1, []), (5, [])]
)
def test_short_requeues(kube, seconds, expected):
    run(kube, every(seconds), seconds=seconds * 100)
    assert found(kube) == expected


def test_a_watch_without_bookmarks(kube):
    from controllerlib import Client

    async def work():
        client = Client(kube.access.transport(), user_agent="watcher")
        _, _, stream = await client.transport.open_watch("/api/v1/secrets", headers={"User-Agent": "watcher"})
        await stream.aclose()

    kube.task(work(), name="the-task")
    kube.settle()
    assert texts(kube) == [
        "[plain-watch] the-task (watcher): watches /api/v1/secrets without allowWatchBookmarks and resourceVersion"
    ]


def test_a_resync_that_changes_nothing(kube):
    run(kube, stamping(seen="yes"), config_map("a", seen="yes"), seconds=50_000)
    assert found(kube) == ["noop-write"]


# --- levels, allowing, pytest ---

SOURCE = """
    import pytest

    async def fails(request):
        raise RuntimeError("it failed")

    async def writes(request, client):
        found = await client.get("v1", "ConfigMap", request.name, namespace=request.namespace)
        await client.update({**found, "data": {"x": "1"}})

    def start(fakekube, reconcile):
        fakekube.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})
        return fakekube.start(lambda manager: manager.controller("c").for_("v1", "ConfigMap").complete(reconcile))
"""


@pytest.fixture
def run_tests(pytester):
    def run_tests(source, *options):
        pytester.makepyfile(SOURCE + source)
        if "error" in options:
            without_garbage_of_others()
        return pytester.runpytest_inprocess("-pno:cacheprovider", *LEAN, *options)

    return run_tests


FAILS = """
    def test_it(fakekube):
        start(fakekube, fails)
"""
WRITES = """
    def test_it(fakekube):
        start(fakekube, writes)
"""


@pytest.mark.slow
def test_row6_a_finding_fails_the_test_and_not_its_tear_down(run_tests):
    result = run_tests(FAILS)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*reconcile-error] c reconciling default/a *failed with RuntimeError: it failed*"])
    result.stdout.fnmatch_lines(['*fakekube.findings.allow("reconcile-error", reason=...)*'])


@pytest.mark.slow
def test_in_an_async_test_too(run_tests):
    result = run_tests(
        """
    async def test_it(fakekube):
        await start(fakekube, fails)
"""
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*reconcile-error]*it failed*"])


@pytest.mark.slow
def test_a_failing_test_shows_its_findings_too(run_tests):
    result = run_tests(FAILS + "        assert 1 == 2\n")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*assert 1 == 2*"])
    result.stdout.fnmatch_lines(["*fakekube findings*", "*reconcile-error]*it failed*"])


@pytest.mark.slow
def test_a_warning_does_not_fail_the_test(run_tests):
    result = run_tests(WRITES, "-W", "default")
    result.assert_outcomes(passed=1, warnings=1)
    result.stdout.fnmatch_lines(["*test_a_warning_does_not_fail_the_test.py:14: FindingWarning: ?noop-write? *"])


@pytest.mark.slow
def test_a_warning_fails_the_test_where_warnings_are_errors(run_tests):
    run_tests(WRITES, "-W", "error").assert_outcomes(failed=1)


@pytest.mark.slow
@pytest.mark.parametrize(
    "marker",
    [
        '@pytest.mark.fakekube(detect={"reconcile-error": "off"})',
        '@pytest.mark.fakekube(detect={"all": "off"})',
        '@pytest.mark.fakekube(detect={"all": "error", "reconcile-error": "off"})',
    ],
)
def test_a_marker_sets_levels(run_tests, marker):
    run_tests(FAILS.replace("    def test", f"    {marker}\n    def test")).assert_outcomes(passed=1)


@pytest.mark.slow
def test_ini_values_options_and_markers_in_this_order(run_tests, pytester):
    pytester.makeini("[pytest]\nfakekube_detect = noop-write=error reconcile-error=off\n")
    run_tests(WRITES).assert_outcomes(failed=1)
    run_tests(WRITES, "--fakekube-detect=noop-write=off").assert_outcomes(passed=1)
    run_tests(FAILS).assert_outcomes(passed=1)
    marked = WRITES.replace("    def test", '    @pytest.mark.fakekube(detect={"noop-write": "off"})\n    def test')
    run_tests(marked, "--fakekube-detect=noop-write=error").assert_outcomes(passed=1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("noop", "*'noop' must be NAME=LEVEL*"),
        ("nope=off", "*there is no detector 'nope'*"),
        ("all=2", "*the level is*"),
    ],
)
def test_an_invalid_level(run_tests, option, said):
    result = run_tests(FAILS, f"--fakekube-detect={option}")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([said])


def test_what_a_test_allows(kube):
    kube.findings.allow("reconcile-error", reason="the backend is down", match="it failed")
    run(kube, failing(10_000))
    assert found(kube) == []
    with pytest.raises(ValueError, match=r"there is no detector 'noop' \(detectors: blocking-call, "):
        kube.findings.allow("noop", reason="x")
    with pytest.raises(TypeError, match="the reason is text"):
        kube.findings.allow("noop-write", reason="")


def test_allowing_other_texts_allows_nothing(kube):
    kube.findings.allow("reconcile-error", reason="the backend is down", match="something else")
    run(kube, failing(10_000))
    assert found(kube) == ["reconcile-error"]


def test_without_pytest_a_finding_is_raised_at_the_end_of_the_block():
    with pytest.raises(FindingError, match="it failed") as caught, FakeKube() as kube:
        run(kube, failing(10_000))
    assert [one.detector for one in caught.value.findings] == ["reconcile-error"]


def test_an_exception_of_the_block_is_not_hidden():
    def fails():
        with FakeKube() as kube:
            run(kube, failing(10_000))
            raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        fails()


def test_detectors_that_are_off_cost_nothing():
    with FakeKube(detect={"all": "off"}) as kube:
        assert not engine_of(kube).detection.detectors
        run(kube, failing(10_000))


def test_the_documentation_has_a_row_for_every_detector_and_no_other():
    from pathlib import Path

    text = (Path(__file__).parents[2] / "docs" / "desks" / "findings.md").read_text()
    rows = re.findall(r"^\| `([a-z-]+)` \| (error|warn|off) \|", text, re.MULTILINE)
    assert dict(rows) == dict(DEFAULTS)
    assert len(rows) == len(DEFAULTS)


def test_a_module_of_known_detectors_needs_no_other_registration():
    """Each class with the members of a detector, in any module of the package, is discovered."""
    from importlib import import_module
    from pkgutil import walk_packages

    from fakekube.harness.detectors import known

    modules = [import_module(one.name) for one in walk_packages(known.__path__, f"{known.__name__}.")]
    classes = {
        one for module in modules for one in vars(module).values() if hasattr(one, "levels") and hasattr(one, "finish")
    }
    assert set(KNOWN) == classes


def test_two_detectors_cannot_disagree_about_the_level_of_a_name():
    with pytest.raises(ValueError, match="Other: 'noop-write' has the default level 'warn' in another detector"):
        defaults_of([*KNOWN, type("Other", (), {"levels": {"noop-write": "error"}})])
