"""logged-error: errors that only a log knows of."""

import asyncio
import contextlib
import functools
import itertools
import logging
import operator
import time

import kopf
import kubernetes
import pytest

from fakekube import FakeKube
from tests.harness.detectors.scenes import found, read, run, start_kopf, start_program, texts
from tests.harness.planted import API, database

log = logging.getLogger("app")


def handling(error, *, times=10_000, on=kopf.on.create, **options):
    """A handler of kopf that raises so many times."""
    left = iter(range(times))

    def register(registry):
        @on(*API.split("/"), "databases", registry=registry, **options)
        def handle(**_):
            if next(left, None) is not None:
                raise error

    return register


@pytest.mark.slow
def test_a_handler_of_kopf_that_fails_for_ever(kube):
    start_kopf(kube, handling(ConnectionError("backend")), seconds=600)
    (text,) = texts(kube)
    assert text.startswith(
        "[logged-error] kopf-op: kopf.objects logged \"Handler 'handling.<locals>.register.<locals>.handle' failed with an "
        'exception and will try again in 60 seconds: backend" with the traceback of ConnectionError (test_logged_errors.py:'
    )
    assert text.endswith(") 10 times within 600 s and goes on: handle it, or report it where its users look") or (
        " times within " in text and text.endswith("handle it, or report it where its users look")
    )


@pytest.mark.slow
def test_a_handler_of_a_deletion_that_fails_for_ever(kube):
    start_kopf(kube, handling(ConnectionError("backend"), on=kopf.on.delete))
    kube.delete(API, "Database", "a")
    kube.advance(600)
    assert found(kube) == ["logged-error"]


def test_a_handler_of_kopf_with_a_bug(kube):
    start_kopf(kube, handling(TypeError("a bug"), times=1), seconds=600)
    (text,) = texts(kube)
    assert text.endswith("), which is a bug")


def test_a_handler_of_kopf_that_is_not_tried_again_in_the_test(kube):
    start_kopf(kube, handling(ConnectionError("backend")), seconds=10)
    (text,) = texts(kube)
    assert text.endswith("), and has not succeeded since")


@pytest.mark.parametrize("times", [1, 3])
def test_a_handler_of_kopf_that_a_retry_repairs(kube, times):
    start_kopf(kube, handling(ConnectionError("backend"), times=times), seconds=600)
    assert found(kube) == []


@pytest.mark.slow
@pytest.mark.parametrize("error", [kopf.TemporaryError("not yet", delay=30), kopf.PermanentError("never")])
def test_what_a_handler_of_kopf_says_on_purpose(kube, error):
    start_kopf(kube, handling(error), seconds=600)
    assert found(kube) == []


@pytest.mark.slow
def test_a_handler_of_kopf_that_a_fault_makes_fail(kube):
    def register(registry):
        import kubernetes

        @kopf.on.create(*API.split("/"), "databases", registry=registry)
        def handle(**_):
            kubernetes.config.load_kube_config()
            kubernetes.client.CoreV1Api().list_namespaced_secret("default")

    with kube.fault(verb="list", resource="secrets", error=500, times=3):
        start_kopf(kube, register, seconds=170)
    assert found(kube) == []


@pytest.mark.slow
def test_a_bug_while_a_fault_hits_another_program(kube):
    """Only a fault of its own requests excuses a record."""

    def polling(api):
        while True:
            with contextlib.suppress(kubernetes.client.exceptions.ApiException):
                api.list_namespaced_secret("default")
            time.sleep(1)

    kube.access.configure()
    with kube.fault(verb="list", resource="secrets", error=500):
        kube.thread(polling, kubernetes.client.CoreV1Api(kube.access.api_client()), name="poller")
        start_kopf(kube, handling(TypeError("a bug")), seconds=600)
    (text,) = [one for one in texts(kube) if "logged-error" in one]
    assert text.startswith("[logged-error] kopf-op: kopf.objects logged ")


