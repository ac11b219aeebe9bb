"""Detects requests that an operator is not allowed to make."""

from __future__ import annotations

from fakekube.harness.detectors.detector import Exchange, Scene


class MissingPermissions:
    """Requests of operators that were denied, other than by a fault or by admission.

    Not reported: those of controllers whose errors the test reads, and of users whose permissions it has compared.
    """

    names = ("missing-permission",)

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._denied: list[tuple[Exchange, str]] = []

    def denied(self, exchange: Exchange) -> None:
        record = exchange.record
        body = exchange.response.body.to_object() if exchange.response.body is not None else None
        message = body.get("message", "") if isinstance(body, dict) else ""
        if f'User "{record.user}" cannot' in message:
            self._denied.append((exchange, exchange.doing.inspected_as if exchange.doing is not None else ""))

    def finish(self) -> None:
        inspected = self._scene.inspected()
        for exchange, controller in self._denied:
            record = exchange.record
            if controller in inspected or record.user in inspected:
                continue
            what = f"{record.resource}/{record.subresource}" if record.subresource else record.resource
            group = f" of {record.group}" if record.group else ""
            self._scene.report(
                "missing-permission",
                f"{record.user} may not {record.verb} {what}{group}: no role grants it",
                who=exchange.who,
                key=(record.user, record.verb, record.group, what),
            )
