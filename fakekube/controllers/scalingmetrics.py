"""Metrics that a test sets, in the place of a metrics server, for HorizontalPodAutoscalers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from controllerlib.client import Selector, parse_selector
from fakekube.apiserver.schema.quantity import value_of
from fakekube.struct import Struct, field

#: A quantity: "250m", "1Gi", 3.
Quantity = str | int | float


class PodValues(Struct, frozen=True):
    """The value that each selected pod has; `container` is "" for a value of whole pods."""

    namespace: str
    selector: Selector
    container: str
    value: Decimal


class ExternalValue(Struct, frozen=True):
    """One of the values of an external metric, with its labels."""

    namespace: str
    labels: Mapping[str, str]
    value: Decimal


class Metrics(Struct):
    """Values of metrics, which hold from when they are set until they are set again; None removes one.

    A metric of which no value is set in a namespace is requested from the API that has it in a cluster
    (metrics.k8s.io, custom.metrics.k8s.io, external.metrics.k8s.io).
    """

    _resources: dict[str, list[PodValues]] = field(default_factory=dict)
    _pods: dict[str, list[PodValues]] = field(default_factory=dict)
    _objects: dict[tuple[str, str, str, str], Decimal] = field(default_factory=dict)
    _external: dict[str, list[ExternalValue]] = field(default_factory=dict)
    _nodes: dict[tuple[str, str], Decimal] = field(default_factory=dict)

    def set_resource(
        self, name: str, value: Quantity | None, *, pods: str = "", container: str = "", namespace: str = "default"
    ) -> None:
        """Set the usage of a resource ("cpu", "memory") of each pod that the label selector `pods` selects.

        With `container` it is the usage of this container, and that of the pod is the sum of its containers.
        """
        _set(self._resources.setdefault(name, []), namespace, pods, container, value)

    def set_node(self, name: str, value: Quantity | None, *, node: str) -> None:
        """Set the usage of a resource ("cpu", "memory") of a node, which metrics.k8s.io shows where it is simulated."""
        if value is None:
            self._nodes.pop((name, node), None)
        else:
            self._nodes[name, node] = value_of(value)

    def set_pods(self, name: str, value: Quantity | None, *, pods: str = "", namespace: str = "default") -> None:
        """Set a custom metric of each pod that the label selector `pods` selects."""
        _set(self._pods.setdefault(name, []), namespace, pods, "", value)

    def set_object(self, name: str, value: Quantity | None, *, kind: str, of: str, namespace: str = "default") -> None:
        """Set a custom metric of one object, that of the name `of`; that of a Namespace has its own name."""
        key = (name, kind, namespace, of)
        if value is None:
            self._objects.pop(key, None)
        else:
            self._objects[key] = value_of(value)

    def set_external(
        self, name: str, *values: Quantity, labels: Mapping[str, str] | None = None, namespace: str = "default"
    ) -> None:
        """Set the values of an external metric that have these labels; none removes them."""
        kept = [
            one
            for one in self._external.get(name, ())
            if one.namespace != namespace or one.labels != dict(labels or {})
        ]
        added = [ExternalValue(namespace, dict(labels or {}), value_of(value)) for value in values]
        self._external[name] = [*kept, *added]

    # --- reading

    def resource(
        self, name: str, namespace: str, pods: Iterable[Mapping[str, Any]], container: str
    ) -> dict[str, Decimal] | None:
        """The usage of pods, or of one of their containers, by the name of the pod; None if none is set."""
        rows = [row for row in self._resources.get(name, ()) if row.namespace == namespace]
        if not rows:
            return None
        found: dict[str, Decimal] = {}
        for pod in pods:
            values = {row.container: row.value for row in rows if row.selector.matches(pod["metadata"].get("labels"))}
            usage = values.get(container)
            if usage is None and not container:
                parts = [value for name, value in values.items() if name]
                usage = sum(parts, Decimal()) if parts else None
            if usage is not None:
                found[pod["metadata"]["name"]] = usage
        return found

    def node(self, name: str, node: str) -> Decimal | None:
        """The usage of a node, None if none is set."""
        return self._nodes.get((name, node))

    def pods(self, name: str, namespace: str, pods: Iterable[Mapping[str, Any]]) -> dict[str, Decimal] | None:
        """The custom metric of pods by their names, None if none is set."""
        rows = [row for row in self._pods.get(name, ()) if row.namespace == namespace]
        if not rows:
            return None
        found: dict[str, Decimal] = {}
        for pod in pods:
            for row in rows:
                if row.selector.matches(pod["metadata"].get("labels")):
                    found[pod["metadata"]["name"]] = row.value
        return found

    def object(self, name: str, kind: str, namespace: str, of: str) -> Decimal | None:
        """The custom metric of an object, None if none is set."""
        return self._objects.get((name, kind, namespace, of))

    def external(self, name: str, namespace: str, selector: Selector) -> Sequence[Decimal] | None:
        """The selected values of an external metric, None if none is set."""
        rows = [row for row in self._external.get(name, ()) if row.namespace == namespace]
        return [row.value for row in rows if selector.matches(row.labels)] if rows else None


def _set(rows: list[PodValues], namespace: str, pods: str, container: str, value: Quantity | None) -> None:
    """Set a row, in the place of that for the same pods; the last one that selects a pod counts."""
    selector = parse_selector(pods)
    rows[:] = [row for row in rows if (row.namespace, row.selector, row.container) != (namespace, selector, container)]
    if value is not None:
        rows.append(PodValues(namespace, selector, container, value_of(value)))
