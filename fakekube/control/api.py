"""The control API: finds the operation of a request, checks its fields, and answers with JSON or a Status."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from fakekube.apiserver.wire import codec
from fakekube.apiserver.wire.status import StatusError
from fakekube.control import apidocument
from fakekube.control.faultdesk import FaultDesk
from fakekube.control.filedesk import FileDesk
from fakekube.control.guard import Guard
from fakekube.control.objectdesk import ObjectDesk
from fakekube.control.operation import ROOT, Operation, operations_of
from fakekube.control.pagefiles import file_of
from fakekube.control.recorddesk import RecordDesk
from fakekube.control.requestfields import arguments, invalid, spoken
from fakekube.control.statedesk import StateDesk
from fakekube.control.steering import Steering
from fakekube.control.timedesk import TimeDesk
from fakekube.control.workloaddesk import WorkloadDesk
from fakekube.server.controldoor import PREFIX, Answered, Asked

log: logging.Logger = logging.getLogger(__name__)

#: The most bytes of the file of a state that is restored.
STATE_LIMIT = 512 * 1024 * 1024


class ControlApi:
    """Answers the requests for the control API of one server. Implements `controldoor.Control`."""

    def __init__(self, steering: Steering, guard: Guard) -> None:
        self._guard, self.steering = guard, steering
        self._faults = faults = FaultDesk(steering)
        records, workloads = RecordDesk(steering), WorkloadDesk(steering)
        state = StateDesk(steering, [faults.reset, records.reset, workloads.reset])
        self.desks = (TimeDesk(steering), faults, records, state, FileDesk(steering), workloads, ObjectDesk(steering))
        self.operations: list[Operation] = operations_of(self.desks)
        self._routes = [(one.pattern, one) for one in self.operations]

    def arm(self, faults: Sequence[Mapping[str, Any]]) -> None:
        """Replace all faults, as `PUT /faults`. Raises TypeError, ValueError, StatusError."""
        self._faults.replace({"faults": faults})

    def limit(self, asked: Asked) -> int:
        """The limit of the Kubernetes API, and a larger one for the file of a state that an admitted client sends."""
        if (asked.method, asked.path) != ("PUT", f"{ROOT}/state"):
            return codec.MAX_BODY
        try:
            self._guard.check(asked.method, asked.headers, asked.peer)
        except StatusError:
            return codec.MAX_BODY
        return STATE_LIMIT

    async def answer(self, asked: Asked) -> Answered:
        try:
            if asked.method in ("GET", "HEAD") and (file := file_of(asked.path)) is not None:
                return file
            self._guard.check(asked.method, asked.headers, asked.peer)
            return await self._answered(asked)
        except StatusError as error:
            return Answered(error.code, orjson.dumps(error.to_object()))
        except Exception as error:  # a request becomes a response, whatever happens
            log.error("control API: %s %s failed", asked.method, asked.path, exc_info=error)
            failed = StatusError(500, "InternalError", f"{type(error).__name__}: {error}")
            return Answered(500, orjson.dumps(failed.to_object()))

    async def _answered(self, asked: Asked) -> Answered:
        if asked.path == f"{PREFIX}openapi.json" and asked.method == "GET":
            version = self.steering.runner.apiserver.version["gitVersion"]
            return Answered(200, orjson.dumps(apidocument.document(self.operations, version)))
        operation, places = self._found(asked)
        given = _of_query(asked, operation) if operation.method == "GET" else _of_body(asked)
        options = arguments(asked.path.removeprefix(ROOT), given, operation.fields)
        if missing := [name for name in operation.required if name not in options]:
            raise invalid(f"{asked.path}: the field {missing[0]!r} is required")
        try:
            found = operation.call(options, **places) if operation.named else operation.call(**places, **options)
            if inspect.isawaitable(found):
                found = await found
        except (TypeError, ValueError) as problem:
            raise invalid(spoken(str(problem), operation.fields)) from None
        except LookupError as problem:
            text = str(problem.args[0]) if problem.args else str(problem)
            raise StatusError(404, "NotFound", spoken(text, operation.fields)) from None
        if isinstance(found, Answered):
            return found
        return Answered(operation.code, b"" if operation.code == 204 else orjson.dumps(found))

    def _found(self, asked: Asked) -> tuple[Operation, Mapping[str, str]]:
        """The operation of a request, and the parameters in its path. Raises 404, 405."""
        of_path = [(one, match) for pattern, one in self._routes if (match := pattern.fullmatch(asked.path))]
        for one, match in of_path:
            if one.method == asked.method:
                return one, match.groupdict()
        if of_path:
            allowed = ", ".join(dict.fromkeys(one.method for one, _ in of_path))
            raise StatusError(405, "MethodNotAllowed", f"{asked.path} takes {allowed}, not {asked.method}")
        raise StatusError(
            404, "NotFound", f"the control API has no {asked.path} ({PREFIX}openapi.json lists what it has)"
        )


def _of_body(asked: Asked) -> Mapping[str, Any]:
    """The fields of a body; none without one. Raises 400."""
    if not asked.body:
        return {}
    try:
        found = orjson.loads(asked.body)
    except orjson.JSONDecodeError as problem:
        raise invalid(f"the body is not JSON: {problem}") from None
    if not isinstance(found, dict):
        raise invalid("the body is not a JSON object")
    return found


def _of_query(asked: Asked, operation: Operation) -> Mapping[str, Any]:
    """The fields of a query, as their types are. Raises 400."""
    found: dict[str, Any] = {}
    for name, values in asked.query.items():
        kind = operation.fields.get(name, {}).get("type")
        found[name] = _as(kind, name, values[-1])
    return found


def _as(kind: str | None, name: str, text: str) -> Any:
    if kind == "boolean":
        return text not in ("", "0", "false")
    if kind in ("integer", "number"):
        try:
            return int(text) if kind == "integer" else float(text)
        except ValueError:
            raise invalid(f"{name}={text!r} is not a number") from None
    return text
