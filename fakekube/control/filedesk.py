"""The state of the cluster in files."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.schema.wrongtype import WrongType
from fakekube.apiserver.wire.status import StatusError
from fakekube.control import statefile
from fakekube.control.operation import operation
from fakekube.control.restoring import Restorer
from fakekube.control.steering import Steering
from fakekube.server.controldoor import Answered

#: The most problems that a refused file is answered with.
SHOWN = 10


class FileDesk:
    """As `fakekube.state.export` and `load` of a test, and the whole state with all that servers set."""

    def __init__(self, steering: Steering) -> None:
        self._steering = steering
        self._restorer = Restorer(steering)

    @operation("GET", "/state", content_type="application/x-ndjson")
    def save(self) -> Any:
        """The whole state, a line of JSON for each object, without Events and Leases."""
        return Answered(200, statefile.saved(self._steering.runner.apiserver), "application/x-ndjson")

    @operation("GET", "/state.yaml", content_type="application/yaml")
    def export(self, clean: bool = False) -> Any:
        """The objects that have changed since the start, as YAML for any cluster; `clean`: without status, and without
        what servers set and allocate."""
        server, initial = self._steering.runner.apiserver, self._steering.initial.store
        return Answered(200, statefile.exported(server, initial, clean=clean).encode(), "application/yaml")

    @operation("PUT", "/state")
    async def load(self, text: str) -> Any:
        """Return to the state of a file, the `text` of what `GET /state` has answered, or of YAML: uids and statuses
        are kept, every watch ends, and objects that it does not have are gone. If an object cannot be stored, the state
        stays as it was."""
        runner = self._steering.runner
        try:
            objects = statefile.parsed(text)
        except statefile.BadFile as problem:
            raise ValueError(str(problem)) from None
        wanted = statefile.places(runner.apiserver, objects)
        before = runner.apiserver.save()
        await self._restorer.restore(statefile.pruned(self._steering.initial, wanted))
        problems = [said for obj in objects if (said := self._stored(obj))]
        if problems:
            await self._restorer.restore(before)
            count = f"{len(problems)} of {len(objects)} objects cannot be stored"
            first = "; ".join(problems[:SHOWN])
            raise StatusError(422, "Invalid", f"the state is as it was, since {count}: {first}")
        self._steering.note(f"loads the state of a file with {len(objects)} objects")
        return {"objects": len(objects), "revision": str(runner.apiserver.store.revision)}

    def _stored(self, obj: dict[str, Any]) -> str:
        """Store an object as it is; why that is not possible."""
        runner = self._steering.runner
        name = f"{obj['kind']}/{(obj.get('metadata') or {}).get('name', '')}"
        resource = runner.apiserver.catalog.find_kind(obj["apiVersion"], obj["kind"])
        if resource is None:
            return f"{name}: the cluster has no kind {obj['kind']!r} in {obj['apiVersion']!r}"
        if name.endswith("/"):
            return f"{name}: it has no name"
        try:
            runner.write_unchecked(resource, obj)
        except (WrongType, StatusError) as problem:
            return f"{name}: {problem}"
        return ""
