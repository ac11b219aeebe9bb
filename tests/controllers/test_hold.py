"""Gates of controllers: a controller is held by itself, or with all others by the gate behind."""

from itertools import product

import pytest

from fakekube.controllers.hold import HoldGate


def gates(own, behind):
    """A gate before another one, each of them held or not."""
    last = HoldGate()
    first = HoldGate(last)
    for gate, held in ((first, own), (last, behind)):
        if held:
            gate.hold()
    return first, last


@pytest.mark.parametrize(("own", "behind"), list(product([False, True], repeat=2)))
def test_a_gate_is_open_if_neither_it_nor_the_one_behind_is_held(own, behind):
    assert gates(own, behind)[0].is_open() is (not own and not behind)


def test_a_permit_lets_one_item_pass():
    gate, _ = gates(True, False)
    gate.permit()
    assert gate.is_open()
    gate.taken()
    assert not gate.is_open()


def test_a_permit_of_one_gate_does_not_open_the_one_behind():
    gate, last = gates(True, True)
    gate.permit()
    assert not gate.is_open()
    last.permit()
    assert gate.is_open()
    gate.taken()
    assert not gate.is_open()
    assert not last.is_open()


def test_permits_that_were_not_used_are_taken_back():
    gate, _ = gates(True, False)
    gate.permit()
    assert gate.withdraw()
    assert not gate.withdraw()
    assert not gate.is_open()


def test_a_gate_that_is_released_is_open_without_permits():
    gate, _ = gates(True, False)
    gate.release()
    gate.taken()
    assert gate.is_open()
    gate.hold()
    assert not gate.is_open()
