"""A server as it is right after its first start: the built-in resources, and the objects that always exist."""

from __future__ import annotations

from datetime import datetime
from functools import cache
from typing import Any

from fakekube import data
from fakekube.chance import Chance
from fakekube.core import rbac
from fakekube.core.apiserver import AUTHORIZERS, ApiServer
from fakekube.core.discovery import Catalog, builtin_resources
from fakekube.core.kinds.cluster import prepare_namespace
from fakekube.core.resource import Resource
from fakekube.core.schema.builtin import BuiltinSchemas
from fakekube.core.store import Store, path_of

Object = dict[str, Any]

KUBERNETES_VERSION = "1.36"
DISCOVERY, BOOTSTRAP = "discovery-v1.36.json", "bootstrap-v1.36.json"


@cache
def _resources() -> tuple[Resource, ...]:
    return tuple(builtin_resources(data.load(DISCOVERY)))


@cache
def _schemas() -> BuiltinSchemas:
    return BuiltinSchemas(data.load("schemas.json"), KUBERNETES_VERSION)


@cache
def _objects() -> tuple[Object, ...]:
    return tuple(data.load(BOOTSTRAP)["objects"])


def version_info() -> Object:
    """What `/version` says."""
    major, minor = KUBERNETES_VERSION.split(".")
    return {
        "major": major,
        "minor": minor,
        "emulationMajor": major,
        "emulationMinor": minor,
        "minCompatibilityMajor": major,
        "minCompatibilityMinor": str(int(minor) - 1),
        "gitVersion": f"v{KUBERNETES_VERSION}.2+fakekube",
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "2026-01-01T00:00:00Z",
        "goVersion": "none",
        "compiler": "CPython",
        "platform": "any/any",
    }


def api_server(
    now: datetime, chance: Chance, *, authorization_mode: str = "AlwaysAllow", history_window: int = 20_000
) -> ApiServer:
    """A fresh server. With RBAC it has the bootstrap roles, otherwise just the namespaces."""
    catalog = Catalog()
    for resource in _resources():
        catalog.add(resource)
    server = ApiServer(
        catalog=catalog,
        store=Store(history_window),
        version=version_info(),
        schemas=_schemas(),
        authorizer=AUTHORIZERS[authorization_mode],
    )
    stamp = now.strftime("%Y-%m-%dT%H:%M:%SZ")
    kinds = {(r.api_version, r.kind): r for r in _resources()}
    for recorded in _objects():
        resource = kinds[recorded["apiVersion"], recorded["kind"]]
        wanted = resource.group == rbac.GROUP and authorization_mode == "RBAC"
        if resource.kind == "Namespace" or wanted:
            restore(server, resource, recorded, stamp, chance)
    return server


def restore(server: ApiServer, resource: Resource, recorded: Object, now: str, chance: Chance) -> None:
    """Store a recorded object as if it had just been created."""
    given = recorded["metadata"]
    path = path_of(given.get("namespace", ""), given["name"])
    meta = {**given, "uid": chance.uid(f"{resource.collection}/{path}"), "creationTimestamp": now}
    obj: Object = {"metadata": meta}
    obj.update((key, value) for key, value in recorded.items() if key not in ("apiVersion", "kind", "metadata"))
    if resource.kind == "Namespace":
        obj = prepare_namespace(obj)
    server.restore(resource.collection, path, obj)
