"""One node: its user, its Events, its lease and status, and what its runtime has."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from controllerlib import ApiError, Client
from controllerlib.client import as_object
from controllerlib.record import CoreEventRecorder
from fakekube.apiserver.wire.codec import copied
from fakekube.controllers.kubelet import nodestatus
from fakekube.controllers.kubelet.nodestatus import Condition, conditions_of, new_lease, new_node
from fakekube.controllers.kubelet.podaddresses import PodAddresses
from fakekube.controllers.kubelet.podadmission import NodeResources, extended_changes
from fakekube.controllers.nodespec import NodeSpec
from fakekube.controllers.workload.podstate import timestamp

Object = Mapping[str, Any]

#: Seconds between reports of a status that has not changed (nodeStatusReportFrequency).
REPORT_PERIOD = 300.0


class NodeAgent:
    """The kubelet of a node. Nothing is written while it is lost."""

    spec: NodeSpec
    client: Client
    recorder: CoreEventRecorder
    address: str
    addresses: PodAddresses
    resources: NodeResources
    is_lost: bool
    is_registered: bool
    condition: Condition

    def __init__(
        self,
        spec: NodeSpec,
        client: Client,
        recorder: CoreEventRecorder,
        address: str,
        addresses: PodAddresses,
        cidr: str,
    ) -> None:
        self.spec, self.client, self.recorder = spec, client, recorder
        self.address, self.addresses, self._cidr = address, addresses, cidr
        self.images: set[str] = set()
        self.resources = NodeResources(spec.capacity())
        self.is_lost = False
        self.is_registered = False
        self.condition = Condition()
        self._conditions: list[dict[str, Any]] = []
        self._reported: Condition | None = None
        self._report_due: datetime | None = None
        self._lease: dict[str, Any] | None = None
        self._renew_due: datetime | None = None

    def __repr__(self) -> str:
        return f"<NodeAgent {self.spec.name}>"

    def reference(self) -> dict[str, Any]:
        """What Events about the node refer to."""
        return {"apiVersion": "v1", "kind": "Node", "name": self.spec.name, "uid": self.spec.name}

    async def work(self, node: Object | None, now: datetime) -> float | None:
        """Write what is due, and return the seconds until something is due again."""
        if self.is_lost:
            return None
        if not self.is_registered:
            node = await self._register(now)
        if self._reported != self.condition or self._is_due(self._report_due, now):
            await self._report(now)
        if node is not None and (changed := extended_changes(node)):
            await self.client.patch_status(
                _target(self.spec.name), {"status": {"allocatable": changed}}, type="strategic"
            )
        if self.spec.lease_duration and self._is_due(self._renew_due, now):
            await self._renew(node, now)
        dues = [due for due in (self._report_due, self._renew_due) if due is not None]
        return max((min(dues) - now).total_seconds(), 0.001)

    def recovered(self) -> None:
        """The node works again: its status and its lease are due."""
        self.is_lost = False
        self._report_due = self._renew_due = None

    @staticmethod
    def _is_due(due: datetime | None, now: datetime) -> bool:
        return due is None or due <= now

    async def _register(self, now: datetime) -> Object:
        """Create the Node; one that exists already keeps what others have set."""
        self._conditions = list(conditions_of(self.condition, (), timestamp(now)))
        node = copied(as_object(new_node(self.spec, self.address, self._cidr, self._conditions)))  # plain JSON
        try:
            found: Object = await self.client.create(node)
            self._reported, self._report_due = self.condition, now + timedelta(seconds=REPORT_PERIOD)
        except ApiError as error:
            if error.reason != "AlreadyExists":
                raise
            found = await self.client.get("v1", "Node", self.spec.name)
            await self.client.patch_status(found, {"status": node["status"]}, type="strategic")
        self.is_registered = True
        self.recorder.event(self.reference(), "Normal", "Starting", "Starting kubelet.")
        if not self.condition.problem:
            self._event("NodeReady")
        return found

    async def _report(self, now: datetime) -> None:
        before = self._reported
        self._conditions = list(conditions_of(self.condition, self._conditions, timestamp(now)))
        order = [{"type": one["type"]} for one in self._conditions]
        status = {"$setElementOrder/conditions": order, "conditions": self._conditions}
        await self.client.patch_status(_target(self.spec.name), {"status": status}, type="strategic")
        self._reported, self._report_due = self.condition, now + timedelta(seconds=REPORT_PERIOD)
        if before is not None:
            self._note_changes(before, self.condition)

    def _note_changes(self, before: Condition, after: Condition) -> None:
        for (pressure, under), reason in nodestatus.PRESSURE_EVENTS.items():
            if (pressure in after.pressures) == under != (pressure in before.pressures):
                self._event(reason)
        if bool(before.problem) != bool(after.problem):
            self._event("NodeNotReady" if after.problem else "NodeReady")

    def _event(self, reason: str) -> None:
        text = f"Node {self.spec.name} status is now: {reason}"
        self.recorder.event(self.reference(), "Normal", reason, text)

    async def _renew(self, node: Object | None, now: datetime) -> None:
        renewed = f"{now.replace(tzinfo=None).isoformat(timespec='microseconds')}Z"
        if self._lease is None:
            if node is None:
                node = await self.client.get("v1", "Node", self.spec.name)
            try:
                self._lease = await self.client.create(new_lease(self.spec, node, renewed))
            except ApiError as error:
                if error.reason != "AlreadyExists":
                    raise
                where = ("coordination.k8s.io/v1", "Lease", self.spec.name, nodestatus.LEASE_NAMESPACE)
                self._lease = await self.client.get(*where)
        lease = {**self._lease, "spec": {**self._lease["spec"], "renewTime": renewed}}
        if lease != self._lease:
            try:
                self._lease = await self.client.update(lease)
            except ApiError:
                self._lease = None  # read again the next time
                raise
        self._renew_due = now + timedelta(seconds=self.spec.lease_duration / 4)


def _target(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}
