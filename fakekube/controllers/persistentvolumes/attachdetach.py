"""The controller that attaches volumes to the nodes of pods (`pkg/controller/volume/attachdetach`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

from controllerlib import ApiError, Request, Result
from controllerlib.controller import HandlerFuncs, RequestQueue
from fakekube.controllers.context import NODE_INDEX, ControllerContext, node_index
from fakekube.controllers.objectevents import enqueue, object_events
from fakekube.controllers.persistentvolumes.podvolumes import claim_names, is_terminated, pods_by_claim, using
from fakekube.controllers.persistentvolumes.volumeclaims import annotations_of
from fakekube.controllers.workload.podstate import Pod, is_ready

NAME = "persistentvolume-attach-detach-controller"
ACCOUNT = "attachdetach-controller"

#: The annotation of nodes whose volumes the controller attaches.
MANAGED = "volumes.kubernetes.io/controller-managed-attach-detach"

#: Seconds after which a volume that is still mounted is detached from a node that is not ready.
LONGEST_UNMOUNT = 360.0

OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"

#: The name of the index of attachments by volume.
VOLUME_INDEX = "spec.source.persistentVolumeName"

_STORAGE = "storage.k8s.io/v1"

#: The request at the start, and its priority, which is above that of all others.
_START = Request("", "")
_FIRST = 1

Object = Mapping[str, Any]


def add(context: ControllerContext) -> None:
    """Add the controller."""
    AttachDetach(context).add()


class AttachDetach:
    """Creates a VolumeAttachment for each CSI volume that a pod uses on a node, and deletes it after the last such pod.

    It deletes attachments that it has made, and those of CSI volumes that existed when it started; those that others
    create later it leaves alone. A request names a node; that of the start names none. What is attached is written into
    the status of the node. Unlike kube-controller-manager, it looks at a node when something has changed, not every
    100 ms; it leaves out volumes of iSCSI and Fibre Channel, migrated inline volumes, and the timeout of an attachment.
    """

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._client = context.client(ACCOUNT)
        self._recorder = context.recorder(ACCOUNT)
        context.index("v1", "Pod", NODE_INDEX, node_index)
        context.index(_STORAGE, "VolumeAttachment", NODE_INDEX, node_index)
        context.index(_STORAGE, "VolumeAttachment", VOLUME_INDEX, _volume_of)
        self._pods = pods_by_claim(context)
        self._nodes = context.kind("v1", "Node")
        self._claims = context.kind("v1", "PersistentVolumeClaim")
        self._volumes = context.kind("v1", "PersistentVolume")
        self._attachments = context.kind(_STORAGE, "VolumeAttachment")
        self._drivers = context.kind(_STORAGE, "CSIDriver")
        #: When attachments were first not needed; the volumes and nodes of which a conflict was recorded.
        self._unneeded: dict[str, float] = {}
        self._conflicts: set[tuple[str, str]] = set()
        #: The names of the attachments that it may delete (the actual state of the world).
        self._own: set[str] = set()
        #: What was recorded of each attachment: "" for success, or an error.
        self._recorded: dict[str, str] = {}

    def add(self) -> None:
        """Add the controller to the manager."""
        builder = self._context.controller(NAME)
        builder.watches("v1", "Pod", object_events(self._pod_seen, deleted=self._pod_seen))
        builder.watches("v1", "Node", object_events(created=enqueue, updated=self._node_updated))
        builder.watches("v1", "PersistentVolumeClaim", object_events(self._claim_seen, deleted=self._claim_seen))
        builder.watches("v1", "PersistentVolume", object_events(self._volume_seen, deleted=self._volume_seen))
        builder.watches(
            _STORAGE, "VolumeAttachment", object_events(self._attachment_seen, deleted=self._attachment_deleted)
        )
        builder.watches(_STORAGE, "CSIDriver", HandlerFuncs())
        builder.watches(_STORAGE, "CSINode", HandlerFuncs())
        builder.watches_raw_source(_Begin())
        builder.complete(self.reconcile)

    # --- events

    def _pod_seen(self, pod: Object, queue: RequestQueue) -> None:
        node = pod["spec"].get("nodeName")
        if node and any(claim_names(pod)):
            queue.add(Request("", node))

    def _node_updated(self, old: Object, new: Object, queue: RequestQueue) -> None:
        request = Request.of(new)
        newly_managed = MANAGED in annotations_of(new) and MANAGED not in annotations_of(old)
        if newly_managed or self._attachments.by_index(NODE_INDEX, request.name):
            queue.add(request)

    def _claim_seen(self, claim: Object, queue: RequestQueue) -> None:
        meta = claim["metadata"]
        for pod in using(self._pods, meta["namespace"], meta["name"]):
            self._pod_seen(pod, queue)

    def _volume_seen(self, volume: Object, queue: RequestQueue) -> None:
        reference = volume["spec"].get("claimRef")
        if reference:
            for pod in using(self._pods, reference["namespace"], reference["name"]):
                self._pod_seen(pod, queue)

    def _attachment_seen(self, attachment: Object, queue: RequestQueue) -> None:
        queue.add(Request("", attachment["spec"]["nodeName"]))
        for name in _volume_of(attachment):
            volume = self._volumes.get("", name)
            if volume is not None:
                self._volume_seen(volume, queue)

    def _attachment_deleted(self, attachment: Object, queue: RequestQueue) -> None:
        self._recorded.pop(attachment["metadata"]["name"], None)
        self._unneeded.pop(attachment["metadata"]["name"], None)
        self._own.discard(attachment["metadata"]["name"])
        self._attachment_seen(attachment, queue)

    # --- a node

    async def reconcile(self, request: Request) -> Result | None:
        if request == _START:
            self._own |= {one["metadata"]["name"] for one in self._attachments.list() if self._unique_name(one)}
            return None
        node = self._nodes.get("", request.name)
        if node is not None and MANAGED not in annotations_of(node):
            return None
        wanted = self._wanted(request.name)
        present = self._attachments.by_index(NODE_INDEX, request.name)
        detached, wait = self._to_detach(present, wanted, node)
        for attachment in present:
            self._record(attachment, wanted, node)
        if node is not None:
            await self._report(node, [one for one in present if one not in detached])
        for attachment in detached:
            await self._detach(attachment)
        for name, pods in wanted.items() if node is not None else ():
            await self._attach(name, pods, request.name)
        return None if wait is None else Result(requeue_after=wait)

    def _wanted(self, node: str) -> dict[str, list[Pod]]:
        """The volumes that must be attached to a node, with the pods that use them."""
        found: dict[str, list[Pod]] = {}
        for pod in self._pods.by_index(NODE_INDEX, node):
            names = list(claim_names(pod))
            for name in names if names and not is_terminated(pod) else ():
                volume = self._bound_volume(pod["metadata"]["namespace"], name)
                if volume is not None and self._is_attachable(volume):
                    found.setdefault(volume["metadata"]["name"], []).append(pod)
        return found

    def _bound_volume(self, namespace: str, name: str) -> Object | None:
        claim = self._claims.get(namespace, name)
        if claim is None or (claim.get("status") or {}).get("phase") != "Bound":
            return None
        volume = self._volumes.get("", claim["spec"].get("volumeName") or "-")
        uid = ((volume or {}).get("spec") or {}).get("claimRef", {}).get("uid")
        return volume if uid == claim["metadata"]["uid"] else None

    def _is_attachable(self, volume: Object) -> bool:
        """Whether a volume has a CSI driver that attaches volumes."""
        source = volume["spec"].get("csi")
        if not source:
            return False
        driver = self._drivers.get("", source["driver"])
        return driver is None or driver["spec"].get("attachRequired") is not False

    def _unique_name(self, attachment: Object) -> str:
        """The name of an attached volume in the status of a node, "" if the volume is gone."""
        names = _volume_of(attachment)
        volume = self._volumes.get("", names[0]) if names else None
        if volume is None or not volume["spec"].get("csi"):
            return ""
        source = volume["spec"]["csi"]
        return f"kubernetes.io/csi/{source['driver']}^{source['volumeHandle']}"

    # --- detaching

    def _to_detach(
        self, present: Sequence[Object], wanted: Mapping[str, Any], node: Object | None
    ) -> tuple[list[Object], float | None]:
        """The attachments that no pod needs and whose volumes are not mounted; and the seconds until one is forced."""
        found, waits, now = [], [], self._context.clock.monotonic()
        in_use = () if node is None else (node.get("status") or {}).get("volumesInUse") or ()
        for attachment in present:
            name = attachment["metadata"]["name"]
            if any(volume in wanted for volume in _volume_of(attachment)):
                self._unneeded.pop(name, None)
                continue
            if attachment["metadata"].get("deletionTimestamp") or name not in self._own:
                continue
            wait = self._unneeded.setdefault(name, now) + LONGEST_UNMOUNT - now
            if self._unique_name(attachment) not in in_use or _may_force(node, expired=wait <= 0):
                found.append(attachment)
            elif wait > 0:
                waits.append(wait)
        return found, min(waits, default=None)

    async def _detach(self, attachment: Object) -> None:
        try:
            await self._client.delete(_STORAGE, "VolumeAttachment", attachment["metadata"]["name"])
        except ApiError as error:
            if error.reason != "NotFound":
                raise

    # --- attaching

    async def _attach(self, volume_name: str, pods: Sequence[Pod], node: str) -> None:
        """Create the attachment of a volume, unless it exists or another node has the volume for itself."""
        volume = self._volumes.get("", volume_name)
        assert volume is not None
        source = volume["spec"]["csi"]
        name = "csi-" + sha256(f"{source['volumeHandle']}{source['driver']}{node}".encode()).hexdigest()
        others = [
            one for one in self._attachments.by_index(VOLUME_INDEX, volume_name) if one["spec"]["nodeName"] != node
        ]
        if self._attachments.get("", name) is not None:
            self._own.add(name)
            return
        if others and not {"ReadWriteMany", "ReadOnlyMany"} & set(volume["spec"].get("accessModes") or ()):
            if (volume_name, node) not in self._conflicts:
                self._conflicts.add((volume_name, node))
                self._record_conflict(volume_name, pods, others)
            return
        self._conflicts.discard((volume_name, node))
        spec = {"attacher": source["driver"], "nodeName": node, "source": {"persistentVolumeName": volume_name}}
        meta = {"name": name}
        try:
            await self._client.create(
                {"apiVersion": _STORAGE, "kind": "VolumeAttachment", "metadata": meta, "spec": spec}
            )
        except ApiError as error:
            if error.reason != "AlreadyExists":
                why = f"kubernetes.io/csi: attacher.Attach failed: {error.message}"
                text = f'AttachVolume.Attach failed for volume "{volume_name}" : {why}'
                for pod in pods:
                    self._recorder.event(pod, "Warning", "FailedAttachVolume", text)
                raise
        self._own.add(name)

    def _record_conflict(self, volume: str, pods: Sequence[Pod], others: Sequence[Object]) -> None:
        """Record that other nodes have a volume which only one node may have (reportMultiAttachError)."""
        users = [pod for one in others for pod in self._wanted(one["spec"]["nodeName"]).get(volume, ())]
        for pod in pods:
            namespace = pod["metadata"]["namespace"]
            near = [one["metadata"]["name"] for one in users if one["metadata"]["namespace"] == namespace]
            far = len(users) - len(near)
            if near:
                text = f"Volume is already used by pod(s) {', '.join(near)}"
                text += f" and {far} pod(s) in different namespaces" if far else ""
            elif far:
                text = f"Volume is already used by {far} pod(s) in different namespaces"
            else:
                text = "Volume is already exclusively attached to one node and can't be attached to another"
            message = f'Multi-Attach error for volume "{volume}" {text}'
            self._recorder.event(pod, "Warning", "FailedAttachVolume", message)

    # --- what is attached

    def _record(self, attachment: Object, wanted: Mapping[str, Sequence[Pod]], node: Object | None) -> None:
        """Record for the pods that their volume was attached, or why it was not."""
        for name in _volume_of(attachment):
            status, key = attachment.get("status") or {}, attachment["metadata"]["name"]
            problem = (status.get("attachError") or {}).get("message") or ""
            if not (status.get("attached") or problem) or self._recorded.get(key) == problem:
                continue
            self._recorded[key] = problem
            if not problem and self._unique_name(attachment) in _reported(node):  # attached before the start
                continue
            kind, reason = ("Warning", "FailedAttachVolume") if problem else ("Normal", "SuccessfulAttachVolume")
            outcome, why = ("failed", f": {problem}") if problem else ("succeeded", "")
            for pod in wanted.get(name, ()):
                self._recorder.event(pod, kind, reason, f'AttachVolume.Attach {outcome} for volume "{name}" {why}')

    async def _report(self, node: Object, attachments: Sequence[Object]) -> None:
        """Write into the status of a node which volumes are attached to it."""
        names = [
            self._unique_name(one)
            for one in attachments
            if (one.get("status") or {}).get("attached") and not one["metadata"].get("deletionTimestamp")
        ]
        attached = [{"name": name, "devicePath": ""} for name in sorted(filter(None, names))]
        if sorted(_reported(node)) == [one["name"] for one in attached]:
            return
        patch = {"status": {"volumesAttached": attached or None}}
        try:
            await self._client.patch(node, patch, type="strategic", subresource="status")
        except ApiError as error:
            if error.reason != "NotFound":
                raise


class _Begin:
    """A source that requests the start, before anything else."""

    async def start(self, queue: RequestQueue, tasks: Any) -> None:
        queue.add(_START, priority=_FIRST)

    async def wait_synced(self) -> None:
        """There is nothing to wait for."""


def _reported(node: Object | None) -> list[str]:
    """The names of the volumes that are attached to a node, as its status says."""
    return [one["name"] for one in ((node or {}).get("status") or {}).get("volumesAttached") or ()]


def _may_force(node: Object | None, *, expired: bool) -> bool:
    """Whether a volume may be detached though it is mounted."""
    if node is None:
        return True
    out_of_service = any(one["key"] == OUT_OF_SERVICE for one in node["spec"].get("taints") or ())
    return out_of_service or (expired and not is_ready(node))


def _volume_of(attachment: Any) -> Sequence[str]:
    name = attachment["spec"]["source"].get("persistentVolumeName")
    return (name,) if name else ()
