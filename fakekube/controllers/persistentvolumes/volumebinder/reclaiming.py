"""What happens to a volume whose claim is gone (`pv_controller.go`: reclaimVolume)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controllerlib import ApiError, Client
from controllerlib.record import CoreEventRecorder
from fakekube.controllers.lister import CachedKind
from fakekube.controllers.persistentvolumes.podvolumes import is_terminated, using
from fakekube.controllers.persistentvolumes.volumebinder.bindingwrites import BindingWrites
from fakekube.controllers.persistentvolumes.volumebinder.volumeplugins import (
    PluginProblem,
    delete_host_path,
    deleter_of,
    plugin_of,
    recycler_pod,
)
from fakekube.controllers.persistentvolumes.volumeclaims import MIGRATED_TO, annotations_of
from fakekube.controllers.workload.podstate import is_terminal, phase

Object = Mapping[str, Any]

#: The finalizer of volumes that the controller has to delete.
IN_TREE_FINALIZER = "kubernetes.io/pv-controller"

#: How the names of pods that empty volumes begin.
RECYCLER = "recycler-for-"


class Reclaiming:
    """Keeps, deletes or empties volumes by their reclaim policy.

    Unlike kube-controller-manager, a reclaim that failed is repeated only when the volume changes, and the Events of a
    recycler pod are not repeated as Events of the volume.
    """

    def __init__(self, client: Client, recorder: CoreEventRecorder, writes: BindingWrites, pods: CachedKind) -> None:
        self._client, self._recorder, self._writes, self._pods = client, recorder, writes, pods
        #: The volumes that are being emptied: name -> uid of the recycler pod, "" if it was deleted.
        self._recycling: dict[str, str] = {}

    async def reclaim(self, volume: Object) -> None:
        """Raises ApiError if the phase of the volume cannot be written."""
        if annotations_of(volume).get(MIGRATED_TO):
            return
        policy = volume["spec"].get("persistentVolumeReclaimPolicy")
        if policy == "Delete":
            await self._delete(volume)
        elif policy == "Recycle":
            await self._recycle(volume)

    async def _fail(self, volume: Object, reason: str, message: str) -> None:
        await self._writes.volume_phase(volume, "Failed", message, event=("Warning", reason))

    async def _fresh(self, volume: Object) -> Object | None:
        """The volume of the server, None if it cannot be read or is not released."""
        try:
            found = await self._client.get("v1", "PersistentVolume", volume["metadata"]["name"])
        except ApiError:
            return None
        return found if self._is_released(found) else None

    def _is_released(self, volume: Object) -> bool:
        """Whether the claim of a volume is gone or has another volume (isVolumeReleased)."""
        reference = volume["spec"].get("claimRef")
        if not reference or not reference.get("uid"):
            return False
        claim = self._writes.claims.get(reference["namespace"], reference["name"])
        if claim is None or claim["metadata"]["uid"] != reference["uid"]:
            return True
        other = claim["spec"].get("volumeName")
        return bool(other) and other != volume["metadata"]["name"]

    # --- deletion

    async def _delete(self, volume: Object) -> None:
        """Delete a volume, unless another program does (deleteVolumeOperation)."""
        try:
            plugin = deleter_of(volume)
        except PluginProblem as problem:
            return await self._fail(volume, "VolumeFailedDelete", str(problem))
        if not plugin or await self._fresh(volume) is None:
            return None
        try:
            delete_host_path(volume)
            await self._remove_finalizer(volume)
        except (PluginProblem, ApiError) as problem:
            text = problem.message if isinstance(problem, ApiError) else str(problem)
            return await self._fail(volume, "VolumeFailedDelete", text)
        try:
            await self._client.delete("v1", "PersistentVolume", volume["metadata"]["name"])
        except ApiError:
            return None
        return None

    async def _remove_finalizer(self, volume: Object) -> None:
        fresh = await self._client.get("v1", "PersistentVolume", volume["metadata"]["name"])
        kept = [name for name in fresh["metadata"].get("finalizers") or () if name != IN_TREE_FINALIZER]
        if len(kept) < len(fresh["metadata"].get("finalizers") or ()):
            await self._writes.volume({**fresh, "metadata": {**fresh["metadata"], "finalizers": kept}})

    # --- recycling

    async def _recycle(self, volume: Object) -> None:
        """Empty a volume by a pod, and make it Available when the pod has ended (recycleVolumeOperation)."""
        name = volume["metadata"]["name"]
        if name in self._recycling:
            return await self._look_at_recycler(volume)
        fresh = await self._fresh(volume)
        if fresh is None:
            return None
        reference = volume["spec"]["claimRef"]
        users = [pod for pod in using(self._pods, reference["namespace"], reference["name"]) if not is_terminated(pod)]
        if users and self._writes.claims.get(reference["namespace"], reference["name"]) is None:
            names = sorted(f"{pod['metadata']['namespace']}/{pod['metadata']['name']}" for pod in users)
            text = f"Volume is used by pods: {','.join(names)}"
            self._recorder.event(volume, "Normal", "VolumeFailedRecycle", text)
            return None
        try:
            plugin_of(fresh)
        except PluginProblem:
            return await self._fail(fresh, "VolumeFailedRecycle", "No recycler plugin found for the volume!")
        return await self._start_recycler(fresh)

    async def _start_recycler(self, volume: Object) -> None:
        pod = recycler_pod(volume)
        try:
            created = await self._client.create(pod)
        except ApiError as error:
            text = f"unexpected error creating recycler pod:  {error.message}"
            if error.reason == "AlreadyExists":
                text = "old recycler pod found, will retry later"
                await self._delete_recycler(pod["metadata"]["name"])
            return await self._fail(volume, "VolumeFailedRecycle", f"Recycle failed: {text}")
        self._recycling[volume["metadata"]["name"]] = created["metadata"]["uid"]
        return None

    def recycler_deleted(self, pod: Object) -> None:
        """Note that the pod that empties a volume is gone."""
        name = pod["metadata"]["name"].removeprefix(RECYCLER)
        if self._recycling.get(name) == pod["metadata"]["uid"]:
            self._recycling[name] = ""

    async def _look_at_recycler(self, volume: Object) -> None:
        name = volume["metadata"]["name"]
        uid, problem = self._recycling[name], "recycler pod was deleted"
        if uid:
            pod = self._pods.get("default", f"{RECYCLER}{name}")
            if pod is None or pod["metadata"]["uid"] != uid or not is_terminal(pod):
                return None
            failed = phase(pod) == "Failed"
            problem = pod["status"].get("message") or "pod failed, pod.Status.Message unknown" if failed else ""
            await self._delete_recycler(pod["metadata"]["name"])
        del self._recycling[name]
        if problem:
            text = f"Recycle failed: failed to recycle volume: {problem}"
            return await self._fail(volume, "VolumeFailedRecycle", text)
        self._recorder.event(volume, "Normal", "VolumeRecycled", "Volume recycled")
        return await self._writes.unbind(volume)

    async def _delete_recycler(self, name: str) -> None:
        try:
            await self._client.delete("v1", "Pod", name, "default")
        except ApiError:
            return
