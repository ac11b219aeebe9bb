"""Runs scenarios on a server, one or several at a time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Any

import orjson

from tests.differential.scenario import Name, Object, Scenario, Step, filled, lookup, namespace
from tests.differential.servers import Answer, Sent, Server

#: Seconds after which a server that waits must have put into effect what was written.
LIMIT = 10.0
INTERVAL = 0.1


async def answers(server: Server, name: Name, scenario: Scenario) -> list[tuple[Sent, Answer]]:
    """The requests of a scenario as they were sent, with their answers. Afterwards its objects are deleted."""
    variables: Object = {"ns": name.namespace}
    found: list[tuple[Sent, Answer]] = []
    refused = False
    try:
        for step in (namespace(name.namespace), *scenario.steps):
            sent = _sent(step, variables)
            answer = await _answered(server, step, sent, refused)
            if step.method != "GET" and not step.until:
                refused = answer.status >= 400
            for variable, path in step.save.items():
                value = lookup(answer.body, path)
                variables[variable] = "unknown" if value is None else value
            if step.compared:
                found.append((sent, answer))
    finally:
        for path in scenario.cleanup:
            await server.send(_sent(Step("DELETE", path), variables))
    return found


async def send(server: Server, step: Step) -> Answer:
    """The answer of a request outside of scenarios."""
    return await server.send(_sent(step, {}))


async def _answered(server: Server, step: Step, sent: Sent, refused: bool) -> Answer:
    """The answer of a step. refused: the last write was refused, so that waiting for it has no end."""
    if step.watch:
        return await server.watch(sent)
    answer = await server.send(sent)
    if not (step.until and server.waits) or refused:
        return answer
    end = time.monotonic() + LIMIT
    while not _reached(step.until, answer) and time.monotonic() < end:
        await asyncio.sleep(INTERVAL)
        answer = await server.send(sent)
    return answer


def _reached(until: int | str, answer: Answer) -> bool:
    return answer.status == until if isinstance(until, int) else lookup(answer.body, until) is not None


def _sent(step: Step, variables: Object) -> Sent:
    headers = dict(step.headers)
    body = b""
    if step.body is not None:
        headers.setdefault("Content-Type", "application/json")
        body = _encoded(filled(step.body, variables))
    query = tuple((name, str(filled(value, variables))) for name, value in step.query)
    return Sent(step.method, filled(step.path, variables), query, headers, body)


def _encoded(body: Any) -> bytes:
    if isinstance(body, bytes):
        return body
    return body.encode() if isinstance(body, str) else orjson.dumps(body)


def compared_steps(scenario: Scenario) -> Sequence[Step]:
    return [step for step in scenario.steps if step.compared]
