"""Names with a random part are compared without it, and nothing else is."""

import random
import secrets
import string
import uuid
from dataclasses import replace

import pytest

from fakekube.simulation.anchor import Anchor
from fakekube.simulation.explorer import Explorer, Settings
from fakekube.simulation.observation import Commit, Observation
from fakekube.simulation.randomnames import RandomNames
from fakekube.simulation.scenario import ScenarioRunner
from tests.simulation.samples.definitions import API, child, custom, definition, ensure, find, report


def run_with(*targets):
    created = [
        Commit(
            number, 0.0, Anchor("create", one), one.partition("/")[0], "default", one.rpartition("/")[2], "operator a"
        )
        for number, one in enumerate(targets)
    ]
    return Observation(0, commits=created, final={one: {"spec": one} for one in targets})


@pytest.mark.parametrize(
    ("first", "second", "third", "general"),
    [
        ("secret/p-b0a9db", "secret/p-b7c01d", "secret/p-000000", "secret/p-*"),
        ("secret/p-b0a9db-data", "secret/p-17c01d-data", "secret/p-x0x0x0-data", "secret/p-*-data"),
        ("secret/p-12", "secret/p-123", "secret/p-7", "secret/p-*"),
        ("secret/b0a9db", "secret/b7c01d", "secret/aaaaaa", "secret/*"),
        ("secret/prod/p.b0", "secret/prod/p.b1", "secret/prod/p.c2", "secret/prod/p.*"),
        ("secret/p-b0-x1", "secret/p-c0-x2", "secret/p-zz-zz", "secret/p-*"),
    ],
)
def test_the_part_that_differs_is_random(first, second, third, general):
    names = RandomNames.of(run_with("cm/a", first), run_with("cm/a", second))
    assert [names.general(one) for one in (first, second, third)] == [general] * 3
    assert names.applied(run_with("cm/a", third)).final.keys() == {"cm/a", f"{general}~1"}


@pytest.mark.parametrize(
    "target",
    ["secret/p-stable", "secret/p-short", "secret/q-123456", "secret/prod/p-123456", "cm/p-123456", "secret/p-12345_"],
)
def test_other_names_stay(target):
    names = RandomNames.of(
        run_with("secret/p-stable", "secret/p-b0a9db"), run_with("secret/p-stable", "secret/p-b7c01d")
    )
    assert names.general(target) == target


def test_what_one_run_has_more_is_no_random_name():
    assert RandomNames.of(run_with("secret/a"), run_with()).patterns == ()
    names = RandomNames.of(run_with("secret/p-b0a9db", "cm/a"), run_with("secret/p-b7c01d", "svc/a"))
    assert [names.general(one) for one in ("cm/a", "svc/a")] == ["cm/a", "svc/a"]


def test_names_that_the_server_generates_are_no_random_names():
    names = RandomNames.of(run_with("pod/a-*~1"), run_with("pod/b-*~1"))
    assert names.patterns == ()
    only_left = (
        Observation(0, final={"pod/a-*~1": {}, "cm/p-1x": {}}),
        Observation(0, final={"pod/b-*~1": {}, "cm/p-2y": {}}),
    )
    names = RandomNames.of(*only_left)
    assert [names.general(one) for one in ("pod/c-*~1", "cm/p-9z")] == ["pod/c-*~1", "cm/p-*"]


def test_the_hash_of_a_template_has_another_length_now_and_then():
    """It is a number of 32 bits whose digits are written as letters (`rand.SafeEncodeString`)."""
    names = RandomNames.of(run_with("rs/web-7b49b58f77", "cm/p-ab"), run_with("rs/web-7d44bb9f4f", "cm/p-cd"))
    assert [names.general(one) for one in ("rs/web-67c846798", "cm/p-efg")] == ["rs/web-*", "cm/p-efg"]


def test_the_generated_names_of_pods_have_the_general_name_of_their_replica_set():
    first, second = (run_with("rs/api-5", *(f"{kind}/web-{one}" for kind in ("rs", "rs/prod"))) for one in ("1x", "2y"))
    names = RandomNames.of(first, second)
    others = ("pod/api-5-*~1", "pod/other-9z-*~1", "pod/web-*~1", "pod/web-9z", "rs/web-9z-*")
    assert [names.general(one) for one in others] == list(others)
    targets = ("pod/web-9z-*", "pod/web-9z-*~2", "pod/prod/web-9z-*~1")
    assert [names.general(one) for one in targets] == ["pod/web-*-*", "pod/web-*-*", "pod/prod/web-*-*"]
    assert list(names.applied(run_with("pod/web-9z-*~1", "pod/web-9z-*~2")).final) == ["pod/web-*-*~1", "pod/web-*-*~2"]


