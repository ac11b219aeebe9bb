"""Which exceptions end a test, an operator or the code under test; and small rules of texts and addresses."""

import asyncio
from bdb import BdbQuit
from types import SimpleNamespace

import pytest

from controllerlib.controller import RecoveredPanic
from fakekube.apiserver.user import User
from fakekube.harness.backends.realcluster import RealCluster
from fakekube.harness.connecting.endpoint import _namespace
from fakekube.harness.detectors.detector import shown_value
from fakekube.harness.unhandled import (
    end_if_it_ends_the_test,
    ends_the_operator,
    has_failed,
    is_unhandled,
    raise_if_it_ends_the_code,
)
from fakekube.virtualtime.errors import BubbleClosed, LoopBlocked


class Strange(BaseException):
    """What extensions that are written in Rust raise."""


class Fatal(BaseException):
    """An exception that ends a test."""


def recovered(cause):
    return RecoveredPanic(cause)


@pytest.mark.parametrize(
    ("error", "unhandled"),
    [
        (ValueError(), True),
        (Strange(), True),
        (asyncio.CancelledError(), True),
        (GeneratorExit(), True),
        (KeyboardInterrupt(), False),
        (SystemExit(1), False),
        (BubbleClosed("x"), False),
        (pytest.fail.Exception("x"), False),
    ],
)
def test_what_nothing_else_raises(error, unhandled):
    assert is_unhandled(error) is unhandled


async def test_the_cancellation_of_a_task_is_no_failure(fakekube):
    task = asyncio.current_task()
    assert not has_failed(asyncio.CancelledError(), None)
    assert has_failed(asyncio.CancelledError(), task), "it was not cancelled"
    assert has_failed(ValueError(), task)
    assert not has_failed(KeyboardInterrupt(), task)


@pytest.mark.parametrize(
    ("error", "ends"),
    [
        (ValueError(), False),
        (TypeError(), True),
        (AssertionError(), True),
        (Strange(), True),
        (SystemExit(), True),
        (OSError(), False),
    ],
)
def test_what_ends_an_operator(error, ends):
    assert ends_the_operator(error) is ends


@pytest.mark.parametrize(
    ("error", "raised"),
    [
        (Fatal(), True),
        (recovered(Fatal()), True),
        (BdbQuit(), True),
        (recovered(BdbQuit()), True),
        (ValueError(), False),
        (recovered(ValueError()), False),
        (SystemExit(), False),
    ],
)
def test_what_ends_a_test_is_raised_from_the_loop(error, raised):
    failed = []
    end_if_it_ends_the_test(SimpleNamespace(fatal_errors=(Fatal,), fail_with=failed.append), error)
    assert failed == [error.__cause__ if isinstance(error, RecoveredPanic) else error] * raised


@pytest.mark.parametrize("error", [BubbleClosed("x"), LoopBlocked("x"), recovered(BubbleClosed("x"))])
def test_what_a_bubble_has_raised_is_raised_again(error):
    with pytest.raises((BubbleClosed, LoopBlocked)) as caught:
        raise_if_it_ends_the_code(error)
    assert caught.value is (error.__cause__ if isinstance(error, RecoveredPanic) else error)


@pytest.mark.parametrize("error", [ValueError(), recovered(ValueError()), SystemExit(), Fatal()])
def test_other_errors_of_a_reconcile_are_not_raised(error):
    raise_if_it_ends_the_code(error)


# --- small rules


@pytest.mark.parametrize(
    ("user", "namespace"),
    [
        (None, "default"), (User("ann"), "default"), (User("system:serviceaccount:ops:me"), "ops"),
        (User("system:node:n1"), "default"), (User("serviceaccount:ops:me"), "default"),
    ],
)  # fmt: skip
def test_the_namespace_of_a_client_is_that_of_its_service_account(user, namespace):
    assert _namespace(user) == namespace


@pytest.mark.parametrize(("length", "whole"), [(0, True), (98, True), (99, False), (500, False)])
def test_a_finding_shows_a_hundred_characters_of_a_value(length, whole):
    text = repr("x" * length)
    assert shown_value("x" * length) == (text if whole else f"{text[:100]}...")


def test_the_records_of_a_real_cluster():
    cluster = SimpleNamespace(_ledger="ledger", _timeline="timeline", _namespace="mine")
    found = [vars(RealCluster)[name].fget(cluster) for name in ("ledger", "timeline", "namespace")]
    assert found == ["ledger", "timeline", "mine"]
