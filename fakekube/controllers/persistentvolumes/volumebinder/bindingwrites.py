"""The writes that bind a claim and a volume (`pv_controller.go`: bind, unbindVolume, updateClaimStatus)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from controllerlib import Client
from controllerlib.record import CoreEventRecorder
from fakekube.apiserver.schema.quantity import InvalidQuantity, canonical
from fakekube.controllers.lister import CachedKind
from fakekube.controllers.persistentvolumes.volumeclaims import (
    BIND_COMPLETED,
    BOUND_BY_CONTROLLER,
    PRE_RESIZE_CAPACITY,
    annotations_of,
    capacity,
    claim_capacity,
    is_bound_to,
    reference_to_claim,
    status,
    with_annotations,
)
from fakekube.controllers.workload.podstate import phase

Object = Mapping[str, Any]


class CannotBind(Exception):
    """A claim and a volume contradict each other; the reconcile is tried again."""


class LatestObjects:
    """The objects of a kind as the controller knows them: those of the shared informers, or what it has written since.

    Source: kubernetes, the stores `volumes` and `claims` of PersistentVolumeController.
    """

    def __init__(self, kind: CachedKind) -> None:
        self._kind = kind
        self._written: dict[tuple[str, str], Object] = {}

    def get(self, namespace: str, name: str) -> Object | None:
        """The latest version, None if the object is gone."""
        return self._latest(namespace, name, self._kind.get(namespace, name))

    def list(self) -> Sequence[Object]:
        """All objects, in the order of their keys."""
        found = self._kind.list()
        if not self._written:
            return found
        latest = (self._latest(one["metadata"].get("namespace") or "", one["metadata"]["name"], one) for one in found)
        return [one for one in latest if one is not None]

    def is_stale(self, obj: Object) -> bool:
        """Whether the controller has written a later version than this one of the shared informers."""
        return self.get(obj["metadata"].get("namespace") or "", obj["metadata"]["name"]) is not obj

    def wrote(self, obj: Object) -> None:
        """Note an object as the server stored it."""
        meta = obj["metadata"]
        self._written[meta.get("namespace") or "", meta["name"]] = obj

    def _latest(self, namespace: str, name: str, seen: Object | None) -> Object | None:
        written = self._written.get((namespace, name))
        if written is None:
            return seen
        if seen is not None and _version(seen) < _version(written):
            return written
        del self._written[namespace, name]
        return seen


def _version(obj: Object) -> int:
    return int(obj["metadata"]["resourceVersion"])


class BindingWrites:
    """Writes claims and volumes if they change, and notes what the server stored. All methods raise ApiError."""

    claims: LatestObjects
    volumes: LatestObjects

    def __init__(
        self, client: Client, recorder: CoreEventRecorder, claims: LatestObjects, volumes: LatestObjects
    ) -> None:
        self._client, self._recorder = client, recorder
        self.claims, self.volumes = claims, volumes

    async def claim(self, claim: Object) -> Object:
        stored = await self._client.update(dict(claim))
        self.claims.wrote(stored)
        return stored

    async def volume(self, volume: Object) -> Object:
        stored = await self._client.update(dict(volume))
        self.volumes.wrote(stored)
        return stored

    async def bind(self, volume: Object, claim: Object) -> None:
        """Bind both to each other: the volume, its status, the claim, its status."""
        volume = await self._bind_volume(volume, claim)
        volume = await self.volume_phase(volume, "Bound")
        claim = await self._bind_claim(claim, volume)
        await self.claim_status(claim, "Bound", volume)

    async def _bind_volume(self, volume: Object, claim: Object) -> Object:
        meta, reference = claim["metadata"], volume["spec"].get("claimRef") or {}
        changed = volume
        if any(reference.get(name) != meta[name] for name in ("namespace", "name", "uid")):
            changed = {**volume, "spec": {**volume["spec"], "claimRef": reference_to_claim(claim)}}
        if not is_bound_to(volume, claim) and BOUND_BY_CONTROLLER not in annotations_of(volume):
            changed = with_annotations(changed, {BOUND_BY_CONTROLLER: "yes"})
        return volume if changed is volume else await self.volume(changed)

    async def _bind_claim(self, claim: Object, volume: Object) -> Object:
        changed, name = claim, volume["metadata"]["name"]
        if claim["spec"].get("volumeName") != name:
            changed = {**claim, "spec": {**claim["spec"], "volumeName": name}}
            if BOUND_BY_CONTROLLER not in annotations_of(claim):
                changed = with_annotations(changed, {BOUND_BY_CONTROLLER: "yes"})
        if BIND_COMPLETED not in annotations_of(claim):
            changed = with_annotations(changed, {BIND_COMPLETED: "yes"})
        return claim if changed is claim else await self.claim(changed)

    async def unbind(self, volume: Object) -> None:
        """Make a volume Available: without its claim, or reserved for it if a user had bound them."""
        spec = {name: value for name, value in volume["spec"].items() if name != "claimRef"}
        if BOUND_BY_CONTROLLER in annotations_of(volume):
            changed = with_annotations({**volume, "spec": spec}, {BOUND_BY_CONTROLLER: None})
        else:
            reserved = {name: value for name, value in volume["spec"]["claimRef"].items() if name != "uid"}
            changed = {**volume, "spec": {**spec, "claimRef": reserved}}
        await self.volume_phase(await self.volume(changed), "Available")

    # --- status

    async def volume_phase(
        self, volume: Object, to: str, message: str = "", *, event: tuple[str, str] | None = None
    ) -> Object:
        """Set the phase of a volume. `event`: the type and reason of an Event, if the phase changes."""
        if phase(volume) == to:
            return volume
        changed = {name: value for name, value in status(volume).items() if name != "message"}
        changed |= {"phase": to, **({"message": message} if message else {})}
        stored = await self._client.update_status({**volume, "status": changed})
        self.volumes.wrote(stored)
        if event is not None:
            self._recorder.event(stored, event[0], event[1], message)
        return stored

    async def lost(self, claim: Object, reason: str, message: str) -> None:
        """Set the phase Lost of a claim that was bound, with an Event."""
        if phase(claim) != "Lost":
            stored = await self.claim_status(claim, "Lost", None)
            self._recorder.event(stored, "Warning", reason, message)

    async def claim_status(self, claim: Object, to: str, volume: Object | None) -> Object:
        """Set the phase of a claim, and what its status has of its volume (updateClaimStatus)."""
        present = status(claim)
        wanted = new_claim_status(claim, to, volume)
        if wanted == present:
            return claim
        stored = await self._client.update_status({**claim, "status": wanted})
        self.claims.wrote(stored)
        return stored


def new_claim_status(claim: Object, to: str, volume: Object | None) -> Mapping[str, Any]:
    """The status of a claim that gets the phase `to`. Raises CannotBind if the volume has no capacity."""
    present = status(claim)
    if volume is None:
        of_volume = ("accessModes", "capacity", "currentVolumeAttributesClassName")
        return {**{name: value for name, value in present.items() if name not in of_volume}, "phase": to}
    wanted = {**present, "phase": to, "accessModes": volume["spec"].get("accessModes") or []}
    if phase(claim) == to:
        return wanted
    if "storage" not in (volume["spec"].get("capacity") or {}):
        raise CannotBind(f'PersistentVolume "{volume["metadata"]["name"]}" is without a storage capacity')
    before = annotations_of(volume).get(PRE_RESIZE_CAPACITY)
    if before is not None:
        wanted["capacity"] = {**(present.get("capacity") or {}), "storage": _quantity(before, volume)}
    elif claim_capacity(claim) != capacity(volume) or "storage" not in (present.get("capacity") or {}):
        wanted["capacity"] = volume["spec"]["capacity"]
    if phase(claim) == "Pending" and to == "Bound":
        name = volume["spec"].get("volumeAttributesClassName")
        wanted.pop("currentVolumeAttributesClassName", None)
        if name is not None:
            wanted["currentVolumeAttributesClassName"] = name
    return wanted


def _quantity(text: str, volume: Object) -> str:
    """A quantity of an annotation; the volume's capacity if it is invalid."""
    try:
        return canonical(text)
    except InvalidQuantity:
        found: str = volume["spec"]["capacity"]["storage"]
        return found
