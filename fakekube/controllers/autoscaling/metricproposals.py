"""What each metric of an autoscaler proposes (`computeReplicasForMetric`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fakekube.apiserver.schema.quantity import canonical, value_of
from fakekube.controllers.autoscaling.metricsclient import MetricsClient, MetricsUnavailable, milli
from fakekube.controllers.autoscaling.replicacount import (
    Target,
    average_replicas,
    plain_replicas,
    resource_replicas,
    value_replicas,
)
from fakekube.controllers.workload.selectortext import selector_text
from fakekube.struct import Struct

Object = Mapping[str, Any]


class Proposal(Struct, frozen=True):
    """The replicas that a metric asks for, its name in messages, and its status."""

    replicas: int
    name: str
    status: Object


class NoProposal(Exception):
    """A metric proposes nothing. `reason` and `cause` are those of the condition, the text is that of the reconcile."""

    reason: str
    cause: str

    def __init__(self, reason: str, cause: str, text: str) -> None:
        super().__init__(text)
        self.reason, self.cause = reason, cause


class Looked(Struct, frozen=True):
    """The target of an autoscaler: its pods by their selector, and the replicas of the scale's status."""

    namespace: str
    selector: str
    target: Target
    status_replicas: int


class MetricProposals:
    """Computes the proposals from the metrics of a client. Each method raises NoProposal."""

    def __init__(self, client: MetricsClient) -> None:
        self._client = client

    async def propose(self, spec: Object, looked: Looked) -> Proposal:
        """The proposal of an entry of spec.metrics."""
        kind = spec["type"]
        if kind == "Object":
            return await self._object(spec["object"], looked)
        if kind == "Pods":
            return await self._pods(spec["pods"], looked)
        if kind == "Resource":
            return await self._resource(spec["resource"], looked)
        if kind == "ContainerResource":
            return await self._container(spec["containerResource"], looked)
        return await self._external(spec["external"], looked)

    async def _object(self, spec: Object, looked: Looked) -> Proposal:
        of, metric, wanted = spec["describedObject"], spec["metric"], spec["target"]
        name, failed = metric["name"], "failed to get object metric value: "
        by_value = wanted["type"] == "Value"
        try:
            value = await self._client.object(name, looked.namespace, of, metric.get("selector"))
        except MetricsUnavailable as error:
            text = f"unable to get metric {name}: {of['kind']} on {looked.namespace} {of['name']}/{error}"
            wrapped = text if by_value else f"failed to get {name} object metric: {text}"
            raise NoProposal("FailedGetObjectMetric", text, failed + wrapped) from error
        described = {"describedObject": of, "metric": metric}
        if by_value:
            try:
                replicas = value_replicas(looked.target, value, _milli(wanted["value"]))
            except MetricsUnavailable as error:
                raise NoProposal("FailedGetObjectMetric", str(error), failed + str(error)) from error
            status = {"type": "Object", "object": {**described, "current": {"value": quantity(value)}}}
            return Proposal(replicas, f"{of['kind']} metric {name}", status)
        tolerances = looked.target.tolerances
        target = _milli(wanted["averageValue"])
        replicas, average = average_replicas(looked.status_replicas, tolerances, value, target)
        status = {"type": "Object", "object": {**described, "current": {"averageValue": quantity(average)}}}
        return Proposal(replicas, _external_name(metric), status)

    async def _pods(self, spec: Object, looked: Looked) -> Proposal:
        metric = spec["metric"]
        name = metric["name"]
        try:
            try:
                found = await self._client.pods(name, looked.namespace, looked.selector, metric.get("selector"))
            except MetricsUnavailable as error:
                raise MetricsUnavailable(f"unable to get metric {name}: {error}") from error
            replicas, usage = plain_replicas(looked.target, found, _milli(spec["target"]["averageValue"]))
        except MetricsUnavailable as error:
            text = f"failed to get pods metric value: {error}"
            raise NoProposal("FailedGetPodsMetric", str(error), text) from error
        current = {"averageValue": quantity(usage.average)}
        return Proposal(
            replicas, f"pods metric {name}", {"type": "Pods", "pods": {"metric": metric, "current": current}}
        )

    async def _resource(self, spec: Object, looked: Looked) -> Proposal:
        name = spec["name"]
        try:
            replicas, label, current = await self._usage(name, spec["target"], looked, "")
        except MetricsUnavailable as error:
            text = f"failed to get {name} resource metric value: {error}"
            raise NoProposal("FailedGetResourceMetric", str(error), text) from error
        return Proposal(replicas, label, {"type": "Resource", "resource": {"name": name, "current": current}})

    async def _container(self, spec: Object, looked: Looked) -> Proposal:
        name, container = spec["name"], spec["container"]
        try:
            replicas, label, current = await self._usage(name, spec["target"], looked, container)
        except MetricsUnavailable as error:
            text = f"failed to get {container} container metric value: {error}"
            raise NoProposal("FailedGetContainerResourceMetric", str(error), text) from error
        status = {"name": name, "container": container, "current": current}
        return Proposal(replicas, label, {"type": "ContainerResource", "containerResource": status})

    async def _usage(
        self, name: str, wanted: Object, looked: Looked, container: str
    ) -> tuple[int, str, dict[str, Any]]:
        """The replicas for a resource, its name in messages, and its current values. Raises MetricsUnavailable."""
        average = wanted.get("averageValue")
        what = "utilization" if average is None else "usage"
        try:
            try:
                found = await self._client.resource(name, looked.namespace, looked.selector, container)
            except MetricsUnavailable as error:
                raise MetricsUnavailable(f"unable to get metrics for resource {name}: {error}") from error
            if average is not None:
                replicas, usage = plain_replicas(looked.target, found, _milli(average), name)
                return replicas, f"{name} resource", {"averageValue": quantity(usage.average, name)}
            target = wanted["averageUtilization"]
            replicas, usage = resource_replicas(looked.target, found, target, name, container)
        except MetricsUnavailable as error:
            raise MetricsUnavailable(f"failed to get {name} {what}: {error}") from error
        label = f"{name} {'container ' if container else ''}resource utilization (percentage of request)"
        current = {"averageUtilization": usage.percent, "averageValue": quantity(usage.average, name)}
        return replicas, label, current

    async def _external(self, spec: Object, looked: Looked) -> Proposal:
        metric, wanted = spec["metric"], spec["target"]
        name, average = metric["name"], wanted.get("averageValue")
        try:
            try:
                values = await self._client.external(name, looked.namespace, metric.get("selector"))
            except MetricsUnavailable as error:
                which = f"{looked.namespace}/{name}/{selector_text(metric.get('selector'))}"
                raise MetricsUnavailable(f"unable to get external metric {which}: {error}") from error
            total = min(sum(values), 2**63 - 1)
            if average is None:
                replicas = value_replicas(looked.target, total, _milli(wanted["value"]))
                current = {"value": quantity(total)}
            else:
                tolerances, target = looked.target.tolerances, _milli(average)
                replicas, mean = average_replicas(looked.status_replicas, tolerances, total, target)
                current = {"averageValue": quantity(mean)}
        except MetricsUnavailable as error:
            wrapped = f"external metric {name}" if average is None else f"{name} external metric"
            text = f"failed to get {name} external metric value: failed to get {wrapped}: {error}"
            raise NoProposal("FailedGetExternalMetric", str(error), text) from error
        status = {"type": "External", "external": {"metric": metric, "current": current}}
        return Proposal(replicas, _external_name(metric), status)


def quantity(thousandths: int, resource: str = "") -> str:
    """The canonical text of a value in thousandths; memory has binary suffixes if it is a whole number of them."""
    value, rest = divmod(thousandths, 1000)
    if resource != "memory" or rest or value < 1024:
        return canonical(f"{thousandths}m")
    return str(value) if value % 1024 else canonical(f"{value // 1024}Ki")


def _milli(text: str) -> int:
    return milli(value_of(text))


def _external_name(metric: Object) -> str:
    return f"external metric {metric['name']}({selector_text(metric.get('selector'))})"
