"""What a test sees of a controller's queue."""

from datetime import timedelta

import pytest

from controllerlib import Request, Result
from tests.harness.operators import build, config_map


@pytest.fixture
def view(fakekube):
    """A controller that reconciles each ConfigMap again after ten minutes, and fails for `bad`."""

    async def reconcile(request):
        if request.name == "bad":
            raise ValueError("bad")
        return Result(requeue_after=600)

    fakekube.create(config_map("a"))
    return fakekube.start(build(reconcile))["minder"]


def test_a_key_that_is_due_later(fakekube, view):
    assert view.waiting == {"default/a": timedelta(minutes=10)}
    assert view.next_due("default/a") == view.next_due(Request("default", "a")) == timedelta(minutes=10)
    assert [view.is_due_within("default/a", seconds) for seconds in (0, 599.9, 600, 601)] == [False, False, True, True]
    fakekube.advance(60)
    assert (view.waiting, view.ready, view.processing) == ({"default/a": timedelta(minutes=9)}, [], [])
    assert [view.is_due_within("default/a", seconds) for seconds in (539.9, 540)] == [False, True]


def test_a_key_that_is_not_queued(view):
    assert view.next_due("default/b") is None
    assert not view.is_due_within("default/b", 1e9)
    assert view.failures("default/b") == 0


def test_a_key_that_is_due_now(fakekube, view):
    view.enqueue("default/b", Request("default", "c"), "default/a")
    assert view.ready == ["default/b", "default/c", "default/a"]
    assert view.next_due("default/b") == view.next_due("default/a") == timedelta(0)
    assert view.is_due_within("default/c", 0)
    assert view.waiting == {}
    fakekube.settle()
    assert view.ready == []
    assert sorted(view.waiting) == ["default/a", "default/b", "default/c"]
    assert view.causes("default/b") == ["generic"]
    assert view.keys() == ["default/a", "default/b", "default/c"]


def test_a_key_that_fails(fakekube, view):
    fakekube.create(config_map("bad"))
    fakekube.settle()
    assert (view.failures("default/bad"), view.next_due("default/bad")) == (1, timedelta(milliseconds=5))
    fakekube.advance(0.015)
    assert (view.failures("default/bad"), view.next_due("default/bad")) == (3, timedelta(milliseconds=20))
    assert [view.reconciles(), view.reconciles("default/bad")] == [4, 3]
    assert view.times("default/bad") == [timedelta(milliseconds=ms) for ms in (0, 5, 15)]
    assert [str(error) for error in view.errors("default/bad")] == ["bad"] * 3
    fakekube.findings.allow("reconcile-error", reason="it is what this test is about")


def test_a_controller_without_reconciles(fakekube, view):
    with pytest.raises(
        LookupError, match=r"^\"?controller 'minder' has not reconciled default/z yet \(reconciled: default/a\)"
    ):
        view.last("default/z")
    for number, kept in ((0, ""), (2, "")):
        with pytest.raises(
            LookupError, match=f"has no reconcile {number} of default/a: it reconciled it 1 times{kept}"
        ):
            view.why("default/a", number)
    assert view.last().key == view.last("default/a").key == "default/a"
    assert repr(view) == "<ControllerView minder reconciles=1>"


@pytest.mark.parametrize(("key", "meant"), [("a", "default/a"), ("z", "default/z")])
def test_a_key_without_the_namespace_of_its_kind(view, key, meant):
    with pytest.raises(ValueError, match=f"key='{key}': a ConfigMap has a namespace: did you mean '{meant}'"):
        view.next_due(key)
