"""Detects requests that an operator is not allowed to make."""

from __future__ import annotations

from collections.abc import Mapping

from fakekube.apiserver.auth.rbac import GROUP
from fakekube.apiserver.auth.serviceaccount import user_name, user_named
from fakekube.apiserver.storage.store import Store
from fakekube.harness.accessreport import report
from fakekube.harness.detectors.detector import COMPONENTS, Exchange, Scene
from fakekube.harness.detectors.levels import Level


class MissingPermissions:
    """Requests of operators that were denied, other than by a fault or by admission.

    Where access is not checked: requests of users that are bound to roles, which these do not grant. Not reported:
    those of controllers whose errors the test reads, and of users whose permissions it has compared.
    """

    levels: Mapping[str, Level] = {"missing-permission": "warn"}

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
        apiserver = self._scene.runner.apiserver
        if "RBAC" not in apiserver.authorizer.modes:
            for name in sorted(_bound(self._scene.store) - inspected):
                self._compare(name)

    def _compare(self, name: str) -> None:
        """Compare what a user did with its roles."""
        own = [one for one in self._scene.runner.log if one.user == name]
        if not own:
            return
        for access in report(self._scene.store, own, user_named(name)).missing:
            self._scene.report(
                "missing-permission",
                f"{name} needs to {access}: it is bound to roles, and none grants that (access is not checked in this "
                "test, which rbac=True changes)",
                who=own[0].user_agent or name,
            )


def _bound(store: Store) -> set[str]:
    """The users that bindings name, apart from the cluster's own."""
    found = set()
    for kind in ("rolebindings", "clusterrolebindings"):
        for entry in store.collection(f"{kind}.{GROUP}").live.values():
            for subject in entry.object.get("subjects") or ():
                if subject["kind"] == "ServiceAccount":
                    found.add(user_name(subject.get("namespace", ""), subject["name"]))
                elif subject["kind"] == "User":
                    found.add(subject["name"])
    return {one for one in found if not one.startswith(COMPONENTS)}


DETECTORS = (MissingPermissions,)
