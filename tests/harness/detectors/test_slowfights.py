"""Two writers of one field who take back each other's value at each resync are reported; protocols are not."""

import pytest

from controllerlib import Result
from controllerlib.controller import PredicateFuncs
from tests.harness.detectors.scenes import texts
from tests.harness.operators import config_map

CREATED = PredicateFuncs(update=lambda event: False)


def keeps(*values, part="data", every=30):
    """A controller that sets a field to one value after the other, every 30 seconds, if it has another one."""
    left = list(values)

    async def reconcile(request, client):
        found = await client.get("v1", "ConfigMap", request.name, request.namespace)
        value = left.pop(0) if len(left) > 1 else left[0]
        if (found.get(part) or {}).get("mode") != value:
            body = {"data": {"mode": value}} if part == "data" else {"metadata": {"labels": {"mode": value}}}
            await client.patch(found, body)
        return Result(requeue_after=every)

    return reconcile


def controllers(**reconcilers):
    """Controllers that see a map once, and then come back by themselves."""

    def build(manager):
        for name, reconcile in reconcilers.items():
            manager.controller(name).for_("v1", "ConfigMap", predicates=[CREATED]).complete(reconcile)

    return build


def run(fakekube, seconds=400, disturb=lambda: None, **reconcilers):
    fakekube.create(config_map("a"))
    fakekube.start(controllers(**reconcilers), name="op")
    for _ in range(8):
        fakekube.advance(seconds / 8)
        disturb()
    return [one for one in texts(fakekube) if one.startswith("[slow-fight]")]


def test_two_controllers_that_overwrite_each_other_every_thirty_seconds(fakekube):
    found = run(fakekube, first=keeps("on"), second=keeps("off", every=31))
    assert len(found) == 1
    for part in ("op (first)", "op (second)", ".data.mode", "'on'", "'off'", "configmaps default/a"):
        assert part in found[0]


@pytest.mark.parametrize(
    ("first", "second", "seconds"),
    [
        pytest.param(keeps("on"), keeps("on", every=31), 400, id="they agree"),
        pytest.param(keeps("on"), keeps("off", every=31), 80, id="they do it twice"),
        pytest.param(
            keeps(*map(str, range(20))), keeps(*(f"x{number}" for number in range(20)), every=31), 400,
            id="each value is new",
        ),
    ],
)  # fmt: skip
def test_what_is_no_fight(fakekube, first, second, seconds):
    assert run(fakekube, seconds, first=first, second=second) == []


def test_what_the_test_writes_begins_it_anew(fakekube):
    def disturb():
        fakekube.create({"apiVersion": "v1", "kind": "Secret", "metadata": {"generateName": "other-"}})

    found = run(fakekube, 400, disturb, first=keeps("on"), second=keeps("off", every=31))
    assert found == []
