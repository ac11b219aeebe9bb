"""What a controller of the cluster is built with (kube-controller-manager: `ControllerContext`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from controllerlib import Builder, Client, Manager
from controllerlib.cache import Form, IndexFunc
from controllerlib.client import Transport
from controllerlib.clock import Clock
from controllerlib.record import CoreEventRecorder
from fakekube.controllers.hold import HoldGate
from fakekube.controllers.lister import CachedKind
from fakekube.controllers.settings import Settings
from fakekube.controllers.synclog import SYNC_LOG
from fakekube.struct import Struct, field

#: The user agent of kube-controller-manager, from which the server makes the name of a field manager.
USER_AGENT = "kube-controller-manager/v1.36.2 (linux/amd64) kubernetes/fakekube"

Object = Mapping[str, Any]


class ControllerContext(Struct, frozen=True):
    """The manager with the shared informers, and a client for each controller.

    `connect` returns the transport of a user: "system:serviceaccount:kube-system:deployment-controller". `gates` has
    the gates of the controllers by name, `parts` what controllers offer to the harness.
    """

    manager: Manager
    connect: Callable[[str], Transport]
    settings: Settings = field(default_factory=Settings)
    gates: dict[str, HoldGate] = field(default_factory=dict)
    parts: dict[str, Any] = field(default_factory=dict)
    #: The kinds whose objects some controller reads whole; the garbage collector shares their informers.
    structured: set[tuple[str, str]] = field(default_factory=set)

    @property
    def clock(self) -> Clock:
        return self.manager.clock

    def now(self) -> datetime:
        """The present time, in UTC."""
        return self.manager.clock.now()

    def client(self, account: str, *, user: str = "", user_agent: str = USER_AGENT) -> Client:
        """A client that reads and writes at the server as a service account of kube-system, or as `user`."""
        who = user or f"system:serviceaccount:kube-system:{account}"
        agent = user_agent if user else f"{user_agent}/{who}"
        shared = self.manager.client
        return Client(
            self.connect(who), user_agent=agent, observer=self.manager.observer, mapper=shared.mapper, copies=False
        )

    def recorder(self, component: str) -> CoreEventRecorder:
        """A recorder of core/v1 Events whose source is `component`."""
        return self.manager.event_recorder_for(component)

    def kind(self, api_version: str, kind: str, *, form: Form = "structured") -> CachedKind:
        """Reads of a kind from the shared informers. The controller must also watch it, so that it waits for them."""
        if form == "structured":
            self.structured.add((api_version, kind))
        return CachedKind(self.manager.cache.informers, api_version, kind, form)

    def form_of(self, api_version: str, kind: str) -> Form:
        """The form in which Monitors watch a kind: whole objects if another controller reads them, else metadata."""
        return "structured" if (api_version, kind) in self.structured else "metadata"

    def index(self, api_version: str, kind: str, name: str, values: IndexFunc) -> None:
        """Index a kind in the shared informers; controllers that share an index share its name and function."""
        if name not in self.manager.cache.informers.indexers(api_version, kind):
            self.manager.cache.informers.add_indexer(api_version, kind, name, values)

    def controller(self, name: str) -> Builder:
        """A builder of the controller's work queue `name`, which can be held by that name."""
        gate = self.gates.setdefault(name, HoldGate(self.manager.gate))
        return Builder(self.manager).named(name).with_gate(gate).with_log(SYNC_LOG)


def controller_index(obj: Any) -> Sequence[str]:
    """Index function: the uid of the controller of an object, or "" and the namespace of one without."""
    meta = obj["metadata"]
    for reference in meta.get("ownerReferences") or ():
        if reference.get("controller"):
            return (reference.get("uid") or "",)
    return (f"orphan/{meta.get('namespace') or ''}",)


#: The name of the index by `controller_index` (kubernetes: controller.PodControllerIndex).
CONTROLLER_INDEX = "controller"


def node_index(obj: Any) -> Sequence[str]:
    """Index function: the node of a pod or of a VolumeAttachment (kubernetes: controller.PodNodeNameKeyIndex)."""
    node = obj["spec"].get("nodeName")
    return (node,) if node else ()


#: The name of the index by `node_index`.
NODE_INDEX = "spec.nodeName"
