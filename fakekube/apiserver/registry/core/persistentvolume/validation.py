"""PersistentVolumes (`ValidatePersistentVolume`, `ValidatePersistentVolumeUpdate`)."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping
from typing import Any

from fakekube.apiserver.registry.core.persistentvolumeclaim.claimspec import VOLUME_MODES, validate_access_modes
from fakekube.apiserver.registry.core.pod.validation import volumes
from fakekube.apiserver.registry.core.pod.validation.affinity import validate_node_selector
from fakekube.apiserver.registry.core.resourcenames import number_of, validate_basic_quantity
from fakekube.apiserver.registry.generic.validation import content
from fakekube.apiserver.registry.generic.validation.content import IMMUTABLE, NOT_POSITIVE, label_value_problems
from fakekube.apiserver.registry.generic.validation.diff import struct_diff
from fakekube.apiserver.registry.generic.validation.field import Field
from fakekube.apiserver.registry.generic.validation.metadata import validate_metadata

Object = dict[str, Any]

RECLAIM_POLICIES = ("Delete", "Recycle", "Retain")

CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"

ONE_TYPE = "may not specify more than 1 volume type"

INLINE = "in the context of inline volumes"


def _validate_glusterfs(source: Field) -> None:
    volumes.validate_source(source, "glusterfs")
    namespace = source.get("endpointsNamespace")
    if namespace.value == "":
        namespace.invalid("if the endpointnamespace is set, it must be a valid namespace name")
    else:
        namespace.dns_label()


def _validate_cinder(source: Field) -> None:
    source.require("volumeID")
    source.get("secretRef").require("name", "namespace")


def _validate_azure_file(source: Field) -> None:
    volumes.validate_source(source, "azureFile")
    source.get("secretNamespace").required()


def _validate_storage_os(source: Field) -> None:
    volumes.validate_storage_os_names(source)
    source.get("secretRef").require("name", "namespace")


def _validate_local(source: Field) -> None:
    source["path"].required().check(content.backstep_problems)


SECRETS = ("controllerPublishSecretRef", "controllerExpandSecretRef", "nodePublishSecretRef", "nodeExpandSecretRef")


def _validate_csi(source: Field) -> None:
    volumes.validate_csi_driver_name(source["driver"])
    source.require("volumeHandle")
    for secret in source.members(SECRETS):
        secret["name"].required().dns_subdomain()
        secret["namespace"].required().dns_label()


#: Sources in the order of validation, and the rules of those that are not validated as in a pod.
SOURCES = (
    "hostPath", "gcePersistentDisk", "awsElasticBlockStore", "glusterfs", "flocker", "nfs", "rbd", "quobyte", "cephfs",
    "iscsi", "cinder", "fc", "flexVolume", "azureFile", "vsphereVolume", "photonPersistentDisk", "portworxVolume",
    "azureDisk", "scaleIO", "local", "storageos", "csi",
)  # fmt: skip
OWN_RULES: Mapping[str, Callable[[Field], object]] = {
    "glusterfs": _validate_glusterfs,
    "cinder": _validate_cinder,
    "azureFile": _validate_azure_file,
    "local": _validate_local,
    "storageos": _validate_storage_os,
    "csi": _validate_csi,
}


def validate(volume: Field) -> None:
    validate_volume_spec(volume["spec"])


def validate_volume_spec(spec: Field, *, inline: bool = False, any_values: bool = False) -> None:
    """`inline`: of a VolumeAttachment. `any_values` accepts node selectors with values that no label can have."""
    if inline:
        for field in ("claimRef", "capacity"):
            spec[field].optional().forbidden(f"may not be specified {INLINE}")
        spec["csi"].specified(f"has to be specified {INLINE}")
    spec["accessModes"].required()
    validate_access_modes(spec["accessModes"])
    if not inline:
        _validate_capacity(spec["capacity"])
    policy = spec["persistentVolumeReclaimPolicy"]
    if inline and policy.text not in ("", "Retain"):
        policy.forbidden(f"may only be Retain {INLINE}")
    else:
        policy.optional().one_of(RECLAIM_POLICIES)
    _validate_node_affinity(spec.get("nodeAffinity"), inline, any_values)
    _validate_sources(spec)
    host_path = spec["hostPath"]["path"].text
    if policy.value == "Recycle" and host_path and posixpath.normpath(host_path) == "/":
        policy.forbidden("may not be 'recycle' for a hostPath mount of '/'")
    _validate_class_and_mode(spec, inline)


def _validate_capacity(capacity: Field) -> None:
    capacity.required()
    if set(capacity.struct) != {"storage"}:
        capacity.not_supported(("storage",), capacity.value)
    for quantity in capacity.entries():
        validate_basic_quantity(quantity)
        if number_of(quantity.value) <= 0:
            quantity.invalid(NOT_POSITIVE)


def _validate_node_affinity(affinity: Field, inline: bool, any_values: bool) -> None:
    if inline:
        affinity.forbidden(f"may not be specified {INLINE}")
    elif affinity["required"].value is None:
        affinity["required"].missing("must specify required node constraints")
    else:
        validate_node_selector(affinity["required"], any_values=any_values)


def _validate_sources(spec: Field) -> None:
    found = spec.members(SOURCES)
    if not found:
        spec.missing("must specify a volume type")
    for place, source in enumerate(found):
        if place and source.key != "flexVolume":
            spec[volumes.SHOWN_AS_SECOND.get(source.key, source.key)].forbidden(ONE_TYPE)
            continue
        shown = spec.at(volumes.SHOWN.get(source.key, source.key), source.value)
        if source.key in OWN_RULES:
            OWN_RULES[source.key](shown)
        else:
            volumes.validate_source(shown, source.key)
        if source.key == "local":
            spec["nodeAffinity"].specified("Local volume requires node affinity")


def _validate_class_and_mode(spec: Field, inline: bool) -> None:
    name, mode = spec["storageClassName"].optional(), spec["volumeMode"]
    if inline:
        name.forbidden(f"may not be specified {INLINE}")
    else:
        name.dns_subdomain()
    if inline and mode.value not in (None, "Filesystem"):
        mode.forbidden(f"may not specify volumeMode other than Filesystem {INLINE}")
    elif mode.value is not None:
        mode.one_of(VOLUME_MODES)
    attributes = spec["volumeAttributesClassName"]
    if attributes.value is not None:
        attributes.required("an empty string is disallowed").dns_subdomain()
        spec["csi"].specified("has to be specified when using volumeAttributesClassName")


def validate_update(new: Field, old: Field) -> None:
    after, before = new["spec"], old["spec"]
    any_values = _has_invalid_values(before.find("nodeAffinity.required"))
    for _ in range(2):  # once by the strategy, once by `ValidatePersistentVolumeUpdate`
        validate_metadata(new)
        validate_volume_spec(after, any_values=any_values)
    source, known = _source(after, before), _source(before, before)
    if source != known:
        changes = struct_diff("PersistentVolumeSource", known, source)
        after["persistentvolumesource"].forbidden(f"spec.persistentvolumesource is immutable after creation\n{changes}")
    new.at("volumeMode", after["volumeMode"].value).immutable(before["volumeMode"])
    affinity, stored = after["nodeAffinity"].value, before["nodeAffinity"].value
    if stored is not None and affinity != stored and _renewed(stored, affinity) != affinity:
        new.at("nodeAffinity", affinity).invalid_go(f"{IMMUTABLE}, except for updating from beta label to GA")
    attributes = after["volumeAttributesClassName"]
    if attributes.value is None and before["volumeAttributesClassName"].value is not None:
        attributes.forbidden("update from non-nil value to nil is forbidden")


def _has_invalid_values(selector: Field) -> bool:
    return any(
        label_value_problems(value)
        for term in selector["nodeSelectorTerms"]
        for expression in term["matchExpressions"]
        for value in expression["values"].value or ()
    )


def _source(spec: Field, before: Field) -> Object:
    """The volume's source; a secret for its expansion can be added once."""
    source = {field: spec.struct[field] for field in SOURCES if spec.struct.get(field) is not None}
    stored = before["csi"]
    if "csi" in source and stored.value is not None and stored["controllerExpandSecretRef"].value is None:
        source["csi"] = {key: value for key, value in source["csi"].items() if key != "controllerExpandSecretRef"}
    return source


#: Old label of a node -> its new name: an affinity can change to these.
NEW_LABELS = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "beta.kubernetes.io/os": "kubernetes.io/os",
    "beta.kubernetes.io/arch": "kubernetes.io/arch",
    "beta.kubernetes.io/instance-type": "node.kubernetes.io/instance-type",
}


def _renewed(before: Any, after: Any) -> Any:
    """The stored affinity, with those labels renamed that have their new names in the new one."""
    if isinstance(before, dict) and isinstance(after, dict):
        key = before.get("key")
        if "operator" in before and NEW_LABELS.get(key or "") == after.get("key"):
            return {**before, "key": after["key"]}
        return {name: _renewed(value, after.get(name)) for name, value in before.items()}
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        return [_renewed(one, other) for one, other in zip(before, after, strict=True)]
    return before
