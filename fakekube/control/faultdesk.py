"""Faults, held watches, and what happens to the server and its connections."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fakekube.apiserver.faults import FaultRule
from fakekube.apiserver.wire.status import StatusError
from fakekube.control.operation import operation
from fakekube.control.requestfields import Schema, camel, of_options, snake
from fakekube.control.requestfields import arguments as checked
from fakekube.control.steering import Steering
from fakekube.harness import arguments
from fakekube.harness.faultinjection.watchhold import Hold
from fakekube.harness.keywords import BodyFault, Fault, WatchFault, WebhookFault
from fakekube.virtualtime.durations import SECOND, Duration, microseconds

#: What a fault is about, and its fields. A function that is called before a request cannot be sent.
KINDS: Mapping[str, Mapping[str, Schema]] = {
    "requests": of_options(Fault, without=["before"]),
    "watches": of_options(WatchFault),
    "bodies": of_options(BodyFault),
    "webhooks": {"webhook": {"type": "string"}, **of_options(WebhookFault)},
}

FAULT: Mapping[str, Schema] = {
    "on": {"type": "string", "enum": list(KINDS), "description": "By default as the other fields say."},
    **{name: schema for fields in KINDS.values() for name, schema in fields.items()},
}


@dataclass(frozen=True, slots=True)
class _Made:
    """A fault as it was asked for, and its rule."""

    asked: Mapping[str, Any]
    rule: FaultRule


def kind_of(fault: Mapping[str, Any]) -> str:
    """What a fault in snake_case is about, from its fields."""
    if "webhook" in fault:
        return "webhooks"
    if "body" in fault:
        return "bodies"
    return "watches" if {"cut_after", "cut_at", "hold_after", "gone_after"} & fault.keys() else "requests"


class FaultDesk:
    """As the desk `fakekube.faults` of a test. Faults last until they are deleted."""

    def __init__(self, steering: Steering) -> None:
        self._steering = steering
        self._numbers = itertools.count(1)
        self._faults: dict[str, _Made] = {}
        self._holds: dict[str, Hold] = {}
        self._again: asyncio.TimerHandle | None = None

    # --- faults

    @operation("POST", "/faults", fields=FAULT, code=201)
    def arm(self, fault: Mapping[str, Any]) -> Any:
        """Arm a fault: matching requests fail, wait or break, watches end or are late, bodies are damaged, or webhooks
        do not answer."""
        made = self._make(fault)
        name = str(next(self._numbers))
        self._faults[name] = made
        return self._shown(name, made)

    @operation("PUT", "/faults", fields={"faults": {"type": "array", "items": {"type": "object"}}})
    def replace(self, body: Mapping[str, Any]) -> Any:
        """Replace all faults; if one is refused, nothing changes."""
        asked = [checked("faults", one, FAULT) for one in body.get("faults", ())]
        made: list[_Made] = []
        try:
            made.extend(self._make(one) for one in asked)  # those before one that is refused are disarmed
        except (TypeError, ValueError):
            for refused in made:
                refused.rule.disarm()
            raise
        self.disarm_all()
        self._faults = {str(next(self._numbers)): one for one in made}
        return self.faults()

    @operation("GET", "/faults")
    def faults(self) -> Any:
        """The faults that are armed, with the numbers of requests that they matched (seen) and affected (hits)."""
        return {"items": [self._shown(name, made) for name, made in self._faults.items()]}

    @operation("GET", "/faults/{id}")
    def fault(self, id: str) -> Any:
        """One fault."""
        return self._shown(id, self._found(id))

    @operation("DELETE", "/faults/{id}", code=204)
    def disarm(self, id: str) -> None:
        """Disarm a fault."""
        self._found(id).rule.disarm()
        del self._faults[id]

    @operation("DELETE", "/faults", code=204)
    def disarm_all(self) -> None:
        """Disarm all faults."""
        for made in self._faults.values():
            made.rule.disarm()
        self._faults.clear()

    def _make(self, fault: Mapping[str, Any]) -> _Made:
        on = fault.get("on") or kind_of(fault)
        options: Any = {name: value for name, value in fault.items() if name != "on"}
        allowed = {snake(name) for name in KINDS[on]}
        if wrong := sorted(map(camel, options.keys() - allowed)):
            raise ValueError(f"{wrong[0]} is no field of a fault of {on} (accepted: {', '.join(KINDS[on])})")
        rules = self._steering.rules
        if on == "webhooks":
            webhook = options.pop("webhook", "*")
            return _Made(fault, rules.of_webhooks(webhook, options))
        make: Any = {"requests": rules.of_requests, "watches": rules.of_watches, "bodies": rules.of_bodies}[on]
        return _Made(fault, make(options))

    def _found(self, name: str) -> _Made:
        found = self._faults.get(name)
        if found is None:
            raise StatusError(404, "NotFound", f"there is no fault {name!r}")
        return found

    @staticmethod
    def _shown(name: str, made: _Made) -> Any:
        rule = {camel(key): value for key, value in made.asked.items()}
        return {"id": name, **rule, "seen": made.rule.seen, "hits": made.rule.hits}

    # --- watches

    @operation("POST", "/holds", code=201)
    def hold(
        self, resource: str = "*", namespace: str = "*", user_agent: str = "*", at: int | str | None = None
    ) -> Any:
        """Hold watches: they deliver nothing after the resourceVersion `at` (default: the present one) until the hold
        is deleted."""
        steering = self._steering
        arguments.check_resource(resource, list(steering.runner.apiserver.catalog.resources()))
        name = str(next(self._numbers))
        self._holds[name] = steering.holds.hold(None, resource, namespace, user_agent, at)
        return self._held(name)

    @operation("GET", "/holds")
    def holds(self) -> Any:
        """The holds, with the number of watches that each has held (seen)."""
        return {"items": [self._held(name) for name in self._holds]}

    @operation("DELETE", "/holds/{id}", code=204)
    def release(self, id: str) -> None:
        """Let the watches of a hold deliver what they have missed."""
        hold = self._holds.pop(id, None)
        if hold is None:
            raise StatusError(404, "NotFound", f"there is no hold {id!r}")
        hold.release()
        self._steering.intercept()

    def _held(self, name: str) -> Any:
        one = self._holds[name]
        return {
            "id": name, "resource": one.resource, "namespace": one.namespace, "userAgent": one.user_agent,
            "at": str(one.at), "seen": one.seen,
        }  # fmt: skip

    # --- the server

    @operation("POST", "/compact", code=204)
    def compact(self) -> None:
        """Drop the history: watches that resume from an earlier resourceVersion get 410 Gone."""
        self._steering.runner.apiserver.store.compact()

    @operation("POST", "/server:down", fields={"for": {"anyOf": [{"type": "number"}, {"type": "string"}]}}, code=204)
    def down(self, body: Mapping[str, Any]) -> None:
        """Stop the server for a time, or until `/server:restart`: connections break and are refused, objects stay. The
        control API goes on."""
        length = microseconds(body["for"]) / SECOND if "for" in body else None
        self._stop()
        if length is not None:
            self._again = asyncio.get_running_loop().call_later(length, self._start)

    @operation("POST", "/server:restart", code=204)
    def restart(self) -> None:
        """Restart the server: connections break; watches that resume from before get 410, as its watch cache is
        empty."""
        self._stop()
        self._start()

    def _stop(self) -> None:
        if self._again is not None:
            self._again.cancel()
            self._again = None
        self._steering.runner.stop_serving()
        self._steering.running.server.abort_connections()

    def _start(self) -> None:
        self._again = None
        self._steering.runner.serve_again()

    @operation("POST", "/connections:cut")
    def cut(self, user_agent: str = "*") -> Any:
        """Break the connections of clients whose last request had this User-Agent (a shell pattern)."""
        return {"cut": self._steering.running.server.abort_connections(user_agent)}

    @operation("POST", "/watches:cut", code=204)
    def cut_watches(self) -> None:
        """End every open watch, as a restart of the server does; clients may watch again."""
        self._steering.runner.end_watches()

    def reset(self) -> None:
        """Arm nothing, hold nothing, and serve."""
        self.disarm_all()
        for name in list(self._holds):
            self.release(name)
        if self._steering.runner.is_down:
            self._start()


def seconds_of(duration: Duration) -> float:
    """The seconds of a duration. Raises TypeError, ValueError."""
    return microseconds(duration) / SECOND
