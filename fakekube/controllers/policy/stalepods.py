"""Takes back the condition DisruptionTarget of pods that are not deleted (`syncStalePodDisruption`)."""

from __future__ import annotations

from controllerlib import Request, Result
from controllerlib.controller import RequestQueue
from controllerlib.workqueue import default_controller_rate_limiter
from fakekube.controllers.context import ControllerContext
from fakekube.controllers.objectevents import object_events
from fakekube.controllers.workload.podstate import Pod, condition, is_terminal, moment, timestamp

#: Seconds after which the condition is stale (stalePodDisruptionTimeout).
TIMEOUT = 120

#: The reason of the condition if the kubelet has set it: it is then never stale.
_BY_KUBELET = "TerminationByKubelet"


class StalePods:
    """Sets the condition to False two minutes after it became true, if the pod is not being deleted by then."""

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._client = context.client("disruption-controller")
        self._pods = context.kind("v1", "Pod")

    def add(self) -> None:
        """Add the controller to the manager."""
        builder = self._context.controller("disruption-controller-stale-pods").with_options(
            use_priority_queue=False, rate_limiter=default_controller_rate_limiter
        )
        builder.watches("v1", "Pod", object_events(self._enqueue))
        builder.complete(self.reconcile)

    def _enqueue(self, pod: Pod, queue: RequestQueue) -> None:
        left = self._left(pod)
        if left is not None:
            queue.add_after(Request.of(pod), left)

    async def reconcile(self, request: Request) -> Result | None:
        pod = self._pods.get(request.namespace, request.name)
        left = None if pod is None else self._left(pod)
        if pod is None or left is None:
            return None
        if left > 0:
            return Result(requeue_after=left)
        now = timestamp(self._context.now())
        taken_back = {"type": "DisruptionTarget", "status": "False", "lastProbeTime": None, "lastTransitionTime": now}
        if pod["metadata"].get("generation"):
            taken_back["observedGeneration"] = pod["metadata"]["generation"]
        conditions = [
            taken_back if one.get("type") == "DisruptionTarget" else one for one in pod["status"]["conditions"]
        ]
        await self._client.update_status({**pod, "status": {**pod["status"], "conditions": conditions}})
        return None

    def _left(self, pod: Pod) -> float | None:
        """The seconds until the condition is stale, at least 0; None if it is not there or stays."""
        found = condition(pod, "DisruptionTarget")
        if pod["metadata"].get("deletionTimestamp") or found is None or is_terminal(pod):
            return None
        if found.get("status") != "True" or found.get("reason") == _BY_KUBELET:
            return None
        since = moment(found.get("lastTransitionTime"))
        return 0.0 if since is None else max(0.0, TIMEOUT - (self._context.now() - since).total_seconds())
