"""PersistentVolumeClaim: a request for storage."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.registry.core.persistentvolumeclaim import validation
from fakekube.apiserver.registry.core.persistentvolumeclaim.table import PRINTER
from fakekube.apiserver.registry.core.persistentvolumeclaim.warnings import claim_warnings
from fakekube.apiserver.registry.core.pod.defaults import round_up_all
from fakekube.apiserver.registry.generic.gatedfields import GatedFields
from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy, always
from fakekube.apiserver.registry.generic.validation.rules import update_validator, validator

Object = dict[str, Any]


def default_claim(obj: Object) -> None:
    spec = obj.setdefault("spec", {})
    spec.setdefault("volumeMode", "Filesystem")
    round_up_all(spec.get("resources") or {}, ("limits", "requests"))
    status = obj.setdefault("status", {})
    status["phase"] = status.get("phase") or "Pending"
    round_up_all(status, ("capacity", "allocatedResources"))


#: The kinds that the older of the two fields for a source can name: (group, kind).
OLD_SOURCES = (("", "PersistentVolumeClaim"), ("snapshot.storage.k8s.io", "VolumeSnapshot"))


def _one_source(spec: Object, before: Object) -> Object:
    """Sets dataSource and dataSourceRef from each other, and drops from the older one what only the newer one can name
    (`NormalizeDataSources`, `EnforceDataSourceBackwardsCompatibility`). A reference into another namespace is an alpha
    feature, which is dropped unless the stored claim has a reference. `before` is the stored spec, if any."""
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is None and reference is None:
        return spec
    kept = {key: value for key, value in spec.items() if key not in ("dataSource", "dataSourceRef")}
    if reference is not None and reference.get("namespace") and before.get("dataSourceRef") is None:
        reference = None
    if source is not None and reference is None and not (before.get("dataSource") or before.get("dataSourceRef")):
        named = (source.get("apiGroup") or "", source.get("kind") or "")
        source = source if named in OLD_SOURCES else None
    if source is not None and reference is None:
        reference = dict(source)
    elif reference is not None and source is None and not reference.get("namespace"):
        source = {key: value for key, value in reference.items() if key != "namespace"}
    return kept | {key: one for key, one in (("dataSource", source), ("dataSourceRef", reference)) if one is not None}


def prepare_claim(obj: Object) -> Object:
    return {**obj, "spec": _one_source(obj.get("spec") or {}, {})}


def prepare_claim_update(new: Object, old: Object) -> Object:
    before = old.get("spec") or {}
    return {**new, "spec": _one_source(new.get("spec") or {}, before)}


_GATED = GatedFields(
    ("VolumeAttributesClass", ("spec.volumeAttributesClassName",)),
    ("VolumeAttributesClass", ("status.currentVolumeAttributesClassName", "status.modifyVolumeStatus")),
    ("RecoverVolumeExpansionFailure", ("status.allocatedResources", "status.allocatedResourceStatuses")),
)


KIND = Kind(
    "persistentvolumeclaims",
    Strategy(
        default=default_claim,
        returns_deleted=True,
        default_status={"phase": "Pending"},
        stored_incomplete=always,  # the phase
        drop_disabled=_GATED.drop_disabled,
        prepare_create=prepare_claim,
        prepare_update=prepare_claim_update,
        validate=validator(validation.validate),
        as_new_before=35,
        validate_update=update_validator(validation.validate_update),
        validate_status_update=update_validator(validation.validate_status_update),
        warnings=claim_warnings,
    ),
    printer=PRINTER,
)
