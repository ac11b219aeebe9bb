"""`hook` is planned, and accepted, only where a webhook is configured: that something lists the configurations is none."""

import pytest

from fakekube.simulation.plan import Plan
from fakekube.simulation.scenario import ScenarioRunner
from tests.harness.test_webhooks import configuration


def nothing(kube):
    kube.settle()


def lists(kube):
    kube.list("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration")
    kube.list("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration")


def webhooks_none(kube):
    kube.create({**configuration(), "webhooks": []})


def one(kube):
    kube.create(configuration())


def one_that_is_removed(kube):
    made = kube.create(configuration())
    kube.delete(made["apiVersion"], made["kind"], made["metadata"]["name"])


def one_of_a_snapshot(kube):
    kube.create(configuration())
    saved = kube.state.snapshot()
    kube.state.restore(saved)


@pytest.mark.parametrize("controllers", [(), ("garbagecollector",)], ids=["no-controllers", "garbagecollector"])
@pytest.mark.parametrize(
    ("scenario", "has"),
    [(nothing, False), (lists, False), (webhooks_none, False), (one, True), (one_that_is_removed, True), (one_of_a_snapshot, True)],
)  # fmt: skip
def test_webhooks_are_what_was_configured(controllers, scenario, has):
    runner = ScenarioRunner(scenario, {"controllers": list(controllers)})
    runner.run(Plan())
    assert runner.facts.webhooks is has
