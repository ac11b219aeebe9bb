"""Metrics of pods and objects: those that a test sets, else those of a cluster's APIs (`podautoscaler/metrics`)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from controllerlib import ApiError, Client
from controllerlib.client import Selector, label_selector_as_selector, parse_selector
from fakekube.apiserver.schema.quantity import value_of
from fakekube.apiserver.wire.goduration import parse_duration
from fakekube.controllers.context import ControllerContext
from fakekube.controllers.workload.podstate import time_of
from fakekube.controllers.workload.selectortext import selector_query
from fakekube.struct import Struct

#: Seconds over which a custom metric is measured if it has no window.
_WINDOW = 60.0

_RESOURCE = "/apis/metrics.k8s.io/v1beta1/namespaces/{namespace}/pods"
_CUSTOM = "/apis/custom.metrics.k8s.io/{version}/namespaces/{namespace}/{of}/{name}"
_EXTERNAL = "/apis/external.metrics.k8s.io/v1beta1/namespaces/{namespace}/{name}"

#: The versions of the API of custom metrics, the preferred one first.
_CUSTOM_VERSIONS = ("v1beta2", "v1beta1")

_FAILED = "unable to fetch metrics from {api} metrics API: "

Object = Mapping[str, Any]
LabelSelector = Mapping[str, Any]


class MetricsUnavailable(Exception):
    """Metrics cannot be read, or the number of replicas cannot be computed from them."""


class PodMetric(Struct, frozen=True):
    """A value in thousandths, and when and over how many seconds it was measured."""

    value: int
    measured: datetime
    window: float = 0.0


class MetricsClient:
    """Reads metrics. Raises MetricsUnavailable."""

    def __init__(self, context: ControllerContext, client: Client) -> None:
        self._context, self._client = context, client
        self._pods = context.kind("v1", "Pod")

    async def resource(self, name: str, namespace: str, selector: str, container: str) -> dict[str, PodMetric]:
        """The usage of a resource by pods, or by one of their containers ("": by whole pods)."""
        if (metrics := self._context.settings.metrics) is not None:
            selected = self._pods.list(namespace, parse_selector(selector))
            found = metrics.resource(name, namespace, selected, container)
            if found is not None:
                return self._measured_now(found, "resource")
        items = await self._items(_RESOURCE.format(namespace=namespace), (("labelSelector", selector),), "resource")
        return {
            item["metadata"]["name"]: PodMetric(value, _time(item), parse_duration(item.get("window") or "0"))
            for item in items
            if (value := _usage(item, name, container)) is not None
        }

    async def pods(
        self, name: str, namespace: str, selector: str, metric_selector: LabelSelector | None
    ) -> dict[str, PodMetric]:
        """A custom metric of pods."""
        if (metrics := self._context.settings.metrics) is not None:
            found = metrics.pods(name, namespace, self._pods.list(namespace, parse_selector(selector)))
            if found is not None:
                return self._measured_now(found, "custom")
        query = (("labelSelector", selector), *_metric_query(metric_selector))
        path = _CUSTOM.format(version=await self._custom_version(), namespace=namespace, of="pods/*", name=name)
        return {
            item["describedObject"]["name"]: PodMetric(milli(value_of(item["value"])), _time(item), _window(item))
            for item in await self._items(path, query, "custom")
        }

    async def object(self, name: str, namespace: str, of: Object, metric_selector: LabelSelector | None) -> int:
        """A custom metric of an object, in thousandths."""
        kind, named = of["kind"], of["name"]
        is_namespace = kind == "Namespace" and "/" not in (of.get("apiVersion") or "")
        if is_namespace:
            named = namespace
        if (metrics := self._context.settings.metrics) is not None:
            value = metrics.object(name, kind, namespace, named)
            if value is not None:
                return milli(value)
        try:
            where = "metrics"
            if not is_namespace:
                resource = await self._client.mapper.resource(of.get("apiVersion") or "v1", kind)
                where = f"{resource.qualified}/{named}"
        except ApiError as error:
            raise _unavailable("custom", error) from error
        path = _CUSTOM.format(version=await self._custom_version(), namespace=namespace, of=where, name=name)
        items = await self._items(path, _metric_query(metric_selector), "custom")
        return milli(value_of(items[0]["value"]))

    async def external(self, name: str, namespace: str, metric_selector: LabelSelector | None) -> Sequence[int]:
        """The selected values of an external metric, in thousandths."""
        if (metrics := self._context.settings.metrics) is not None:
            selector = Selector() if metric_selector is None else label_selector_as_selector(metric_selector)
            found = metrics.external(name, namespace, selector)
            if found is not None:
                if not found:
                    raise MetricsUnavailable("no metrics returned from external metrics API")
                return [milli(value) for value in found]
        path = _EXTERNAL.format(namespace=namespace, name=name)
        query = (("labelSelector", selector_query(metric_selector)),)
        return [milli(value_of(item["value"])) for item in await self._items(path, query, "external")]

    def _measured_now(self, found: Mapping[str, Decimal], api: str) -> dict[str, PodMetric]:
        if not found:
            raise MetricsUnavailable(f"no metrics returned from {api} metrics API")
        now = self._context.now()
        return {name: PodMetric(milli(value), now) for name, value in found.items()}

    async def _items(self, path: str, query: Sequence[tuple[str, str]], api: str) -> Sequence[Object]:
        try:
            answer = await self._client.raw_get(path, [(name, value) for name, value in query if value])
        except ApiError as error:
            if error.message.startswith("404 page not found"):
                raise MetricsUnavailable(f"{_FAILED.format(api=api)}{_not_found(path)}") from error
            raise _unavailable(api, error) from error
        items: Sequence[Object] = answer.get("items") or ()
        if not items:
            raise MetricsUnavailable(f"no metrics returned from {api} metrics API")
        return items

    async def _custom_version(self) -> str:
        try:
            groups = (await self._client.raw_get("/apis")).get("groups") or ()
        except ApiError as error:
            raise _unavailable("custom", error) from error
        served = {
            version["version"]
            for group in groups
            if group["name"] == "custom.metrics.k8s.io"
            for version in group["versions"]
        }
        for version in _CUSTOM_VERSIONS:
            if version in served:
                return version
        text = "no custom metrics API (custom.metrics.k8s.io) registered"
        raise MetricsUnavailable(f"{_FAILED.format(api='custom')}{text}")


def milli(value: Decimal) -> int:
    """A value in thousandths, rounded up (Quantity.MilliValue)."""
    return math.ceil(value * 1000)


def _unavailable(api: str, error: ApiError) -> MetricsUnavailable:
    return MetricsUnavailable(f"{_FAILED.format(api=api)}{error.message}")


def _not_found(path: str) -> str:
    """The message of a path that is not served (client-go: NewGenericServerResponse)."""
    parts = path.split("/")
    return f"the server could not find the requested resource (get {parts[6]}.{parts[2]})"


def _usage(item: Object, name: str, container: str) -> int | None:
    """The usage of a pod: the sum of its containers, all of which must have it, or that of one container."""
    containers = item.get("containers") or ()
    if container:
        containers = [one for one in containers if one.get("name") == container][:1]
    values = [one.get("usage", {}).get(name) for one in containers]
    if not values or None in values:
        return None
    return sum(milli(value_of(value)) for value in values)


def _metric_query(selector: LabelSelector | None) -> Sequence[tuple[str, str]]:
    return (("metricLabelSelector", selector_query(selector)),)


def _window(item: Object) -> float:
    seconds = item.get("windowSeconds", item.get("window"))
    return _WINDOW if seconds is None else float(seconds)


def _time(item: Object) -> datetime:
    return time_of(item["timestamp"])