def test_what_is_created_and_gone_has_a_random_name_too_and_records_have_none():
    first, second = (
        Observation(0, commits=[*run_with(f"cm/p-{name}", f"event/e-{name}").commits]) for name in ("1x", "2y")
    )
    names = RandomNames.of(first, second)
    assert [names.general(one) for one in ("cm/p-9z", "event/e-9z")] == ["cm/p-*", "event/e-9z"]
    updated = Observation(0, commits=[replace(one, anchor=replace(one.anchor, verb="update")) for one in first.commits])
    assert RandomNames.of(updated, second).patterns == ()


def test_a_run_is_compared_under_general_names():
    names = RandomNames.of(run_with("cm/a", "cm/p-1x", "cm/p-2y"), run_with("cm/a", "cm/p-3z", "cm/p-4w"))
    run = run_with("cm/a", "cm/p-5v", "cm/p-6u")
    found = names.applied(run)
    assert list(found.final) == ["cm/a", "cm/p-*~1", "cm/p-*~2"]
    assert [one.anchor.target for one in found.commits] == ["cm/a", "cm/p-*", "cm/p-*"]
    assert found.final["cm/p-*~2"] == run.final["cm/p-6u"]
    same = RandomNames.of(run, run)
    assert same.applied(run) is run


@pytest.mark.parametrize(
    ("name", "other", "third", "is_general"),
    [
        ("p-ab", "p-cd", "p-ef", True),
        ("p-ab", "p-cd", "p-efg", False),  # as long as both
        ("p-ab", "p-cde", "p-efgh", True),  # lengths differ
        ("p-ab", "p-cd", "p-e_", False),  # letters and digits
        ("p-a~", "p-c~", "p-e~", True),
        ("p-a~b", "p-c!d", "p-e*f", False),
        ("p-a~b", "p-c!d", "p-e+f", True),
        ("p-ab", "p-ac", "p-zz", True),  # a common letter is random, too
        ("p-ab", "q-ab", "r-ab", True),
    ],
)
def test_what_counts_as_random(name, other, third, is_general):
    names = RandomNames.of(run_with(f"cm/{name}"), run_with(f"cm/{other}"))
    assert (names.general(f"cm/{third}") != f"cm/{third}") is is_general


SOURCES = {
    "uuid": lambda: uuid.uuid4().hex[:6],  # noqa: TID251 - as operators do
    "random": lambda: "".join(random.choices(string.ascii_lowercase, k=5)),
    "secrets": lambda: secrets.token_hex(4),
}


def scenario(source, bug):
    """The name of a Secret is drawn and stored before it is made, or made and stored afterwards."""

    def build(manager):
        live = manager.api_reader

        async def reconcile(request):
            cert = await find(live, API, "Cert", request.name, request.namespace)
            if cert is None:
                return
            name = (cert.get("status") or {}).get("secret")
            if bug and not name:
                name = f"{request.name}-{source()}"
                await live.create(child(cert, "Secret", name))
                await report(live, cert, secret=name)
            if not name:
                name = f"{request.name}-{source()}"
                await report(live, cert, secret=name)
                return
            await ensure(live, child(cert, "Secret", name))

        manager.controller("cert").for_(API, "Cert").owns("v1", "Secret").complete(reconcile)

    def run(fakekube):
        fakekube.apply(definition("Cert", size="integer"))
        fakekube.start(build)
        fakekube.create(custom("Cert", "p", size=1))
        fakekube.advance(60)

    return run


def explored(source, bug):
    runner = ScenarioRunner(scenario(SOURCES[source], bug))
    return Explorer(runner.run, Settings(runs=60), lambda: runner.facts).explore()


@pytest.mark.slow
@pytest.mark.parametrize("source", SOURCES)
def test_an_operator_that_stores_a_drawn_name_first_has_no_alarm(source):
    found = explored(source, bug=False)
    assert found.failed is None
    assert sum(trial.exercised for trial in found.trials) > 30


@pytest.mark.slow
@pytest.mark.parametrize("source", SOURCES)
def test_a_second_object_with_another_drawn_name_is_found(source):
    found = explored(source, bug=True).failed
    assert found.violation.oracle in ("O2", "O3")
    assert found.violation.target.startswith("secret/p-*")
    assert len(found.reduced.plan.atoms) == 1
