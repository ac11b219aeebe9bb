"""What an atom does to the nodes of a cluster and to the pods on them, as kubectl, the scheduler or a failure does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import orjson

from fakekube.harness.engine import engine_of
from fakekube.simulation.atoms import LONGEST, Drain, Evict, Lose, NodeFault
from fakekube.simulation.running.recorder import Recorder
from fakekube.virtualtime.simulatedprocess import HARNESS, context_of

if TYPE_CHECKING:
    from fakekube.harness.cluster import FakeKube

Object = Mapping[str, Any]

#: After so many seconds an eviction that a disruption budget refuses is tried again (kubectl, `drain.go`).
_RETRY = 5.0


class NodeHands:
    """Takes pods from their nodes. What it writes is recorded as that of another client than the operator."""

    def __init__(self, cluster: FakeKube, recorder: Recorder, user_agent: str) -> None:
        self._cluster, self._engine, self._recorder = cluster, engine_of(cluster), recorder
        self._headers = {"User-Agent": user_agent, "Content-Type": "application/strategic-merge-patch+json"}

    @property
    def has_nodes(self) -> bool:
        """Whether kubelets run."""
        running = self._engine.controllers.running
        return running is not None and running.part("kubelet") is not None

    def disrupt(self, fault: NodeFault) -> Callable[[], None] | None:
        """Begin with a fault, right after the present change. Returns what ends it; None if the pod is on no node."""
        pod = next((one for one in self._pods() if self._target(one) == fault.pod), None) if self.has_nodes else None
        if pod is None:
            return None
        node = str(pod["spec"]["nodeName"])
        if isinstance(fault, Lose):
            return self._lost(node)
        if isinstance(fault, Drain):
            self._soon(lambda: self._drain(node))
            return lambda: self._cordon(node, False)
        self._soon(lambda: self._evict(pod) if isinstance(fault, Evict) else self._preempt(pod))
        return _nothing

    def _pods(self) -> Iterator[Object]:
        """The pods that are on nodes and are not being deleted, in the order of their names."""
        for collection, _, entry in self._engine.server.apiserver.store.entries():
            pod = entry.object
            if collection == "pods" and pod["spec"].get("nodeName") and "deletionTimestamp" not in pod["metadata"]:
                yield pod

    def _target(self, pod: Object) -> str:
        meta = pod["metadata"]
        return self._recorder.anchor_of("pods", f"{meta['namespace']}/{meta['name']}", None, pod).target

    def _lost(self, node: str) -> Callable[[], None] | None:
        scope = self._engine.controllers.scope("lose")
        agent = scope.kubelets.agents.get(node)
        if agent is None or agent.is_lost:
            return None
        agent.is_lost = True
        return lambda: scope.kubelets.recover(node)

    def _drain(self, node: str) -> None:
        """Cordon a node and evict its pods, but for those of DaemonSets and mirror pods (kubectl, `filters.go`)."""
        self._cordon(node, True)
        for pod in [one for one in self._pods() if one["spec"]["nodeName"] == node]:
            owners = pod["metadata"].get("ownerReferences") or ()
            is_daemon = any(one.get("controller") and one["kind"] == "DaemonSet" for one in owners)
            if not is_daemon and "kubernetes.io/config.mirror" not in (pod["metadata"].get("annotations") or {}):
                self._evict(pod)

    def _cordon(self, node: str, is_on: bool) -> None:
        self._send("PATCH", f"/api/v1/nodes/{node}", {"spec": {"unschedulable": is_on or None}})

    def _evict(self, pod: Object, left: float = LONGEST) -> None:
        meta = {name: pod["metadata"][name] for name in ("name", "namespace")}
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": meta}
        preconditions = {"preconditions": {"uid": pod["metadata"]["uid"]}}
        code = self._send("POST", f"{_path(pod)}/eviction", {**body, "deleteOptions": preconditions})
        if code == 429 and left > 0:
            self._soon(lambda: self._evict(pod, left - _RETRY), _RETRY)

    def _preempt(self, pod: Object) -> None:
        from fakekube.controllers.scheduler.schedulerwrites import victim_condition

        self._send("PATCH", f"{_path(pod)}/status", {"status": {"conditions": [victim_condition()]}})
        self._send("DELETE", _path(pod), {"preconditions": {"uid": pod["metadata"]["uid"]}})

    def _send(self, method: str, path: str, body: Object) -> int:
        headers = self._headers if method == "PATCH" else {"User-Agent": self._headers["User-Agent"]}
        self._recorder.racing = True
        try:
            answer = self._cluster.access.transport().begin(method, path, headers=headers, body=orjson.dumps(body))
        finally:
            self._recorder.racing = False
        return answer[0] if isinstance(answer, tuple) else 0

    def _soon(self, action: Callable[[], None], seconds: float = 0.0) -> None:
        self._engine.bubble.loop.call_later(seconds, action, context=context_of(HARNESS))


def _path(pod: Object) -> str:
    return f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}"


def _nothing() -> None:
    """The end of an atom that ends with its beginning."""
