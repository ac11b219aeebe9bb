"""PersistentVolumeClaim: a request for storage."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.registry.core.persistentvolumeclaim import validation
from fakekube.apiserver.registry.core.persistentvolumeclaim.table import PRINTER
from fakekube.apiserver.registry.core.persistentvolumeclaim.warnings import claim_warnings
from fakekube.apiserver.registry.core.pod.defaults import round_up_all
from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.validation.field import update_validator, validator

Object = dict[str, Any]


def default_claim(obj: Object) -> None:
    spec = obj.setdefault("spec", {})
    spec.setdefault("volumeMode", "Filesystem")
    round_up_all(spec.get("resources") or {}, ("limits", "requests"))
    round_up_all(obj.get("status") or {}, ("capacity", "allocatedResources"))


#: The kinds that the older of the two fields for a source can name: (group, kind).
OLD_SOURCES = (("", "PersistentVolumeClaim"), ("snapshot.storage.k8s.io", "VolumeSnapshot"))


def _one_source(spec: Object, *, keeps: bool) -> Object:
    """Makes dataSource and dataSourceRef equal, and drops from the older one what only the newer one can name
    (`NormalizeDataSources`, `EnforceDataSourceBackwardsCompatibility`). A reference into another namespace is an alpha
    feature and is dropped."""
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is None and reference is None:
        return spec
    kept = {key: value for key, value in spec.items() if key not in ("dataSource", "dataSourceRef")}
    if reference is not None and reference.get("namespace"):
        reference = None
    if source is not None and not keeps:
        named = (source.get("apiGroup") or "", source.get("kind") or "")
        source = source if named in OLD_SOURCES else None
    one = source if source is not None else reference
    if one is None:
        return kept
    return {**kept, "dataSource": source or dict(one), "dataSourceRef": reference or dict(one)}


def prepare_claim(obj: Object) -> Object:
    return {**obj, "spec": _one_source(obj.get("spec") or {}, keeps=False)}


def prepare_claim_update(new: Object, old: Object) -> Object:
    before = old.get("spec") or {}
    if before.get("volumeName"):
        return new
    keeps = before.get("dataSource") is not None or before.get("dataSourceRef") is not None
    return {**new, "spec": _one_source(new.get("spec") or {}, keeps=keeps)}


KIND = Kind(
    "persistentvolumeclaims",
    Strategy(
        default=default_claim,
        returns_deleted=True,
        default_status={"phase": "Pending"},
        prepare_create=prepare_claim,
        prepare_update=prepare_claim_update,
        validate=validator(validation.validate),
        validate_update=update_validator(validation.validate_update),
        validate_status_update=update_validator(validation.validate_status_update),
        warnings=claim_warnings,
    ),
    printer=PRINTER,
)
