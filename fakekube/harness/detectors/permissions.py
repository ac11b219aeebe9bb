"""Detects requests that an operator is not allowed to make."""

from __future__ import annotations

from fakekube.harness.detectors.detector import Exchange, Scene

VERBS = frozenset({"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"})


class MissingPermissions:
    """Requests of operators that were denied, other than by a fault or by admission."""

    names = ("missing-permission",)
    verbs = VERBS

    def __init__(self, scene: Scene) -> None:
        self._scene = scene

    def answered(self, exchange: Exchange) -> None:
        record = exchange.record
        if record.code != 403:
            return
        body = exchange.response.body.to_object() if exchange.response.body is not None else None
        message = body.get("message", "") if isinstance(body, dict) else ""
        if f'User "{record.user}" cannot' in message:
            what = f"{record.resource}/{record.subresource}" if record.subresource else record.resource
            group = f" of {record.group}" if record.group else ""
            self._scene.report(
                "missing-permission",
                f"{record.user} may not {record.verb} {what}{group}: no role grants it",
                who=exchange.who,
                key=(record.user, record.verb, record.group, what),
            )

    def finish(self) -> None:
        """Nothing is left to report."""
