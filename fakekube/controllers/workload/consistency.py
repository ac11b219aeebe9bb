"""Waiting until the informers have seen what a controller has written (`pkg/controller/util/consistency`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controllerlib import Request
from fakekube.controllers.lister import CachedKind, StaleCache
from fakekube.struct import Struct, field

Object = Mapping[str, Any]


class _Written(Struct):
    uid: str
    #: The latest resourceVersion that was written of each kind.
    versions: dict[CachedKind, int] = field(default_factory=dict)


class ConsistencyStore:
    """The resourceVersions that a controller has written, by the object that it reconciled.

    Source: kubernetes, consistency.RealConsistencyStore.
    """

    def __init__(self) -> None:
        self._written: dict[Request, _Written] = {}

    def wrote(self, owner: Object, kind: CachedKind, stored: Object) -> None:
        """Note that `stored`, an object of `kind`, was written while `owner` was reconciled."""
        request, uid = Request.of(owner), owner["metadata"]["uid"]
        written = self._written.get(request)
        if written is None or written.uid != uid:
            written = self._written[request] = _Written(uid)
        version = int(stored["metadata"].get("resourceVersion") or 0)
        written.versions[kind] = max(version, written.versions.get(kind, 0))

    def check(self, request: Request) -> None:
        """Raises StaleCache if an informer is older than what was written."""
        written = self._written.get(request)
        if written is None:
            return
        for kind, version in written.versions.items():
            read = kind.resource_version
            if read and int(read) < version:
                raise StaleCache(
                    f"read version: {read} is not as new as written version: {version} for {kind.kind} objects"
                )
        del self._written[request]

    def forget(self, request: Request) -> None:
        """Forget what was written while an object was reconciled, which is gone."""
        self._written.pop(request, None)
