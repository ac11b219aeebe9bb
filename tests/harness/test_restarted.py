"""What a test holds of an operator after it was restarted."""

import re

import pytest

from fakekube import FakeKube
from fakekube.simulation.observation import OPERATOR
from fakekube.simulation.plan import parse_plan
from fakekube.simulation.running.run import Run
from tests.harness.operators import build, config_map, nothing


@pytest.mark.parametrize("method", ["kill", "stop", "pause", "resume", "restart"])
def test_a_handle_of_before_a_restart_is_refused(fakekube, method):
    old = fakekube.start(build(nothing), name="db")
    fakekube.kill(old)
    new = fakekube.restart(old)
    message = re.escape(f"{method}(): {old!r} was restarted: pass what restart() has returned, {new!r}")
    with pytest.raises(ValueError, match=message):
        getattr(fakekube.faults if method in ("pause", "resume") else fakekube, method)(old)
    assert (new.is_running, old.is_running) == (True, False)
    assert fakekube.restart(new).incarnation == 3


@pytest.mark.parametrize("method", ["stop", "restart"])
@pytest.mark.parametrize("target", ["text", None, object()])
def test_what_is_no_operator_is_refused(fakekube, method, target):
    said = re.escape(f"{method}() takes an operator as start() returns it, not {target!r}")
    with pytest.raises(TypeError, match=f"^{said}$"):
        getattr(fakekube, method)(target)


def test_other_methods_refuse_it_too(fakekube):
    old = fakekube.start(build(nothing))
    fakekube.restart(old)
    for call in (
        lambda: fakekube.faults.hold_watches(old),
        lambda: fakekube.faults.jump(5, old),
        lambda: fakekube.kill(old, after_write=1),
    ):
        with pytest.raises(ValueError, match="was restarted: pass what restart"):
            call()


def test_the_history_of_a_handle_ends_with_the_restart(fakekube):
    old = fakekube.start(build(nothing))
    fakekube.create(config_map("a"))
    fakekube.settle()
    new = fakekube.restart(old)
    assert (old["minder"].reconciles("default/a"), new["minder"].reconciles("default/a")) == (1, 1)
    fakekube.update(config_map("a", n="1"))
    fakekube.settle()
    assert (old["minder"].reconciles("default/a"), new["minder"].reconciles("default/a")) == (1, 2)


def test_in_an_exploration_a_handle_stands_for_the_incarnations_that_the_engine_starts():
    kube = FakeKube(detect={"all": "off"})
    run = Run(kube, parse_plan("FK1 seed=0"))
    run.attach()
    with kube:
        operator = kube.start(build(nothing), name="db")
        view = operator["minder"]
        kube.create(config_map("a"))
        kube.settle()
        run.hands.kill(OPERATOR + "db")
        run.hands.start(OPERATOR + "db")
        kube.settle()
        assert (operator.is_running, view.reconciles("default/a"), len(view.history("default/a"))) == (True, 2, 2)
        view.enqueue("default/a")
        kube.settle()
        assert view.reconciles("default/a") == 3
        kube.stop(operator)
        assert not operator.is_running
        run.detach()
