"""Creating or updating an object, whichever is needed (controller-runtime: pkg/controller/controllerutil)."""

import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal, Protocol

from controllerlib.client.difference import is_equal, merge_patch
from controllerlib.client.errors import is_not_found
from controllerlib.client.names import Object, copy_json, object_name

OperationResult = Literal["unchanged", "created", "updated", "updatedStatus", "updatedStatusOnly"]
"""Completes the sentence "Deployment default/foo has been ..."."""

Mutate = Callable[[Object], Awaitable[Object | None] | Object | None]
"""Sets the desired state of an object: returns another object, or None if it modified its argument."""


class ObjectWriter(Protocol):
    """The methods of Client that are needed here."""

    async def get(self, api_version: str, kind: str, name: str, namespace: str | None = None) -> Object: ...
    async def create(self, obj: Any) -> Object: ...
    async def update(self, obj: Any) -> Object: ...
    async def patch(self, target: Any, patch: Any) -> Object: ...
    async def patch_status(self, target: Any, patch: Any) -> Object: ...


async def create_or_update(client: ObjectWriter, obj: Object, mutate: Mutate) -> OperationResult:
    """Create `obj`, or update it if `mutate` changes it; return "created", "updated" or "unchanged".

    `obj` identifies the object. It is overwritten with the stored object, passed to `mutate`, and overwritten with the
    answer of the write. A status set by `mutate` is not written if the kind has a status subresource. Raises ApiError
    (including Conflict, without a retry), the exceptions of `mutate`, and ValueError if `mutate` changes name or
    namespace; in these cases nothing is written.
    """
    if not await _read(client, obj):
        await _mutate(mutate, obj)
        _overwrite(obj, await client.create(obj))
        return "created"
    before = copy_json(obj)
    await _mutate(mutate, obj)
    if is_equal(before, obj):
        return "unchanged"
    _overwrite(obj, await client.update(obj))
    return "updated"


async def create_or_patch(client: ObjectWriter, obj: Object, mutate: Mutate) -> OperationResult:
    """As `create_or_update`, but with merge patches, one for the object and one for its status.

    Returns "created" (without the status, which cannot be created), "updated", "updatedStatus" (object and status),
    "updatedStatusOnly" or "unchanged".
    """
    if not await _read(client, obj):
        await _mutate(mutate, obj)
        _overwrite(obj, await client.create(obj))
        return "created"
    before = copy_json(obj)
    await _mutate(mutate, obj)
    after = copy_json(obj)
    result: OperationResult = "unchanged"
    if patch := merge_patch(_without_status(before), _without_status(after)):
        _overwrite(obj, await client.patch(before, patch))
        result = "updated"
    if patch := merge_patch({"status": before.get("status")}, {"status": after.get("status")}):
        _overwrite(obj, await client.patch_status(before, patch))
        result = "updatedStatus" if result == "updated" else "updatedStatusOnly"
    return result


async def _read(client: ObjectWriter, obj: Object) -> bool:
    """Overwrite `obj` with the stored object; return False if there is none."""
    where = object_name(obj)
    try:
        found = await client.get(obj["apiVersion"], obj["kind"], where.name, where.namespace or None)
    except Exception as error:
        if not is_not_found(error):
            raise
        return False
    _overwrite(obj, found)
    return True


async def _mutate(mutate: Mutate, obj: Object) -> None:
    name = object_name(obj)
    answer = mutate(obj)
    changed = await answer if inspect.isawaitable(answer) else answer
    if changed is not None and changed is not obj:
        _overwrite(obj, changed)
    if object_name(obj) != name:
        raise ValueError("MutateFn cannot mutate object name and/or object namespace")


def _overwrite(obj: Object, other: Mapping[str, Any]) -> None:
    """Overwrite the caller's object in place, as the Go functions do."""
    other = dict(other)
    obj.clear()
    obj.update(other)


def _without_status(obj: Mapping[str, Any]) -> Mapping[str, Any]:
    return {key: value for key, value in obj.items() if key != "status"}
