"""Creates a server in its initial state: with the built-in resources and the objects that always exist."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import cache, lru_cache
from typing import Any

from fakekube import data
from fakekube.apiserver import versions
from fakekube.apiserver.admission import enablement
from fakekube.apiserver.apiserver import ApiServer
from fakekube.apiserver.auth.authorizer import Authorizer, authorizer_of, parse_modes
from fakekube.apiserver.auth.jsonwebtoken import KeySet, derived_key
from fakekube.apiserver.auth.serviceaccounttoken import Issuer
from fakekube.apiserver.catalog import Catalog, builtin_resources
from fakekube.apiserver.features import RECORDED, features_of
from fakekube.apiserver.registry.core.service.ranges import parse_ranges
from fakekube.apiserver.resource import Resource
from fakekube.apiserver.schema.builtinschemas import BuiltinSchemas, minors, number
from fakekube.apiserver.storage.store import Store
from fakekube.server import initialobjects
from fakekube.server.initialobjects import ClusterOptions
from fakekube.server.random import Random

Object = dict[str, Any]

KUBERNETES_VERSION = RECORDED
#: The first version whose `/version` shows the emulated version.
EMULATION_SHOWN = (1, 33)
DISCOVERY = "discovery-v1.36.json"


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
def _catalog(version: str) -> Catalog:
    return Catalog(_resources(version))


@cache
def _schemas(version: str) -> BuiltinSchemas:
    return BuiltinSchemas(data.load("schemas.json"), version)


@lru_cache(maxsize=8)
def _shared_store(version: str, rbac: bool, options: ClusterOptions, now: str) -> Store:
    """The initial store of servers with fixed uids, which copy it."""
    return initialobjects.store(_resources(version), options, now, initialobjects.fixed_uid, rbac=rbac)


@cache
def test_issuer() -> Issuer:
    """An issuer with the derived key: signatures are the same in each run, and no primes have to be found."""
    return Issuer(KeySet(derived_key))


@cache
def _authorizer(modes: str) -> Authorizer:
    """The authorizer of `--authorization-mode`. Raises ValueError."""
    named = (
        one
        for one in initialobjects.recorded()
        if (one["kind"], one["metadata"]["name"]) == ("ClusterRole", "system:node")
    )
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
    feature_gates: Mapping[str, bool] | None = None,
    options: ClusterOptions = initialobjects.DEFAULT,
    fixed_uids: bool = False,
) -> ApiServer:
    """A new server of a Kubernetes version; with RBAC it has the bootstrap roles. Raises UnknownVersion, RefusedGates,
    ValueError.

    `issuer`: of service account tokens; by default one with the public test key. `fixed_uids`: the initial objects have
    the same uids for every `random`, so that servers of a process share them.
    """
    version = version_of(version)
    authorizer = _authorizer(authorization_mode)
    resources, rbac = _resources(version), "RBAC" in authorizer.modes
    stamp = now.strftime("%Y-%m-%dT%H:%M:%SZ")
    if fixed_uids:
        store = _shared_store(version, rbac, options, stamp).copy(history_window)
    else:
        store = initialobjects.store(resources, options, stamp, random.uid, rbac=rbac).copy(history_window)
    return ApiServer(
        catalog=_catalog(version).copy(),
        store=store,
        version=version_info(version),
        schemas=_schemas(version),
        issuer=issuer or test_issuer(),
        admission_plugins=admission_plugins,
        authorizer=authorizer,
        features=features_of(version, feature_gates),
        networks=parse_ranges(options.service_cluster_ip_range),
    )