@pytest.mark.slow
def test_a_bug_while_watches_are_late(kube):
    """No request fails because of late events, so that they excuse no record."""
    with kube.faults.disturb_watches(delay=20):
        start_kopf(kube, handling(ConnectionError("a backend")), seconds=1200)
    assert "logged-error" in found(kube)


def swallowing(error, times):
    """A reconciler that logs an error so many times, and succeeds."""
    numbers = itertools.count()

    async def reconcile(request, client):
        seen = await read(client, request)
        try:
            if next(numbers) < times:
                raise error
        except Exception:
            log.exception("it failed")
        if (status := seen.get("status") or {}).get("seen", 0) < 8:
            await client.patch_status(seen, {"status": {"seen": status.get("seen", 0) + 1}})

    return reconcile


@pytest.mark.parametrize(("error", "expected"), [(NameError("x"), ["logged-error"]), (KeyError("x"), [])])
def test_an_error_that_a_reconcile_swallows_once(kube, error, expected):
    run(kube, swallowing(error, 1))
    assert found(kube) == expected


def test_an_error_that_a_reconcile_logs_and_raises(kube):
    async def reconcile(request):
        try:
            raise TypeError("a bug")
        except TypeError:
            log.exception("it failed")
            raise

    run(kube, reconcile)
    assert found(kube) == ["reconcile-error"]


def polling(error, times):
    """A program that tries something each minute and fails so many times."""

    def program(api):
        for number in itertools.count():
            try:
                if number < times:
                    raise error
            except Exception:
                log.exception("it failed")
            time.sleep(60)

    return program


@pytest.mark.parametrize(("times", "expected"), [(100, ["logged-error"]), (2, []), (5, [])])
def test_a_program_that_fails_in_each_round(kube, times, expected):
    start_program(kube, polling(OSError("disk"), times), seconds=3600)
    assert found(kube) == expected


def test_the_log_of_the_test_itself_and_records_without_a_traceback(kube):
    def program(api):
        for _ in range(100):
            log.error("no disk")
            time.sleep(1)

    for _ in range(5):
        try:
            raise TypeError("of the test")
        except TypeError:
            log.exception("it failed")
        kube.advance(1)
    start_program(kube, program)
    assert found(kube) == []


def test_errors_while_the_server_is_down(kube):
    def program(api):
        while True:
            try:
                api.list_namespaced_secret("default", _request_timeout=1)
            except Exception:
                log.exception("it failed")
            time.sleep(20)

    start_program(kube, program, seconds=30)
    kube.faults.restart_server(down=300)
    kube.advance(300)
    assert "logged-error" not in found(kube)


@pytest.mark.slow
def test_an_error_of_a_library(kube):
    """No code of the operator takes part in it."""

    def program(api):
        work = asyncio.new_event_loop()
        logger = logging.getLogger("library")
        for _ in range(10):
            work.call_soon(functools.partial(operator.truediv, 1, 0))
            work.set_exception_handler(lambda _, context: logger.error("failed", exc_info=context["exception"]))
            work.run_until_complete(asyncio.sleep(60))
        work.close()

    start_program(kube, program, seconds=600)
    assert found(kube) == []


def test_the_factory_of_records_is_as_it_was_and_handlers_are_untouched():
    before, handlers = logging.getLogRecordFactory(), list(logging.getLogger().handlers)
    with FakeKube(detect={"all": "warn"}) as kube:
        assert logging.getLogRecordFactory() is not before
        assert logging.getLogger().handlers == handlers
        kube.apply({**database(), "apiVersion": "v1", "kind": "ConfigMap", "spec": None})
    assert logging.getLogRecordFactory() == before


def test_a_factory_of_the_code_under_test_remains():
    before = logging.getLogRecordFactory()
    try:
        with FakeKube():
            inner = logging.getLogRecordFactory()
            logging.setLogRecordFactory(lambda *args, **named: inner(*args, **named))
            mine = logging.getLogRecordFactory()
        assert logging.getLogRecordFactory() is mine
        log.warning("still logged")
    finally:
        logging.setLogRecordFactory(before)
