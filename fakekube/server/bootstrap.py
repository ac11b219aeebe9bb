"""Creates a server in its initial state: with the built-in resources and the objects that always exist."""

from __future__ import annotations

from datetime import datetime
from functools import cache, partial
from typing import Any

from fakekube import data
from fakekube.apiserver import versions
from fakekube.apiserver.admission import enablement
from fakekube.apiserver.apiserver import ApiServer
from fakekube.apiserver.auth import rbac
from fakekube.apiserver.auth.authorizer import Authorizer, authorizer_of, parse_modes
from fakekube.apiserver.auth.jsonwebtoken import KeySet
from fakekube.apiserver.auth.serviceaccounttoken import Issuer
from fakekube.apiserver.catalog import Catalog, builtin_resources
from fakekube.apiserver.registry.core.namespace import prepare_namespace
from fakekube.apiserver.resource import Resource
from fakekube.apiserver.schema.builtinschemas import BuiltinSchemas, minors, number
from fakekube.apiserver.storage.store import Store, path_of
from fakekube.server.random import Random

Object = dict[str, Any]

KUBERNETES_VERSION = versions.RECORDED
#: The first version whose `/version` shows the emulated version.
EMULATION_SHOWN = (1, 33)
DISCOVERY, BOOTSTRAP = "discovery-v1.36.json", "bootstrap-v1.36.json"


@cache
def known_versions() -> tuple[str, ...]:
    """The minor versions that can be served, oldest first."""
    return tuple(minors(data.load("schemas.json")))


def version_of(text: str) -> str:
    """Parses a minor version (`1.31`, `v1.31.4`). Raises UnknownVersion, a ValueError."""
    return versions.minor_of(text, known_versions())


@cache
def _resources(version: str) -> tuple[Resource, ...]:
    return tuple(versions.resources(builtin_resources(data.load(DISCOVERY)), _schemas(version)))


@cache
def _schemas(version: str) -> BuiltinSchemas:
    return BuiltinSchemas(data.load("schemas.json"), version)


@cache
def _objects() -> tuple[Object, ...]:
    return tuple(data.load(BOOTSTRAP)["objects"])


@cache
def test_issuer() -> Issuer:
    """An issuer whose key is part of this package: signatures are the same in each run, and making it takes no time."""
    return Issuer(KeySet(partial(data.read, "service-account-test-key.pem")))


@cache
def _authorizer(modes: str) -> Authorizer:
    """The authorizer of `--authorization-mode`. Raises ValueError."""
    named = (one for one in _objects() if (one["kind"], one["metadata"]["name"]) == ("ClusterRole", "system:node"))
    return authorizer_of(parse_modes(modes), next(named)["rules"])


def version_info(version: str = KUBERNETES_VERSION) -> Object:
    """The answer of `/version`."""
    major, minor = version.split(".")
    emulated = {
        "emulationMajor": major,
        "emulationMinor": minor,
        "minCompatibilityMajor": major,
        "minCompatibilityMinor": str(int(minor) - 1),
    }
    return {
        "major": major,
        "minor": minor,
        **(emulated if number(version) >= EMULATION_SHOWN else {}),
        "gitVersion": f"v{version}.{2 if version == KUBERNETES_VERSION else 0}+fakekube",
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "2026-01-01T00:00:00Z",
        "goVersion": "none",
        "compiler": "CPython",
        "platform": "any/any",
    }


def api_server(
    now: datetime,
    random: Random,
    *,
    authorization_mode: str = "AlwaysAllow",
    history_window: int = 20_000,
    version: str = KUBERNETES_VERSION,
    issuer: Issuer | None = None,
    admission_plugins: frozenset[str] = enablement.DEFAULT,
) -> ApiServer:
    """A new server of a Kubernetes version; with RBAC it has the bootstrap roles. Raises UnknownVersion, ValueError.

    `issuer`: of service account tokens; by default one with the public test key.
    """
    version = version_of(version)
    authorizer = _authorizer(authorization_mode)
    catalog = Catalog(_resources(version))
    server = ApiServer(
        catalog=catalog,
        store=Store(history_window),
        version=version_info(version),
        schemas=_schemas(version),
        issuer=issuer or test_issuer(),
        admission_plugins=admission_plugins,
        authorizer=authorizer,
    )
    stamp = now.strftime("%Y-%m-%dT%H:%M:%SZ")
    kinds = {(r.api_version, r.kind): r for r in _resources(version)}
    for recorded in _objects():
        found = kinds.get((recorded["apiVersion"], recorded["kind"]))
        if found is None:
            continue  # this version does not have the kind
        if found.group != rbac.GROUP or "RBAC" in authorizer.modes:
            restore(server, found, recorded, stamp, random)
    return server


def restore(server: ApiServer, resource: Resource, recorded: Object, now: str, random: Random) -> None:
    """Store a recorded object as if it had just been created."""
    given = recorded["metadata"]
    path = path_of(given.get("namespace", ""), given["name"])
    meta = {**given, "uid": random.uid(f"{resource.collection}/{path}"), "creationTimestamp": now}
    obj: Object = {"metadata": meta}
    obj.update((key, value) for key, value in recorded.items() if key not in ("apiVersion", "kind", "metadata"))
    if resource.kind == "Namespace":
        obj = prepare_namespace(obj)
    server.restore(resource.collection, path, obj)
