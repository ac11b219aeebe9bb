"""ignored-error: writes that were refused, and of which nothing but a log knows."""

import contextlib
import logging
import time

import kopf
import kubernetes
import pytest
from kubernetes.client.exceptions import ApiException

from controllerlib import ApiError, Result
from fakekube import FakeKube
from tests.harness.detectors.scenes import found, read, resize, run, start_kopf, start_program, texts
from tests.harness.planted import API

log = logging.getLogger(__name__)

CHILD = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a-child", "namespace": "default"}}
INVALID = {**CHILD, "data": {"not a key!": "x"}}


def trying(obj, then, **options):
    """A reconciler that logs the error of a creation and then does something."""

    async def reconcile(request, client):
        owner = await read(client, request)
        try:
            await client.create(obj)
        except ApiError as error:
            log.warning("cannot create: %s", error)
            if error.reason != "AlreadyExists":
                return await then(client, owner, error)
        return None

    return reconcile


async def nothing(client, owner, error):
    return None


async def say_ready(client, owner, error):
    if not owner.get("status"):
        await client.patch_status(owner, {"status": {"phase": "Ready"}})


async def say_failed(client, owner, error):
    if not owner.get("status"):
        await client.patch_status(owner, {"status": {"phase": "Failed", "message": str(error)}})


async def record_event(client, owner, error):
    meta = {"generateName": "a-", "namespace": "default"}
    about = {"apiVersion": API, "kind": "Database", "name": "a", "namespace": "default"}
    event = {"apiVersion": "v1", "kind": "Event", "metadata": meta, "involvedObject": about, "type": "Warning"}
    await client.create({**event, "reason": "CreationFailed", "message": "no"})


async def create_valid(client, owner, error):
    await client.create(CHILD)


async def in_a_minute(client, owner, error):
    return Result(requeue_after=60)


@pytest.mark.parametrize("then", [nothing, say_ready])
def test_an_invalid_object_that_only_a_log_knows_of(kube, then):
    run(kube, trying(INVALID, then))
    (text,) = texts(kube)
    assert text.startswith("[ignored-error] c: create configmaps default/a-child -> 422 Invalid: ConfigMap ")
    assert "c reconciling default/a [" in text
    assert "has neither repeated it, failed nor requeued: nothing but a log knows of it; raise the error" in text


@pytest.mark.parametrize("code", [400, 403, 422, 500, 503])
def test_a_write_that_fails_once(kube, code):
    with kube.fault(verb="create", resource="configmaps", error=code, times=1, unrealistic=True):
        run(kube, trying(CHILD, nothing))
    assert found(kube) == ["ignored-error"]


def test_a_requeue_that_is_hours_away(kube):
    async def tomorrow(client, owner, error):
        return Result(requeue_after=7200)

    run(kube, trying(INVALID, tomorrow))
    assert "has neither repeated it within 7200 s, failed" in " ".join(texts(kube))


@pytest.mark.parametrize("then", [say_failed, record_event, create_valid, in_a_minute])
def test_an_error_that_is_reported_or_repaired(kube, then):
    run(kube, trying(INVALID, then))
    assert found(kube) == []


def once(child=CHILD):
    """A reconciler that tries to create a child for objects without a status, and sets one."""

    async def reconcile(request, client):
        owner = await read(client, request)
        if owner is None or owner.get("status"):
            return
        try:
            await client.create(child)
        except ApiError as error:
            log.warning("cannot create: %s", error)
        await client.patch_status(owner, {"status": {"phase": "Ready"}})

    return reconcile


@pytest.mark.slow
def test_a_reconcile_that_its_own_status_wakes_repeats_nothing(kube):
    with kube.fault(verb="create", resource="configmaps", error=500, times=1):
        run(kube, once())
    (text,) = texts(kube)
    assert text.startswith("[ignored-error] c: create configmaps default/a-child -> 500 InternalError")
    assert "has neither repeated it, failed nor requeued, and neither has a later one: nothing but a log" in text


def test_a_write_without_a_name_that_only_its_own_status_follows(kube):
    unnamed = {**CHILD, "metadata": {"generateName": "a-", "namespace": "default"}}
    with kube.fault(verb="create", resource="configmaps", error=500, times=1):
        run(kube, once(child=unnamed))
    assert found(kube) == ["ignored-error"]


