"""The metrics server of simulated nodes: metrics.k8s.io/v1beta1, which `kubectl top` and autoscalers read.

It is an aggregated API server (`metrics-server/pkg/api`), but in this process. Usage is what was set in `Metrics`.
Other containers use half of what they request, and a node uses as much as its pods.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any
from urllib.parse import parse_qs, urlsplit

import orjson

from controllerlib.client import parse_selector
from fakekube.apiserver.needs import Forward, Service
from fakekube.apiserver.schema.quantity import value_of
from fakekube.apiserver.storage.store import Store
from fakekube.apiserver.wire.selectors import parse_fields
from fakekube.apiserver.wire.status import StatusError, bad_request, method_not_allowed, not_found
from fakekube.controllers.scalingmetrics import Metrics
from fakekube.controllers.workload.podstate import is_ready, phase

GROUP_VERSION = "metrics.k8s.io/v1beta1"
SERVICE = Service("kube-system", "metrics-server")
API_SERVICE = "v1beta1.metrics.k8s.io"
ROOT = f"/apis/{GROUP_VERSION}"

#: Where usage is averaged, as metrics-server's default resolution.
WINDOW = "15s"

#: What a container uses that requests nothing, by resource, and the part of its request that another one does.
IDLE = {"cpu": Decimal("0.001"), "memory": Decimal(1 << 20)}
OF_REQUEST = Decimal("0.5")

_LABELS = {"k8s-app": "metrics-server"}

#: What the manifests of metrics-server contain beside the server itself.
OBJECTS: Mapping[str, Mapping[str, Any]] = {
    "/apis/apiregistration.k8s.io/v1/apiservices": {
        "metadata": {"name": API_SERVICE, "labels": _LABELS},
        "spec": {
            "group": "metrics.k8s.io",
            "version": "v1beta1",
            "service": {"namespace": SERVICE.namespace, "name": SERVICE.name},
            "insecureSkipTLSVerify": True,
            "groupPriorityMinimum": 100,
            "versionPriority": 100,
        },
    },
    "/apis/rbac.authorization.k8s.io/v1/clusterroles": {
        "metadata": {
            "name": "system:aggregated-metrics-reader",
            "labels": {
                **_LABELS,
                **{f"rbac.authorization.k8s.io/aggregate-to-{role}": "true" for role in ("admin", "edit", "view")},
            },
        },
        "rules": [{"apiGroups": ["metrics.k8s.io"], "resources": ["pods", "nodes"], "verbs": ["get", "list", "watch"]}],
    },
}

_RESOURCES = [
    {"name": "nodes", "singularName": "", "namespaced": False, "kind": "NodeMetrics", "verbs": ["get", "list"]},
    {"name": "pods", "singularName": "", "namespaced": True, "kind": "PodMetrics", "verbs": ["get", "list"]},
]

Object = dict[str, Any]


class MetricsServer:
    """Answers requests for metrics of the pods and nodes in a store, as of `now`."""

    def __init__(self, store: Store, metrics: Metrics, now: Callable[[], datetime]) -> None:
        self._store, self._metrics, self._now = store, metrics, now

    def answer(self, forward: Forward) -> tuple[int, bytes]:
        """The status and the JSON of the answer to a forwarded request."""
        try:
            return 200, orjson.dumps(self._found(forward))
        except StatusError as error:
            return error.code, orjson.dumps(error.to_object())

    def _found(self, forward: Forward) -> Object:
        path, query = urlsplit(forward.target).path, parse_qs(urlsplit(forward.target).query)
        if forward.method != "GET" or query.get("watch", ["false"])[0] in ("1", "true"):
            raise method_not_allowed()
        match path.removeprefix(ROOT).strip("/").split("/") if path.startswith(ROOT) else ["none"]:
            case [""]:
                return {
                    "kind": "APIResourceList",
                    "apiVersion": "v1",
                    "groupVersion": GROUP_VERSION,
                    "resources": _RESOURCES,
                }
            case ["nodes"]:
                return _listing("NodeMetricsList", self._selected(self._nodes(), query))
            case ["nodes", name]:
                return self._one("NodeMetrics", self._nodes(), "", name)
            case ["pods"]:
                return _listing("PodMetricsList", self._selected(self._pods(), query))
            case ["namespaces", namespace, "pods"]:
                return _listing("PodMetricsList", self._selected(self._pods(namespace), query))
            case ["namespaces", namespace, "pods", name]:
                if self._store.get("pods", f"{namespace}/{name}") is None:
                    raise not_found("pods", f"{namespace}/{name}")
                return self._one("PodMetrics", self._pods(namespace), f"{namespace}/", name)
            case _:
                raise not_found("", "")

    def _one(self, kind: str, items: Iterator[Object], prefix: str, name: str) -> Object:
        for item in items:
            if item["metadata"]["name"] == name:
                return {"kind": kind, "apiVersion": GROUP_VERSION, **item}
        raise not_found(f"{kind.lower()}.metrics.k8s.io", prefix + name)

    def _selected(self, items: Iterator[Object], query: Mapping[str, Sequence[str]]) -> list[Object]:
        try:
            labels = parse_selector(query.get("labelSelector", [""])[0])
        except ValueError as error:
            raise bad_request(str(error)) from None
        fields = parse_fields(query.get("fieldSelector", [""])[0])
        for term in fields.terms:
            if term.field not in ("metadata.name", "metadata.namespace"):
                raise bad_request(f"field label not supported: {term.field}")
        return [
            item
            for item in items
            if labels.matches(item["metadata"].get("labels"))
            and fields.matches(lambda field, meta=item["metadata"]: meta.get(field.partition(".")[2], ""))  # type: ignore[misc]
        ]

    def _pods(self, namespace: str = "") -> Iterator[Object]:
        """The metrics of the running pods on nodes that answer, by namespace and name."""
        ready = set(self._ready())
        for path, entry in sorted(self._store.collection("pods").live.items()):
            pod = entry.object
            runs = phase(pod) == "Running" and pod["spec"].get("nodeName") in ready
            if runs and (not namespace or path.startswith(f"{namespace}/")):
                yield {**self._measured(pod), "containers": self._containers(pod)}

    def _nodes(self) -> Iterator[Object]:
        """The metrics of the nodes that answer, by name."""
        used: dict[str, dict[str, Decimal]] = {}
        for entry in self._store.collection("pods").live.values():
            pod = entry.object
            if phase(pod) == "Running":
                sums = used.setdefault(pod["spec"].get("nodeName") or "", dict.fromkeys(IDLE, Decimal()))
                for usage in self._usage(pod).values():
                    for resource, value in usage.items():
                        sums[resource] += value
        for name, node in sorted(self._ready().items()):
            usage = used.get(name) or dict.fromkeys(IDLE, Decimal())
            own = {resource: self._metrics.node(resource, name) for resource in IDLE}
            usage = {resource: usage[resource] if value is None else value for resource, value in own.items()}
            yield {**self._measured(node), "usage": _written(usage)}

    def _ready(self) -> dict[str, Object]:
        """The nodes whose kubelet answers, by name."""
        return {
            name: entry.object for name, entry in self._store.collection("nodes").live.items() if is_ready(entry.object)
        }

    def _measured(self, obj: Mapping[str, Any]) -> Object:
        now = self._now().strftime("%Y-%m-%dT%H:%M:%SZ")
        meta = {key: obj["metadata"][key] for key in ("name", "namespace", "labels") if obj["metadata"].get(key)}
        return {"metadata": {**meta, "creationTimestamp": now}, "timestamp": now, "window": WINDOW}

    def _containers(self, pod: Mapping[str, Any]) -> list[Object]:
        return [{"name": name, "usage": _written(usage)} for name, usage in self._usage(pod).items()]

    def _usage(self, pod: Mapping[str, Any]) -> dict[str, dict[str, Decimal]]:
        """The usage of each container that runs as long as its pod: by its name, and by resource."""
        sidecars = [one for one in pod["spec"].get("initContainers") or () if one.get("restartPolicy") == "Always"]
        containers = {one["name"]: one for one in (*sidecars, *pod["spec"]["containers"])}
        found: dict[str, dict[str, Decimal]] = {name: {} for name in containers}
        for resource, idle in IDLE.items():
            of_pod = self._set(resource, pod, "")
            own = {name: value for name in containers if (value := self._set(resource, pod, name)) is not None}
            rest = None if of_pod is None else max(Decimal(), of_pod - sum(own.values()))
            others = len(containers) - len(own)
            for name, container in containers.items():
                if name in own:
                    found[name][resource] = own[name]
                elif rest is not None and (rest or not own):
                    found[name][resource] = rest / others
                else:
                    request = ((container.get("resources") or {}).get("requests") or {}).get(resource)
                    found[name][resource] = idle if request is None else value_of(request) * OF_REQUEST
        return found

    def _set(self, resource: str, pod: Mapping[str, Any], container: str) -> Decimal | None:
        """The usage that was set for a pod ("") or one of its containers."""
        meta = pod["metadata"]
        return (self._metrics.resource(resource, meta["namespace"], [pod], container) or {}).get(meta["name"])


def _listing(kind: str, items: list[Object]) -> Object:
    return {"kind": kind, "apiVersion": GROUP_VERSION, "metadata": {}, "items": items}


def _written(usage: Mapping[str, Decimal]) -> dict[str, str]:
    """Quantities as metrics-server writes them: cpu in billionths, memory in KiB."""
    return {"cpu": _with_unit(usage["cpu"] * 10**9, "n"), "memory": _with_unit(usage["memory"] / 1024, "Ki")}


def _with_unit(value: Decimal, unit: str) -> str:
    return f"{int(value)}{unit}" if int(value) else "0"
