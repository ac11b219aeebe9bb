"""Adopting and releasing objects: what a controller owns is what it controls and selects (`ControllerRefManager`)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from controllerlib import ApiError, Client
from controllerlib.client import Selector
from controllerlib.controller import controller_of

Object = Mapping[str, Any]


class CannotAdopt(Exception):
    """The controlling object is gone or is being deleted, though the cache still has it."""


def controller_reference(owner: Object, api_version: str, kind: str) -> dict[str, Any]:
    """The reference of an object to its controller `owner` (metav1.NewControllerRef)."""
    meta = owner["metadata"]
    return {
        "apiVersion": api_version,
        "kind": kind,
        "name": meta["name"],
        "uid": meta["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


@dataclass(slots=True)
class ControllerRefManager:
    """Claims the objects of a controlling object: adopts those without a controller, releases those not selected.

    `kind` is that of the controlling object. `finalizers` are added to adopted objects and removed from released ones.
    An object is adopted only if the controlling object exists at the server, with its uid and not being deleted, which
    is checked once. Source: kubernetes, controller.BaseControllerRefManager.
    """

    client: Client
    owner: Object
    api_version: str
    kind: str
    selector: Selector
    finalizers: tuple[str, ...] = ()
    _checked: bool = field(default=False, init=False)

    async def claim(
        self, objects: Iterable[Object], matches: Callable[[Object], bool] | None = None
    ) -> Sequence[Object]:
        """The objects that the controlling object owns now.

        `matches`: a further condition. Raises the first ApiError or CannotAdopt after all objects were tried.
        """
        claimed, errors = [], []
        for obj in objects:
            try:
                if await self._claim_one(obj, matches):
                    claimed.append(obj)
            except (ApiError, CannotAdopt) as error:
                errors.append(error)
        if errors:
            raise errors[0]
        return claimed

    async def _claim_one(self, obj: Object, matches: Callable[[Object], bool] | None) -> bool:
        meta, owner = obj["metadata"], self.owner["metadata"]
        selected = self.selector.matches(meta.get("labels")) and (matches is None or matches(obj))
        reference = controller_of(obj)
        if reference is not None:
            if reference.get("uid") != owner["uid"]:
                return False
            if not selected and not owner.get("deletionTimestamp"):
                await self._ignoring_absence(self.release(obj))
            return selected
        if owner.get("deletionTimestamp") or not selected or meta.get("deletionTimestamp"):
            return False
        return await self._ignoring_absence(self.adopt(obj))

    async def _ignoring_absence(self, work: Awaitable[None]) -> bool:
        try:
            await work
        except ApiError as error:
            if error.reason != "NotFound":
                raise
            return False
        return True

    async def adopt(self, obj: Object) -> None:
        """Make the controlling object the controller of `obj`. Raises ApiError, CannotAdopt."""
        meta = obj["metadata"]
        try:
            await self.check_owner()
        except CannotAdopt as error:
            raise CannotAdopt(
                f"can't adopt {obj['kind']} {meta.get('namespace')}/{meta['name']} ({meta['uid']}): {error}"
            ) from None
        reference = controller_reference(self.owner, self.api_version, self.kind)
        await self._patch(obj, {"uid": meta["uid"], "ownerReferences": [reference]}, self.finalizers, "finalizers")

    async def release(self, obj: Object) -> None:
        """Remove the controlling object from the owners of `obj`; nothing happens if it is another object now."""
        meta = obj["metadata"]
        removed = [{"$patch": "delete", "uid": self.owner["metadata"]["uid"]}]
        try:
            part = {"uid": meta["uid"], "ownerReferences": removed}
            await self._patch(obj, part, self.finalizers, "$deleteFromPrimitiveList/finalizers")
        except ApiError as error:
            if error.reason not in ("NotFound", "Invalid"):
                raise

    async def _patch(self, obj: Object, meta: dict[str, Any], finalizers: Sequence[str], name: str) -> None:
        if finalizers:
            meta[name] = list(finalizers)
        await self.client.patch(obj, {"metadata": meta}, type="strategic")

    async def check_owner(self) -> None:
        """Raises CannotAdopt, ApiError (controller.RecheckDeletionTimestamp)."""
        if self._checked:
            return
        meta = self.owner["metadata"]
        where = f"{meta.get('namespace')}/{meta['name']}"
        fresh = await self.client.get(self.api_version, self.kind, meta["name"], meta.get("namespace"))
        if fresh["metadata"]["uid"] != meta["uid"]:
            raise CannotAdopt(
                f"original {self.kind} {where} is gone: got uid {fresh['metadata']['uid']}, wanted {meta['uid']}"
            )
        if fresh["metadata"].get("deletionTimestamp"):
            raise CannotAdopt(f"{where} has just been deleted at {fresh['metadata']['deletionTimestamp']}")
        self._checked = True