@pytest.mark.parametrize("named", [True, False])
def test_a_later_reconcile_that_repeats_a_write(kube, named):
    child = CHILD if named else {**CHILD, "metadata": {"generateName": "a-", "namespace": "default"}}
    states = []

    async def reconcile(request, client):
        owner = await read(client, request)
        try:
            if len(states) < 2:
                await client.create(child)
            states.append("created")
        except ApiError:
            states.append("refused")
            await client.patch_status(owner, {"status": {"phase": "Ready"}})

    with kube.fault(verb="create", resource="configmaps", error=500, times=1):
        run(kube, reconcile)
    resize(kube)  # another reconcile, which has nothing to do
    kube.settle()
    assert states == ["refused", "created", "created"]
    assert found(kube) == []


def test_an_object_that_somebody_else_makes(kube):
    with kube.fault(verb="create", resource="configmaps", error=500, times=1):
        run(kube, once())
    kube.create(CHILD)
    assert found(kube) == []


def test_a_write_that_a_changed_object_does_not_need_any_more(kube):
    with kube.fault(verb="create", resource="configmaps", error=500, times=1):
        run(kube, once())
    resize(kube)
    kube.settle()
    assert found(kube) == []


def test_a_change_that_a_later_reconcile_does_not_repeat(kube):
    async def reconcile(request, client):
        owner = await read(client, request)
        if owner.get("status"):
            return
        child = await client.create(CHILD)
        try:
            await client.patch(child, {"data": {"mode": "on"}})
        except ApiError as error:
            log.warning("cannot patch: %s", error)
        await client.patch_status(owner, {"status": {"phase": "Ready"}})

    with kube.fault(verb="patch", resource="configmaps", error=500, times=1):
        run(kube, reconcile)
    (text,) = texts(kube)
    assert text.startswith("[ignored-error] c: patch configmaps default/a-child -> 500 InternalError")


def test_many_objects_are_one_finding_with_their_number(kube):
    async def reconcile(request, client):
        for number in range(4):
            with contextlib.suppress(ApiError):
                await client.create({**INVALID, "metadata": {"name": f"a-{number}", "namespace": "default"}})

    run(kube, reconcile)
    (text,) = texts(kube)
    assert "create configmaps default/a-0 -> 422 Invalid" in text
    assert " (and of 3 other objects); c reconciling default/a [" in text


def condition(type, status, **more):
    return {"type": type, "status": status, **more}


@pytest.mark.parametrize(
    "status",
    [
        {"conditions": [condition("Progressing", "False")]},
        {"conditions": [condition("Degraded", "False", reason="AsExpected")]},
        {"conditions": [condition("ReconcileError", "False", message="no error")]},
        {"conditions": [condition("Ready", "True")]},
        {"paused": False, "failed": 0, "lastError": None},
    ],
    ids=str,
)
def test_a2_a_status_that_speaks_of_no_error(kube, status):
    async def then(client, owner, error):
        await client.patch_status(owner, {"status": status})

    run(kube, trying(INVALID, then))
    assert "ignored-error" in found(kube)


@pytest.mark.parametrize(
    "status",
    [
        {"conditions": [condition("Ready", "False")]},
        {"conditions": [condition("ConfigAvailable", "False")]},
        {"conditions": [condition("Degraded", "True")]},
        {"conditions": [condition("Progressing", "False", reason="ChildRejected")]},
        {"conditions": [condition("Progressing", "Unknown", message="the child is invalid")]},
        {"ready": False},
        {"lastError": "422"},
    ],
    ids=str,
)
def test_a2_a_status_that_speaks_of_an_error(kube, status):
    async def then(client, owner, error):
        await client.patch_status(owner, {"status": status})

    run(kube, trying(INVALID, then))
    assert "ignored-error" not in found(kube)


def test_an_error_of_which_a_later_reconcile_takes_care(kube):
    with kube.fault(verb="create", resource="configmaps", error=500, times=1):
        run(kube, trying(CHILD, nothing))
    resize(kube)
    kube.settle()
    assert found(kube) == []


