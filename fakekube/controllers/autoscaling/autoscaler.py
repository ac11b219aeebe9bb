"""The controller of HorizontalPodAutoscalers (`pkg/controller/podautoscaler/horizontal.go`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any

from controllerlib import ApiError, Request, Result
from controllerlib.client import Selector, parse_selector, retry_on_conflict
from controllerlib.controller import HandlerFuncs, RequestQueue
from controllerlib.workqueue import ItemFastSlowRateLimiter
from fakekube.apiserver.schema.quantity import value_of
from fakekube.controllers.autoscaling.metricproposals import Looked, MetricProposals, NoProposal, Proposal
from fakekube.controllers.autoscaling.metricsclient import MetricsClient
from fakekube.controllers.autoscaling.replicacount import Target, Tolerances
from fakekube.controllers.autoscaling.stabilization import (
    Bounds,
    Memory,
    Moment,
    normalize,
    normalize_by_behavior,
    note_scaling,
)
from fakekube.controllers.context import ControllerContext
from fakekube.controllers.objectevents import object_events
from fakekube.controllers.workload.podstate import timestamp
from fakekube.controllers.workload.scaleclient import get_scale
from fakekube.controllers.workload.semantic import is_equal
from fakekube.struct import Struct, field

#: How many reconciles run at the same time (kube-controller-manager: --concurrent-horizontal-pod-autoscaler-syncs).
WORKERS = 5

#: Seconds between two reconciles (kube-controller-manager: --horizontal-pod-autoscaler-sync-period).
PERIOD = 15.0

_NO_SCALE = "the HPA controller was unable to get the target's current scale: "

Object = Mapping[str, Any]


class CannotScale(Exception):
    """The target is not scaled in this reconcile; the HorizontalPodAutoscaler has the reason."""


def add(context: ControllerContext) -> None:
    """Add the controller of HorizontalPodAutoscalers."""
    HorizontalController(context).add()


class ScalingSync(Struct):
    """One reconcile. `status` is what is written in the end; conditions change as it goes on."""

    hpa: Object
    request: Request
    now: datetime
    status: dict[str, Any]
    current: int = 0
    metrics: Sequence[Object] | None = None
    #: An error of some of the metrics, although the others suffice to scale.
    partial: str = ""
    conditions: list[Object] = field(default_factory=list)

    @property
    def minimum(self) -> int:
        found = self.hpa["spec"].get("minReplicas")
        return 1 if found is None else int(found)

    @property
    def target(self) -> Object:
        """The reference of the object that is scaled."""
        found: Object = self.hpa["spec"]["scaleTargetRef"]
        return found

    def set(self, kind: str, status: str, reason: str, message: str) -> None:
        """Set a condition; its time changes only with its status (setCondition)."""
        changed: dict[str, Any] = {"type": kind, "status": status, "lastTransitionTime": timestamp(self.now)}
        changed |= {name: text for name, text in (("reason", reason), ("message", message)) if text}
        for position, present in enumerate(self.conditions):
            if present["type"] == kind:
                if present["status"] == status:
                    changed["lastTransitionTime"] = present.get("lastTransitionTime")
                self.conditions[position] = changed
                return
        self.conditions.append(changed)

    def conclude(self, desired: int, *, rescaled: bool = False) -> None:
        """Make the status anew."""
        last = timestamp(self.now) if rescaled else self.status.get("lastScaleTime")
        self.status = {"desiredReplicas": desired, "currentMetrics": self.metrics and list(self.metrics)}
        if self.current:
            self.status["currentReplicas"] = self.current
        if last:
            self.status["lastScaleTime"] = last


class HorizontalController:
    """Every 15 seconds scales each target to what its metrics ask for."""

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._client = context.client("horizontal-pod-autoscaler")
        self._recorder = context.recorder("horizontal-pod-autoscaler")
        self._autoscalers = context.kind("autoscaling/v2", "HorizontalPodAutoscaler")
        self._pods = context.kind("v1", "Pod")
        self._proposals = MetricProposals(MetricsClient(context, self._client))
        self._memories: dict[Request, Memory] = {}
        #: The selectors of the targets' pods, of the autoscalers that have been reconciled.
        self._selectors: dict[Request, Selector] = {}

    def add(self) -> None:
        """Add the controller to the manager."""
        autoscalers = object_events(_enqueue, deleted=self._deleted)
        builder = self._context.controller("horizontal-pod-autoscaler-controller").with_options(
            max_concurrent_reconciles=WORKERS,
            use_priority_queue=False,
            rate_limiter=lambda: ItemFastSlowRateLimiter(PERIOD, PERIOD, 0),
        )
        builder.watches("autoscaling/v2", "HorizontalPodAutoscaler", autoscalers)
        builder.watches("v1", "Pod", HandlerFuncs()).complete(self.reconcile)

    def _deleted(self, autoscaler: Object, queue: RequestQueue) -> None:
        self._selectors.pop(Request.of(autoscaler), None)

    # --- reconciling

    async def reconcile(self, request: Request) -> Result | None:
        hpa = self._autoscalers.get(request.namespace, request.name)
        if hpa is None:
            self._memories.pop(request, None)
            return None
        status = dict(hpa.get("status") or {})
        sync = ScalingSync(hpa, request, self._context.now(), status, conditions=list(status.get("conditions") or ()))
        try:
            await self._scale(sync)
        except CannotScale:
            with suppress(ApiError):  # the first error is the one to report
                await self._write(sync)
            raise
        await self._write(sync)
        if sync.partial:
            raise CannotScale(sync.partial)
        return Result(requeue_after=PERIOD)

    async def _scale(self, sync: ScalingSync) -> None:
        """Scale the target. Raises CannotScale."""
        scale = await self._current_scale(sync)
        spec = sync.hpa["spec"]
        sync.current = int((scale.get("spec") or {}).get("replicas") or 0)
        memory = self._memories.setdefault(sync.request, Memory([Moment(sync.current, sync.now)]))
        desired, reason = sync.current, ""
        if sync.current == 0:
            sync.set(
                "ScalingActive",
                "False",
                "ScalingDisabled",
                "scaling is disabled since the replica count of the target is zero",
            )
        elif sync.current > spec["maxReplicas"]:
            desired, reason = spec["maxReplicas"], "Current number of replicas above Spec.MaxReplicas"
        elif sync.current < sync.minimum:
            desired, reason = sync.minimum, "Current number of replicas below Spec.MinReplicas"
        else:
            desired, reason = await self._by_metrics(sync, scale, memory)
        if desired == sync.current:
            sync.conclude(desired)
            return
        await self._rescale(sync, scale, desired, reason)
        note_scaling(memory, spec.get("behavior"), sync.current, desired, sync.now)
        sync.conclude(desired, rescaled=True)

    async def _current_scale(self, sync: ScalingSync) -> dict[str, Any]:
        reference = sync.target
        version, kind = reference.get("apiVersion") or "v1", reference["kind"]
        try:
            scale = await get_scale(self._client, version, kind, sync.request.namespace, reference["name"])
        except ApiError as error:
            message = error.message
            if error.reason == "NoKindMatch":
                message = f'no matches for kind "{kind}" in group "{version.rpartition("/")[0]}"'
            self._recorder.event(sync.hpa, "Warning", "FailedGetScale", message)
            sync.set("AbleToScale", "False", "FailedGetScale", f"{_NO_SCALE}{message}")
            raise CannotScale(f"failed to query scale subresource for {_shown(sync)}: {message}") from error
        message = "the HPA controller was able to get the target's current scale"
        sync.set("AbleToScale", "True", "SucceededGetScale", message)
        return scale

    async def _by_metrics(self, sync: ScalingSync, scale: Object, memory: Memory) -> tuple[int, str]:
        """The replicas that the metrics ask for, within the limits, and why. Raises CannotScale."""
        proposal = await self._proposed(sync, scale)
        spec, behavior = sync.hpa["spec"], sync.hpa["spec"].get("behavior")
        wanted, reason = max(0, proposal.replicas), ""
        if wanted > sync.current:
            reason = f"{proposal.name} above target"
        elif wanted < sync.current:
            reason = "All metrics below target"
        bounds = Bounds(sync.current, sync.minimum, spec["maxReplicas"])
        if behavior is None:
            found = normalize(memory, bounds, wanted, sync.now)
        else:
            found = normalize_by_behavior(memory, bounds, wanted, behavior, sync.now)
        sync.set("AbleToScale", "True", *found.able)
        sync.set("ScalingLimited", "True" if found.limited else "False", *found.limit)
        return found.replicas, reason

    async def _proposed(self, sync: ScalingSync, scale: Object) -> Proposal:
        """The proposal of the metric that asks for the most replicas (computeReplicasForMetrics)."""
        specs = sync.hpa["spec"].get("metrics") or ()
        try:
            looked = self._looked(sync, scale)
        except CannotScale as error:
            raise self._without_metrics(sync, str(error)) from error
        statuses: list[Object] = []
        best: Proposal | None = None
        failures: list[NoProposal] = []
        for spec in specs:
            try:
                proposal = await self._proposals.propose(spec, looked)
            except NoProposal as error:
                self._recorder.event(sync.hpa, "Warning", error.reason, error.cause)
                failures.append(error)
                statuses.append({"type": ""})
                continue
            statuses.append(proposal.status)
            if best is None or best.replicas == 0 or proposal.replicas > best.replicas:
                best = proposal
        sync.metrics = statuses
        problem = ""
        if failures:
            problem = f"invalid metrics ({len(failures)} invalid out of {len(specs)}), first error is: {failures[0]}"
        if best is None or (failures and best.replicas < sync.current):
            if failures:
                message = f"the HPA was unable to compute the replica count: {failures[0].cause}"
                sync.set("ScalingActive", "False", failures[0].reason, message)
            raise self._without_metrics(sync, problem)
        message = f"the HPA was able to successfully calculate a replica count from {best.name}"
        sync.set("ScalingActive", "True", "ValidMetricFound", message)
        sync.partial = problem
        return best

    def _without_metrics(self, sync: ScalingSync, problem: str) -> CannotScale:
        sync.conclude(sync.status.get("desiredReplicas") or 0)
        self._recorder.event(sync.hpa, "Warning", "FailedComputeMetricsReplicas", problem)
        return CannotScale(
            f"failed to compute desired number of replicas based on listed metrics for {_shown(sync)}: {problem}"
        )

    def _looked(self, sync: ScalingSync, scale: Object) -> Looked:
        """The pods of the target. Raises CannotScale (validateAndParseSelector)."""
        status = scale.get("status") or {}
        text, namespace = status.get("selector") or "", sync.request.namespace
        if not text:
            self._recorder.event(sync.hpa, "Warning", "SelectorRequired", "selector is required")
            message = "the HPA target's scale is missing a selector"
            sync.set("ScalingActive", "False", "InvalidSelector", message)
            raise CannotScale("selector is required")
        try:
            selector = parse_selector(text)
        except ValueError as error:
            message = f"couldn't convert selector into a corresponding internal selector object: {error}"
            raise self._unusable(sync, "InvalidSelector", message) from error
        self._selectors[sync.request] = selector
        pods = self._pods.list(namespace, selector)
        others = self._selecting(namespace, pods)
        if len(others) > 1:
            shown = " ".join(f"{{{one.name} {one.namespace}}}" for one in others)
            message = f"pods by selector {text} are controlled by multiple HPAs: [{shown}]"
            raise self._unusable(sync, "AmbiguousSelector", message)
        target = Target(pods, sync.current, _tolerances(sync.hpa), sync.now)
        return Looked(namespace, text, target, int(status.get("replicas") or 0))

    def _unusable(self, sync: ScalingSync, reason: str, message: str) -> CannotScale:
        self._recorder.event(sync.hpa, "Warning", reason, message)
        sync.set("ScalingActive", "False", reason, message)
        return CannotScale(message)

    def _selecting(self, namespace: str, pods: Sequence[Object]) -> Sequence[Request]:
        """The autoscalers whose selector matches one of the pods."""
        return [
            request
            for request, selector in sorted(self._selectors.items(), key=lambda row: str(row[0]))
            if request.namespace == namespace and any(selector.matches(pod["metadata"].get("labels")) for pod in pods)
        ]

    # --- writing

    async def _rescale(self, sync: ScalingSync, scale: dict[str, Any], desired: int, reason: str) -> None:
        """Write the scale, after a conflict over the latest one. Raises CannotScale."""
        reference = sync.target
        version, kind, namespace = reference.get("apiVersion") or "v1", reference["kind"], sync.request.namespace
        target = {
            "apiVersion": version,
            "kind": kind,
            "metadata": {"name": reference["name"], "namespace": namespace},
        }
        latest = scale

        async def attempt() -> None:
            nonlocal latest
            try:
                await self._client.update_subresource(target, "scale", {**latest, "spec": {"replicas": desired}})
            except ApiError:
                with suppress(ApiError):  # the next attempt fails as this one did
                    latest = await get_scale(self._client, version, kind, namespace, reference["name"])
                raise

        try:
            await retry_on_conflict(attempt, clock=self._context.clock, random=self._context.manager.random)
        except ApiError as error:
            text = f"New size: {desired}; reason: {reason}; error: {error.message}"
            self._recorder.event(sync.hpa, "Warning", "FailedRescale", text)
            message = f"the HPA controller was unable to update the target scale: {error.message}"
            sync.set("AbleToScale", "False", "FailedUpdateScale", message)
            sync.conclude(sync.status.get("desiredReplicas") or 0)
            raise CannotScale(f"failed to rescale {_shown(sync)}: {error.message}") from error
        message = f"the HPA controller was able to update the target scale to {desired}"
        sync.set("AbleToScale", "True", "SucceededRescale", message)
        self._recorder.event(sync.hpa, "Normal", "SuccessfulRescale", f"New size: {desired}; reason: {reason}")

    async def _write(self, sync: ScalingSync) -> None:
        """Write the status if it has changed. Raises ApiError."""
        status = {**sync.status, "conditions": sync.conditions}
        if is_equal(status, dict(sync.hpa.get("status") or {})):
            return
        try:
            await self._client.update_status({**sync.hpa, "status": status})
        except ApiError as error:
            self._recorder.event(sync.hpa, "Warning", "FailedUpdateStatus", error.message)
            raise


def _enqueue(autoscaler: Object, queue: RequestQueue) -> None:
    queue.add_rate_limited(Request.of(autoscaler))


def _tolerances(hpa: Object) -> Tolerances:
    behavior = hpa["spec"].get("behavior") or {}
    found = Tolerances()
    down, up = ((behavior.get(name) or {}).get("tolerance") for name in ("scaleDown", "scaleUp"))
    return Tolerances(
        found.down if down is None else float(value_of(down)), found.up if up is None else float(value_of(up))
    )


def _shown(sync: ScalingSync) -> str:
    return f"{sync.target['kind']}/{sync.request.namespace}/{sync.target['name']}"
