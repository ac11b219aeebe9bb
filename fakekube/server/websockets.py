"""Sessions over WebSockets: commands, attached containers and forwarded ports."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from aiohttp import WSMessage, WSMsgType, web

from fakekube.apiserver.response import Upgrade


async def web_socket(
    http: web.BaseRequest, upgrade: Upgrade, silence: Callable[[float], Coroutine[Any, Any, None]]
) -> web.StreamResponse:
    """Pass messages between a WebSocket and its session until one of them ends. `silence` waits for some seconds."""
    socket = web.WebSocketResponse(protocols=[upgrade.protocol] if upgrade.protocol else ())
    session = upgrade.session
    await socket.prepare(http)
    receiving = asyncio.create_task(socket.receive())
    try:
        answers = session.opened()
        while True:
            for message in answers:
                await socket.send_bytes(message)
            if session.done:
                break
            if not await _arrives(receiving, silence(session.silence) if session.silence else None):
                answers = session.silent()
                continue
            frame = receiving.result()
            if frame.type not in (WSMsgType.BINARY, WSMsgType.TEXT):
                break
            answers = session.received(frame.data if isinstance(frame.data, bytes) else frame.data.encode())
            receiving = asyncio.create_task(socket.receive())
        receiving.cancel()
        await asyncio.wait([receiving])
        await socket.close()
    except ConnectionError:
        pass  # the client has disconnected
    finally:
        receiving.cancel()
        session.left()
    return socket


async def _arrives(receiving: asyncio.Task[WSMessage], silence: Coroutine[Any, Any, None] | None) -> bool:
    """Wait for a message, or for the end of `silence`. A time-out of `WebSocketResponse.receive` would close it."""
    if silence is None:
        await asyncio.wait([receiving])
        return True
    waiting = asyncio.create_task(silence)
    try:
        await asyncio.wait([receiving, waiting], return_when=asyncio.FIRST_COMPLETED)
        return receiving.done()
    finally:
        waiting.cancel()