def test_a_reconcile_that_raises_has_an_error_of_its_own(kube):
    async def again(client, owner, error):
        raise error

    run(kube, trying(INVALID, again))
    assert found(kube) == ["reconcile-error"]


def test_a_question_to_the_server_is_no_write(kube):
    """A dry run that validates, an Event that may be lost, a lock that another replica may have, and a review."""
    meta = {"name": "x", "namespace": "default"}
    event = {"apiVersion": "v1", "kind": "Event", "metadata": meta, "involvedObject": {"namespace": "other"}}
    lease = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": meta,
        "spec": {"leaseTransitions": -1},
    }
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "metadata": {}, "spec": {}}
    codes = []

    async def reconcile(request, client):
        for obj in (INVALID, event, lease, review):
            try:
                await client.create(obj, dry_run=obj is INVALID)
            except ApiError as error:
                codes.append(error.code)

    run(kube, reconcile)
    assert codes == [422] * 4
    assert found(kube) == []


# --- without reconciles


def create(api, body):
    try:
        api.create_namespaced_config_map("default", body)
    except ApiException as error:
        log.warning("cannot create: %s", error.reason)


def going_on(api, *more):
    create(api, INVALID)
    for step in more:
        step(api)
    while True:
        time.sleep(600)
        api.list_namespace()


def test_a_program_that_goes_on_after_an_error(kube):
    start_program(kube, going_on, seconds=3600)
    (text,) = texts(kube)
    assert text.startswith(
        "[ignored-error] program (OpenAPI-Generator): create configmaps default/a-child -> 422 Invalid"
    )
    assert "for five minutes the client has neither written nor read the object again" in text


@pytest.mark.parametrize(
    "more",
    [
        lambda api: create(api, CHILD),
        lambda api: kubernetes.client.CustomObjectsApi(api.api_client).patch_namespaced_custom_object_status(
            *API.split("/"), "default", "databases", "a", {"status": {"error": "cannot create a-child"}}
        ),
        lambda api: time.sleep(30) or create(api, CHILD),
    ],
    ids=["repaired", "reported", "repeated"],
)
def test_a_program_that_repairs_or_reports_an_error(kube, more):
    start_program(kube, going_on, more, seconds=3600)
    assert found(kube) == []


def test_a_program_that_ends_with_its_error(kube):
    start_program(kube, lambda api: create(api, INVALID), seconds=3600)
    assert found(kube) == []


def handling(handler):
    def register(registry):
        kopf.on.create(*API.split("/"), "databases", registry=registry)(handler)
        kopf.timer(*API.split("/"), "databases", interval=600, registry=registry)(lambda **_: None)

    return register


def core():
    kubernetes.config.load_kube_config()
    return kubernetes.client.CoreV1Api()


@pytest.mark.slow
def test_a_handler_of_kopf_that_swallows_an_error(kube):
    def handler(**_):
        create(core(), INVALID)
        core().list_namespace()

    start_kopf(kube, handling(handler), seconds=3600)
    (text,) = [one for one in texts(kube) if "ignored-error" in one]
    assert text.startswith(
        "[ignored-error] kopf-op (OpenAPI-Generator): create configmaps default/a-child -> 422 Invalid"
    )


def test_a_handler_of_kopf_that_lets_it_fail_or_reports_it(kube):
    def fails(**_):
        try:
            core().create_namespaced_config_map("default", INVALID)
        except ApiException as error:
            raise kopf.PermanentError("cannot create a-child") from error

    start_kopf(kube, handling(fails), seconds=3600)
    assert "ignored-error" not in found(kube)


@pytest.mark.slow
def test_a_handler_of_kopf_that_reports_it_in_the_status(kube):
    def reports(patch, **_):
        create(core(), INVALID)
        core().list_namespace()
        patch.status["phase"] = "Failed"

    start_kopf(kube, handling(reports), seconds=3600)
    assert "ignored-error" not in found(kube)


def test_a_detector_that_is_on_alone_knows_of_reconciles():
    """Without them, a write that the next reconcile repeats would be one that nothing repeats."""
    with FakeKube(detect={"all": "off", "ignored-error": "warn"}) as kube:
        run(kube, trying(INVALID, nothing), seconds=600)
        (text,) = texts(kube)
    assert "c reconciling default/a [added]" in text
