"""The controller of PodDisruptionBudgets (`pkg/controller/disruption`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from controllerlib import ApiError, Request, Result
from controllerlib.client import label_selector_as_selector
from controllerlib.controller import EnqueueRequestForObject, HandlerFuncs, RequestQueue
from controllerlib.workqueue import default_controller_rate_limiter
from fakekube.controllers.context import ControllerContext
from fakekube.controllers.objectevents import object_events
from fakekube.controllers.policy.podowners import KINDS, PodOwners, ScaleUnknown
from fakekube.controllers.policy.stalepods import StalePods
from fakekube.controllers.workload.intorpercent import scaled_value
from fakekube.controllers.workload.podstate import Pod, condition, is_ready, moment, timestamp
from fakekube.controllers.workload.selectortext import selector_text
from fakekube.controllers.workload.statusconditions import with_status_condition

#: Seconds in which a pod that was evicted has to be deleted, else it counts again (DeletionTimeout).
DELETION_TIMEOUT = 120

#: Seconds after which a key is added to the queue a second time (the first delay of the queue's rate limiter).
_RECHECK = 0.005

_UNMANAGED = (
    "Pods selected by this PodDisruptionBudget (selector: %s) were found to be unmanaged. As a result, the status of "
    "the PDB cannot be calculated correctly, which may result in undefined behavior. To account for these pods please "
    'set ".spec.minAvailable" field of the PDB to an integer value.'
)

Object = Mapping[str, Any]


def add(context: ControllerContext) -> None:
    """Add the controller of PodDisruptionBudgets."""
    DisruptionController(context).add()
    StalePods(context).add()


class DisruptionController:
    """Counts the healthy pods of a budget, and from them the disruptions that it allows."""

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._client = context.client("disruption-controller")
        self._recorder = context.recorder("controllermanager")
        self._budgets, self._pods = context.kind("policy/v1", "PodDisruptionBudget"), context.kind("v1", "Pod")
        self._owners = PodOwners(context, self._client)

    def add(self) -> None:
        """Add the controller to the manager."""
        budgets = EnqueueRequestForObject()
        pods = object_events(self._enqueue_budget, deleted=self._enqueue_budget)
        builder = self._context.controller("disruption-controller").with_options(
            use_priority_queue=False, rate_limiter=default_controller_rate_limiter
        )
        builder.watches("policy/v1", "PodDisruptionBudget", budgets).watches("v1", "Pod", pods)
        for api_version, kind in KINDS:
            builder.watches(api_version, kind, HandlerFuncs())
        builder.complete(self.reconcile)

    # --- events

    def _enqueue_budget(self, pod: Pod, queue: RequestQueue) -> None:
        """Enqueue the first budget that selects a pod; there should be no other."""
        meta = pod["metadata"]
        found = [one for one in self._budgets.list(meta["namespace"]) if _selector(one).matches(meta.get("labels"))]
        if not found:
            return
        first = found[0]
        if len(found) > 1:
            message = (
                f'Pod "{meta["namespace"]}"/"{meta["name"]}" matches multiple PodDisruptionBudgets.  '
                f'Chose "{first["metadata"]["name"]}" arbitrarily.'
            )
            self._recorder.event(pod, "Warning", "MultiplePodDisruptionBudgets", message)
        queue.add(Request.of(first))

    # --- reconciling

    async def reconcile(self, request: Request) -> Result | None:
        budget = self._budgets.get(request.namespace, request.name)
        if budget is None:
            return None
        try:
            return await self._sync(budget)
        except (ApiError, ScaleUnknown, ValueError) as error:
            if isinstance(error, ApiError) and error.reason == "Conflict":
                raise
            await self._fail_safe(budget, error)
            return None

    async def _sync(self, budget: Object) -> Result | None:
        """Write the counts; the result is when the first evicted pod has to be deleted.

        Raises ApiError, ScaleUnknown, ValueError.
        """
        pods = self._pods.list(budget["metadata"]["namespace"], _selector(budget))
        if not pods:
            self._recorder.event(budget, "Normal", "NoPods", "No matching pods found")
        try:
            expected, desired, unmanaged = await self._expected(budget, pods)
        except (ApiError, ScaleUnknown, ValueError) as error:
            message = f"Failed to calculate the number of expected pods: {_text(error)}"
            self._recorder.event(budget, "Warning", "CalculateExpectedPodCountFailed", message)
            raise
        if unmanaged:
            message = _UNMANAGED % selector_text(budget["spec"].get("selector"))
            self._recorder.event(budget, "Warning", "UnmanagedPods", message)
        now = self._context.now()
        disrupted, waits = self._disrupted(budget, pods, now)
        healthy = sum(is_ready(pod) for pod in pods if _stays(pod, waits))
        await self._write(budget, healthy, desired, expected, disrupted)
        return Result(requeue_after=min(waits.values()) + _RECHECK) if waits else None

    async def _expected(self, budget: Object, pods: Sequence[Pod]) -> tuple[int, int, Sequence[str]]:
        """How many pods there should be, how many must be healthy, and which pods have no controlling object."""
        spec = budget["spec"]
        if spec.get("maxUnavailable") is not None:
            expected, unmanaged = await self._owners.expected(pods)
            return expected, max(0, expected - scaled_value(spec["maxUnavailable"], expected)), unmanaged
        minimum = spec.get("minAvailable")
        if minimum is None:
            return 0, 0, ()
        if isinstance(minimum, int):
            return len(pods), minimum, ()
        expected, unmanaged = await self._owners.expected(pods)
        return expected, scaled_value(minimum, expected), unmanaged

    def _disrupted(self, budget: Object, pods: Sequence[Pod], now: datetime) -> tuple[dict[str, str], dict[str, float]]:
        """When the pods that are not deleted yet were evicted, and the seconds until each one counts again."""
        found: dict[str, str] = {}
        waits: dict[str, float] = {}
        listed = (budget.get("status") or {}).get("disruptedPods") or {}
        for pod in pods if listed else ():
            meta = pod["metadata"]
            evicted = moment(listed.get(meta["name"]))
            if meta.get("deletionTimestamp") or evicted is None:
                continue
            left = DELETION_TIMEOUT - (now - evicted).total_seconds()
            if left < 0:
                namespace = budget["metadata"]["namespace"]
                message = f"Pod was expected by PDB {namespace}/{namespace} to be deleted but it wasn't"
                self._recorder.event(pod, "Warning", "NotDeleted", message)
            else:
                found[meta["name"]] = listed[meta["name"]]
                waits[meta["name"]] = left
        return found, waits

    # --- status

    async def _write(
        self, budget: Object, healthy: int, desired: int, expected: int, disrupted: Mapping[str, str]
    ) -> None:
        """Write the status if it has changed. Raises ApiError."""
        allowed = max(0, healthy - desired) if expected > 0 else 0
        before = budget.get("status") or {}
        status: dict[str, Any] = {
            "disruptionsAllowed": allowed,
            "currentHealthy": healthy,
            "desiredHealthy": desired,
            "expectedPods": expected,
        }
        if disrupted:
            status["disruptedPods"] = dict(disrupted)
        generation = budget["metadata"].get("generation") or 0
        if generation:
            status["observedGeneration"] = generation
        names = (*status, "disruptedPods")
        same = all((before.get(name) or 0) == (status.get(name) or 0) for name in names)
        reason, value = ("SufficientPods", "True") if allowed > 0 else ("InsufficientPods", "False")
        present = condition(budget, "DisruptionAllowed")
        if same and present is not None and (present.get("status"), present.get("reason")) == (value, reason):
            return
        status["conditions"] = self._conditions(before, value, reason, "", generation)
        await self._client.update_status({**budget, "status": status})

    async def _fail_safe(self, budget: Object, error: Exception) -> None:
        """Allow no disruption. Raises ApiError."""
        status = dict(budget.get("status") or {})
        generation = status.get("observedGeneration") or 0
        status["disruptionsAllowed"] = 0
        status["conditions"] = self._conditions(status, "False", "SyncFailed", _text(error), generation)
        await self._client.update_status({**budget, "status": status})

    def _conditions(
        self, status: Object, value: str, reason: str, message: str, generation: int
    ) -> Sequence[Mapping[str, Any]]:
        wanted: dict[str, Any] = {
            "type": "DisruptionAllowed",
            "status": value,
            "reason": reason,
            "message": message,
        }
        if generation:
            wanted["observedGeneration"] = generation
        return with_status_condition(status.get("conditions") or (), wanted, timestamp(self._context.now()))


def _selector(budget: Object) -> Any:
    return label_selector_as_selector(budget["spec"].get("selector"))


def _stays(pod: Pod, waits: Mapping[str, float]) -> bool:
    """Whether the pod is neither being deleted nor about to be."""
    meta = pod["metadata"]
    return not meta.get("deletionTimestamp") and waits.get(meta["name"], 0.0) <= 0


def _text(error: Exception) -> str:
    return error.message if isinstance(error, ApiError) else str(error)
