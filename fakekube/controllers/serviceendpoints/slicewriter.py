"""Writing EndpointSlices for a controller (`reconciler.finalize`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controllerlib import ApiError, Client
from fakekube.controllers.serviceendpoints.slices import SliceChanges
from fakekube.controllers.serviceendpoints.slicetracker import SliceTracker
from fakekube.controllers.workload.podcontrol import is_namespace_terminating

Object = Mapping[str, Any]


class CannotWriteSlices(Exception):
    """A slice could not be written; the message names it."""


class SliceWriter:
    """Creates, updates and deletes slices, and notes what was written. `what`: the kind of the owner, in messages."""

    def __init__(self, client: Client, tracker: SliceTracker, what: str) -> None:
        self._client, self._tracker, self._what = client, tracker, what

    async def write(self, owner: Object, changes: SliceChanges) -> None:
        """Write changes. Raises CannotWriteSlices for the first failure."""
        meta = owner["metadata"]
        whose = f"EndpointSlice for {self._what} {meta['namespace']}/{meta['name']}"
        if not meta.get("deletionTimestamp"):
            for one in changes.create:
                try:
                    self._tracker.wrote(await self._client.create(one))
                except ApiError as error:
                    if is_namespace_terminating(error):
                        return
                    raise CannotWriteSlices(f"failed to create {whose}: {error.message}") from error
        for one in changes.update:
            try:
                self._tracker.wrote(await self._client.update(one))
            except ApiError as error:
                name = one["metadata"]["name"]
                raise CannotWriteSlices(f"failed to update {name} {whose}: {error.message}") from error
        for gone in changes.delete:
            try:
                await self._client.delete(gone)
            except ApiError as error:
                name = gone["metadata"]["name"]
                raise CannotWriteSlices(f"failed to delete {name} {whose}: {error.message}") from error
            self._tracker.expect_deletion(gone)
