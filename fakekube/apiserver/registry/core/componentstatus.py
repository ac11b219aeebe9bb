"""ComponentStatus."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import NAME, Printer, columns, name_of

Object = dict[str, Any]


def _component(name: str, status: str, message: str) -> Object:
    return {"metadata": {"name": name}, "conditions": [{"type": "Healthy", "status": status, "message": message}]}


def _unreachable(port: int) -> str:
    address = f"127.0.0.1:{port}"
    return f'Get "https://{address}/healthz": dial tcp {address}: connect: connection refused'


#: The components. The scheduler and the controller manager are no part of the server, which does not look for them.
COMPONENTS = (
    _component("scheduler", "False", _unreachable(10259)),
    _component("controller-manager", "False", _unreachable(10257)),
    _component("etcd-0", "True", "ok"),
)


def _component_status(obj: Object, ages: Ages) -> list[Any]:
    healthy: Object = next((one for one in obj.get("conditions") or () if one.get("type") == "Healthy"), {})
    state = "Unknown" if not healthy else "Healthy" if healthy.get("status") == "True" else "Unhealthy"
    return [name_of(obj), state, healthy.get("message") or "", healthy.get("error") or ""]


KIND = Kind(
    "componentstatuses",
    printer=Printer(columns(NAME, "Status", "Message", "Error"), _component_status),
)
