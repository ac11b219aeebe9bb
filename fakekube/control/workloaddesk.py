"""Simulated pods and nodes, metrics, and the cluster's own controllers."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from fakekube.apiserver.schema.quantity import InvalidQuantity, value_of
from fakekube.apiserver.wire.status import StatusError
from fakekube.control.operation import operation
from fakekube.control.requestfields import (
    Schema,
    arguments,
    camel,
    check_required,
    invalid,
    of_function,
    of_options,
    snake,
)
from fakekube.control.steering import Steering
from fakekube.harness.arguments import is_text_of_manifests
from fakekube.harness.keywords import NodeOptions

if TYPE_CHECKING:
    from fakekube.controllers.scalingmetrics import Metrics
    from fakekube.harness.pods.simulatednode import SimulatedNode
    from fakekube.harness.pods.simulatedpods import Scope

#: Turns of the event loop after which a controller that may take a key has taken it.
_TURNS = 10

#: Names of what is no script of `SimulatedPods`.
_NO_SCRIPTS = frozenset({"always", "names"})


METRICS: Mapping[str, Schema] = {
    kind: {"type": "array", "items": {"type": "object"}} for kind in ("resource", "node", "pods", "object", "external")
}


@cache
def scripts() -> Mapping[str, Mapping[str, Schema]]:
    """What can be done to pods, and the fields of each: the methods of `SimulatedPods`."""
    from fakekube.harness.pods.simulatedpods import SimulatedPods

    return _methods(SimulatedPods, _NO_SCRIPTS)


@cache
def node_actions() -> Mapping[str, Mapping[str, Schema]]:
    """What can be done to a node: the methods of `SimulatedNode`."""
    from fakekube.harness.pods.simulatednode import SimulatedNode

    return _methods(SimulatedNode, frozenset())


@cache
def settable() -> Mapping[str, Mapping[str, Schema]]:
    """The kinds of metrics, and the fields of each: the methods `set_...` of `Metrics`."""
    from fakekube.controllers.scalingmetrics import Metrics

    found = {}
    for name, method in vars(Metrics).items():
        if name.startswith("set_"):
            parameters = inspect.signature(method).parameters.values()
            more: Any = {camel(one.name): {"type": "array"} for one in parameters if one.kind is one.VAR_POSITIONAL}
            found[camel(name.removeprefix("set_"))] = {**of_function(method), **more}
    return found


def _methods(owner: type, without: frozenset[str]) -> Mapping[str, Mapping[str, Schema]]:
    return {
        camel(name): of_function(method)
        for name, method in vars(owner).items()
        if inspect.isfunction(method) and not name.startswith("_") and name not in without
    }


class WorkloadDesk:
    """As the desks `fakekube.pods`, `nodes` and `controllers` of a test."""

    def __init__(self, steering: Steering) -> None:
        self._steering = steering

    # --- pods

    @operation(
        "POST", "/pods:script",
        fields={"selector": {"type": "string"}, "namespace": {"type": "string", "nullable": True, "default": "default"},
                "name": {"type": "string"}, "always": {"type": "boolean"}, "do": {"type": "object"}},
    )  # fmt: skip
    async def script(self, body: Mapping[str, Any]) -> Any:
        """Script simulated pods, and with `always` those that come later: `"do": {"crash": {"exitCode": 3}}`."""
        from controllerlib.client import parse_selector
        from fakekube.controllers.kubelet.stage import PodSelector
        from fakekube.harness.pods.simulatedpods import SimulatedPods

        do = body.get("do", {})
        if len(do) != 1 or next(iter(do)) not in scripts():
            raise invalid(f"do: pass one of {', '.join(scripts())}, with its fields")
        [(name, given)] = do.items()
        options = arguments(f"do.{name}", given, scripts()[name])
        check_required(f"do.{name}", getattr(SimulatedPods, snake(name)), options)
        if isinstance(options.get("effect"), str) and not is_text_of_manifests(options["effect"]):
            raise invalid(f"do.{name}: effect is the text of manifests, an object, or a list of objects")
        text, namespace = body.get("selector", ""), body.get("namespace", "default")
        selector = PodSelector(parse_selector(text), namespace or "", body.get("name", ""))
        pods = SimulatedPods(self._scope(), selector, text or body.get("name", ""), always=body.get("always", False))
        await _done(getattr(pods, snake(name))(**options))
        return {"pods": list(pods.names)}

    # --- nodes

    @operation("GET", "/nodes")
    def nodes(self) -> Any:
        """The simulated nodes."""
        agents = self._scope().kubelets.agents
        return {"items": [{"name": name, "isLost": agent.is_lost} for name, agent in agents.items()]}

    @operation("POST", "/nodes", fields={"name": {"type": "string"}, **of_options(NodeOptions)}, code=201)
    def add_node(self, options: Mapping[str, Any]) -> Any:
        """Add a simulated node."""
        from fakekube.harness.pods.simulationarguments import node_spec

        rest = {key: value for key, value in options.items() if key != "name"}
        self._scope().kubelets.nodes.add_node(node_spec(options.get("name", ""), rest))
        return {"name": options["name"]}

    @operation(
        "POST", "/nodes/{name}:{action}", code=204,
        fields={"kind": {"type": "string"}, "under": {"type": "boolean"}, "message": {"type": "string"}},
    )  # fmt: skip
    async def act_on_node(self, options: Mapping[str, Any], name: str, action: str) -> None:
        """Let a simulated node be lost, recover, be notReady or ready, or be under `pressure` ("memory", "disk",
        "pid")."""
        if action not in node_actions():
            raise StatusError(404, "NotFound", f"nodes have no action {action!r}: {', '.join(node_actions())}")
        given = {camel(key): value for key, value in options.items()}
        await _done(getattr(self._node(name), snake(action))(**arguments(action, given, node_actions()[action])))

    def _node(self, name: str) -> SimulatedNode:
        from fakekube.harness.pods.simulatednode import SimulatedNode

        scope = self._scope()
        if name not in scope.kubelets.agents:
            known = ", ".join(scope.kubelets.agents) or "none"
            raise StatusError(404, "NotFound", f"there is no simulated node {name!r} (nodes: {known})")
        return SimulatedNode(scope, scope.kubelets.agents[name])

    def _scope(self) -> Scope:
        controllers = self._steering.beside.controllers
        kubelets = controllers.parts.get("kubelet") if controllers is not None else None
        if kubelets is None:
            raise StatusError(409, "Conflict", "no node is simulated: start the server with --nodes 1")
        from fakekube.controllers.kubelet.podscripts import PodScripts
        from fakekube.harness.pods.simulatedpods import Scope

        scripts_of_scene = self._steering.detection.scene.scripts
        return Scope(kubelets, PodScripts(kubelets), _at_once, scripts_of_scene.append)

    # --- metrics

    @operation("PUT", "/metrics", fields=METRICS, code=204)
    def set_metrics(self, body: Mapping[str, Any]) -> None:
        """Set the metrics that HorizontalPodAutoscalers read: `{"resource": [{"name": "cpu", "value": "250m", "pods":
        "app=web"}]}`; the value null removes one. metrics.k8s.io shows those of the kinds resource and node."""
        metrics = self._metrics()
        calls: list[Callable[[], None]] = []
        for kind, values in body.items():
            for one in values:
                options = arguments(f"metrics.{kind}", one, settable()[kind])
                check_required(f"metrics.{kind}", getattr(metrics, f"set_{kind}"), options)
                self._check_metric(kind, options)
                more = options.pop("values", ())
                name = options.pop("name")
                calls.append(partial(getattr(metrics, f"set_{kind}"), name, *more, **options))
        for call in calls:
            call()

    def _check_metric(self, kind: str, options: Mapping[str, Any]) -> None:
        """Raises 400 for a value that is no quantity, and 404 for a node or a pod that does not exist."""
        value, name, store = options.get("value"), options["name"], self._steering.runner.apiserver.store
        given = [("value", value)] if value is not None else [("values", one) for one in options.get("values", ())]
        for field, one in given:
            try:
                value_of(one)
            except InvalidQuantity:
                raise invalid(f"metrics.{kind}: {field} of {name!r}: {one!r} is not a quantity, like '250m'") from None
        if value is not None and kind == "node" and store.get("nodes", options["node"]) is None:
            raise StatusError(404, "NotFound", f"metrics.node: there is no node {options['node']!r}")
        if value is not None and kind == "object" and options["kind"] == "Pod":
            path = f"{options.get('namespace', 'default')}/{options['of']}"
            if store.get("pods", path) is None:
                raise StatusError(404, "NotFound", f"metrics.object: there is no pod {path!r}")

    def _metrics(self) -> Metrics:
        controllers = self._steering.beside.controllers
        if controllers is None or controllers.metrics is None:
            raise StatusError(
                409, "Conflict", "nothing reads metrics: start the server with --nodes 1 or --controllers '*'"
            )
        return controllers.metrics

    # --- controllers

    @operation("GET", "/controllers")
    def controllers(self) -> Any:
        """The cluster's own controllers that run, and whether they are suspended."""
        found = self._steering.beside.controllers
        gates = found.gates if found is not None else {}
        return {"items": [{"name": name, "isSuspended": gate.held} for name, gate in gates.items()]}

    @operation("POST", "/controllers/{name}:suspend", code=204)
    def suspend(self, name: str) -> None:
        """Let a controller reconcile nothing further, while its queue fills."""
        self._gate(name).hold()

    @operation("POST", "/controllers/{name}:resume", code=204)
    def resume(self, name: str) -> None:
        """Let a suspended controller reconcile again."""
        self._gate(name).release()

    @operation("POST", "/controllers/{name}:reconcileNext")
    async def reconcile_next(self, name: str) -> Any:
        """Let a controller begin to reconcile one key that is due; it is suspended from then on."""
        gate = self._gate(name)
        gate.hold()
        gate.permit()
        for _ in range(_TURNS):
            await asyncio.sleep(0)  # noqa: TID251 - it yields to the controller
        return {"reconciled": not gate.withdraw()}

    def _gate(self, name: str) -> Any:
        found = self._steering.beside.controllers
        if found is None:
            raise StatusError(409, "Conflict", "no controller runs: start the server with --controllers '*'")
        try:
            return found.gates[found.queue_name(name)]
        except KeyError:
            known = ", ".join(found.gates)
            raise StatusError(404, "NotFound", f"no controller {name!r} runs (running: {known})") from None

    def reset(self) -> None:
        """Forget all scripts of pods, and suspend nothing."""
        found = self._steering.beside.controllers
        if found is None:
            return
        for gate in found.gates.values():
            gate.release()
        if "kubelet" in found.parts:
            self._scope().scripts.forget_all()


async def _nothing() -> None:
    """What is scripted is in place at once; the kubelets act on it as time passes."""


def _at_once() -> Any:
    return _nothing()


async def _done(found: Any) -> None:
    if inspect.isawaitable(found):
        await found
