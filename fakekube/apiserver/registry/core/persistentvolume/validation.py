"""TODO"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping
from typing import Any

from fakekube.apiserver.registry.core.persistentvolumeclaim.claimspec import VOLUME_MODES, check_access_modes
from fakekube.apiserver.registry.core.pod.validation import volumes
from fakekube.apiserver.registry.core.pod.validation.affinity import check_node_selector
from fakekube.apiserver.registry.core.resourcenames import number_of
from fakekube.apiserver.registry.generic.validation.content import (
    IMMUTABLE,
    NOT_POSITIVE,
    Errors,
    check_dns_label,
    check_dns_subdomain,
    check_immutable,
    check_no_backsteps,
    check_range,
)
from fakekube.apiserver.registry.generic.validation.diff import spec_diff
from fakekube.apiserver.registry.generic.validation.gostructs import marshal
from fakekube.apiserver.registry.generic.validation.labelselectors import value_problems
from fakekube.apiserver.registry.generic.validation.metadata import check_again
from fakekube.apiserver.wire.status import (
    FieldError,
    field_forbidden,
    field_invalid,
    field_not_supported,
    field_required,
)

Object = dict[str, Any]

RECLAIM_POLICIES = ("Delete", "Recycle", "Retain")


CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"


MOUNT_ANNOTATION = "volume.beta.kubernetes.io/mount-options"


ONE_TYPE = "may not specify more than 1 volume type"


INLINE = "in the context of inline volumes"


Check = Callable[[Object, str, Errors], None]


def _requires(*fields: str) -> Check:
    return lambda source, path, errors: volumes.check_required(source, fields, path, errors)


def _secret(source: Object, path: str, errors: Errors) -> None:
    """A secret in a namespace of its own."""
    if source.get("secretRef") is not None:
        volumes.check_required(source["secretRef"], ("name", "namespace"), f"{path}.secretRef", errors)


def _disk(field: str) -> Check:
    def check(source: Object, path: str, errors: Errors) -> None:
        volumes.check_required(source, (field,), path, errors)
        check_range(source.get("partition") or 0, 0, 255, f"{path}.partition", errors)

    return check


def _check_nfs(source: Object, path: str, errors: Errors) -> None:
    volumes.check_required(source, ("server", "path"), path, errors)
    if not (source.get("path") or "").startswith("/"):
        errors.append(field_invalid(f"{path}.path", source.get("path") or "", "must be an absolute path"))


def _check_glusterfs(source: Object, path: str, errors: Errors) -> None:
    volumes.check_required(source, ("endpoints", "path"), path, errors)
    namespace = source.get("endpointsNamespace")
    if namespace is None:
        return
    if not namespace:
        why = "if the endpointnamespace is set, it must be a valid namespace name"
        errors.append(field_invalid(f"{path}.endpointsNamespace", namespace, why))
    else:
        check_dns_label(namespace, f"{path}.endpointsNamespace", errors)


def _check_cinder(source: Object, path: str, errors: Errors) -> None:
    volumes.check_required(source, ("volumeID",), path, errors)
    _secret(source, path, errors)


def _check_azure_file(source: Object, path: str, errors: Errors) -> None:
    volumes.check_required(source, ("secretName", "shareName"), path, errors)
    if source.get("secretNamespace") == "":
        errors.append(field_required(f"{path}.secretNamespace"))


def _check_storage_os(source: Object, path: str, errors: Errors) -> None:
    volumes.check_storage_os_names(source, path, errors)
    _secret(source, path, errors)


def _check_local(source: Object, path: str, errors: Errors) -> None:
    if source.get("path"):
        check_no_backsteps(source["path"], f"{path}.path", errors)
    else:
        errors.append(field_required(f"{path}.path"))


SECRETS = ("controllerPublishSecretRef", "controllerExpandSecretRef", "nodePublishSecretRef", "nodeExpandSecretRef")


def _check_csi(source: Object, path: str, errors: Errors) -> None:
    volumes.check_csi_driver(source.get("driver") or "", f"{path}.driver", errors)
    volumes.check_required(source, ("volumeHandle",), path, errors)
    for field in SECRETS:
        secret = source.get(field)
        if secret is None:
            continue
        for part, check in (("name", check_dns_subdomain), ("namespace", check_dns_label)):
            if secret.get(part):
                check(secret[part], f"{path}.{field}.{part}", errors)
            else:
                errors.append(field_required(f"{path}.{field}.{part}"))


#: Source -> its name in paths, and what it is checked by; in the order in which the server looks for them.
SOURCES: Mapping[str, tuple[str, Check]] = {
    "hostPath": ("hostPath", volumes.check_host_path),
    "gcePersistentDisk": ("persistentDisk", _disk("pdName")),
    "awsElasticBlockStore": ("awsElasticBlockStore", _disk("volumeID")),
    "glusterfs": ("glusterfs", _check_glusterfs),
    "flocker": ("flocker", volumes.check_flocker),
    "nfs": ("nfs", _check_nfs),
    "rbd": ("rbd", _requires("monitors", "image")),
    "quobyte": ("quobyte", volumes.check_quobyte),
    "cephfs": ("cephfs", _requires("monitors")),
    "iscsi": ("iscsi", volumes.check_iscsi),
    "cinder": ("cinder", _check_cinder),
    "fc": ("fc", volumes.check_fc),
    "flexVolume": ("flexVolume", volumes.check_flex),
    "azureFile": ("azureFile", _check_azure_file),
    "vsphereVolume": ("vsphereVolume", _requires("volumePath")),
    "photonPersistentDisk": ("photonPersistentDisk", _requires("pdID")),
    "portworxVolume": ("portworxVolume", _requires("volumeID")),
    "azureDisk": ("azureDisk", volumes.check_azure_disk),
    "scaleIO": ("scaleIO", _requires("gateway", "system", "volumeName")),
    "local": ("local", _check_local),
    "storageos": ("storageos", _check_storage_os),
    "csi": ("csi", _check_csi),
}


#: Names under which the server refuses a second source.
OTHER_NAMES = {"gcePersistentDisk": "gcePersistentDisk", "cephfs": "cephFS"}


def validate_volume(volume: Object) -> list[FieldError]:
    errors: Errors = []
    check_volume_spec(volume.get("spec") or {}, "spec", errors)
    return errors


def check_volume_spec(
    spec: Object, path: str, errors: Errors, *, inline: bool = False, any_values: bool = False
) -> None:
    """`inline`: in a VolumeAttachment, not in a PersistentVolume. `any_values`: of a node affinity that is stored."""
    if inline:
        _check_inline(spec, path, errors)
    modes = spec.get("accessModes") or ()
    if not modes:
        errors.append(field_required(f"{path}.accessModes"))
    check_access_modes(modes, f"{path}.accessModes", errors)
    if not inline:
        _check_capacity(spec.get("capacity") or {}, f"{path}.capacity", errors)
    _check_reclaim_policy(spec, path, errors, inline)
    affinity = spec.get("nodeAffinity")
    if affinity is not None:
        _check_affinity(affinity, f"{path}.nodeAffinity", errors, inline, any_values)
    _check_sources(spec, path, errors)
    host_path = (spec.get("hostPath") or {}).get("path") or ""
    if host_path and posixpath.normpath(host_path) == "/" and spec.get("persistentVolumeReclaimPolicy") == "Recycle":
        why = "may not be 'recycle' for a hostPath mount of '/'"
        errors.append(field_forbidden(f"{path}.persistentVolumeReclaimPolicy", why))
    _check_classes(spec, path, errors, inline)


def _check_inline(spec: Object, path: str, errors: Errors) -> None:
    for field in ("claimRef", "capacity"):
        if spec.get(field):
            errors.append(field_forbidden(f"{path}.{field}", f"may not be specified {INLINE}"))
    if spec.get("csi") is None:
        errors.append(field_required(f"{path}.csi", f"has to be specified {INLINE}"))


def _check_capacity(capacity: Mapping[str, str], path: str, errors: Errors) -> None:
    if not capacity:
        errors.append(field_required(path))
    if set(capacity) != {"storage"}:
        shown = marshal(dict(sorted(capacity.items()))) if capacity else "null"
        why = f'Unsupported value: {shown}: supported values: "storage"'
        errors.append(FieldError(path, "FieldValueNotSupported", why))
    for name, value in capacity.items():
        here, number = f"{path}[{name}]", number_of(value)
        if number < 0:
            errors.append(field_invalid(here, int(number), "must be a valid resource quantity"))
        if number <= 0:
            errors.append(field_invalid(here, value, NOT_POSITIVE))


def _check_reclaim_policy(spec: Object, path: str, errors: Errors, inline: bool) -> None:
    policy, here = spec.get("persistentVolumeReclaimPolicy") or "", f"{path}.persistentVolumeReclaimPolicy"
    if inline and policy not in ("", "Retain"):
        errors.append(field_forbidden(here, f"may only be Retain {INLINE}"))
    elif policy and policy not in RECLAIM_POLICIES:
        errors.append(field_not_supported(here, policy, RECLAIM_POLICIES))


def _check_affinity(affinity: Object, path: str, errors: Errors, inline: bool, any_values: bool) -> None:
    if inline:
        errors.append(field_forbidden(path, f"may not be specified {INLINE}"))
    elif affinity.get("required") is not None:
        check_node_selector(affinity["required"], f"{path}.required", errors, any_values=any_values)
    else:
        errors.append(field_required(f"{path}.required", "must specify required node constraints"))


def _check_sources(spec: Object, path: str, errors: Errors) -> None:
    count = 0
    for field, (name, check) in SOURCES.items():
        source = spec.get(field)
        if source is None:
            continue
        if count and field != "flexVolume":
            errors.append(field_forbidden(f"{path}.{OTHER_NAMES.get(field, name)}", ONE_TYPE))
            continue
        count += 1
        check(source, f"{path}.{name}", errors)
        if field == "local" and spec.get("nodeAffinity") is None:
            errors.append(field_required(f"{path}.nodeAffinity", "Local volume requires node affinity"))
    if not count:
        errors.append(field_required(path, "must specify a volume type"))


def _check_classes(spec: Object, path: str, errors: Errors, inline: bool) -> None:
    name, mode = spec.get("storageClassName") or "", spec.get("volumeMode")
    if name and inline:
        errors.append(field_forbidden(f"{path}.storageClassName", f"may not be specified {INLINE}"))
    elif name:
        check_dns_subdomain(name, f"{path}.storageClassName", errors)
    if inline and mode not in (None, "Filesystem"):
        why = f"may not specify volumeMode other than Filesystem {INLINE}"
        errors.append(field_forbidden(f"{path}.volumeMode", why))
    elif mode is not None and mode not in VOLUME_MODES:
        errors.append(field_not_supported(f"{path}.volumeMode", mode, VOLUME_MODES))
    attributes = spec.get("volumeAttributesClassName")
    if attributes is None:
        return
    if attributes:
        check_dns_subdomain(attributes, f"{path}.volumeAttributesClassName", errors)
    else:
        errors.append(field_required(f"{path}.volumeAttributesClassName", "an empty string is disallowed"))
    if spec.get("csi") is None:
        errors.append(field_required(f"{path}.csi", "has to be specified when using volumeAttributesClassName"))


def validate_volume_update(new: Object, old: Object) -> list[FieldError]:
    errors: Errors = []
    after, before = new.get("spec") or {}, old.get("spec") or {}
    check_again(new, errors)
    required = (before.get("nodeAffinity") or {}).get("required") or {}
    check_volume_spec(after, "spec", errors, any_values=_has_invalid_terms(required))
    source, known = _source(after, before), _source(before, before)
    if source != known:
        why = f"spec.persistentvolumesource is immutable after creation\n{spec_diff(known, source)}"
        errors.append(field_forbidden("spec.persistentvolumesource", why))
    check_immutable(after.get("volumeMode"), before.get("volumeMode"), "volumeMode", errors)
    _check_affinity_kept(after.get("nodeAffinity"), before.get("nodeAffinity"), errors)
    if before.get("volumeAttributesClassName") is not None and after.get("volumeAttributesClassName") is None:
        why = "update from non-nil value to nil is forbidden"
        errors.append(field_forbidden("spec.volumeAttributesClassName", why))
    return errors


def _has_invalid_terms(selector: Object) -> bool:
    return any(
        value_problems(value)
        for term in selector.get("nodeSelectorTerms") or ()
        for expression in term.get("matchExpressions") or ()
        for value in expression.get("values") or ()
    )


def _source(spec: Object, before: Object) -> Object:
    """The volume's source; the secret to grow it with may be added once."""
    source = {field: spec[field] for field in SOURCES if spec.get(field) is not None}
    stored = before.get("csi")
    if "csi" in source and stored is not None and stored.get("controllerExpandSecretRef") is None:
        source["csi"] = {key: value for key, value in source["csi"].items() if key != "controllerExpandSecretRef"}
    return source


#: Labels of nodes that have newer names: an affinity may change to these.
NEWER_LABELS = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "beta.kubernetes.io/os": "kubernetes.io/os",
    "beta.kubernetes.io/arch": "kubernetes.io/arch",
    "beta.kubernetes.io/instance-type": "node.kubernetes.io/instance-type",
}


def _check_affinity_kept(after: Object | None, before: Object | None, errors: Errors) -> None:
    if before is None or after == before or _renewed(before, after) == after:
        return
    why = f"{IMMUTABLE}, except for updating from beta label to GA"
    shown = marshal(after)
    errors.append(FieldError("nodeAffinity", "FieldValueInvalid", f"Invalid value: {shown}: {why}"))


def _renewed(before: Any, after: Any) -> Any:
    """The affinity before, with each label that has its newer name now renamed."""
    if isinstance(before, dict) and isinstance(after, dict):
        key = before.get("key")
        if "operator" in before and NEWER_LABELS.get(key or "") == after.get("key"):
            return {**before, "key": after["key"]}
        return {name: _renewed(value, after.get(name)) for name, value in before.items()}
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        return [_renewed(one, other) for one, other in zip(before, after, strict=True)]
    return before


#: Volume sources that do nothing any more.
GONE = {
    "photonPersistentDisk": ("photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
    "scaleIO": ("scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    "storageos": ("storageOS", "deprecated in v1.22, non-functional in v1.25+"),
    "glusterfs": ("glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    "rbd": ("rbd", "deprecated in v1.28, non-functional in v1.31+"),
    "cephfs": ("cephfs", "deprecated in v1.28, non-functional in v1.31+"),
}


def volume_warnings(volume: Object) -> list[str]:
    spec = volume.get("spec") or {}
    warnings = class_warnings(volume)
    if MOUNT_ANNOTATION in (volume["metadata"].get("annotations") or {}):
        why = 'deprecated since v1.31; use "mountOptions" attribute instead'
        warnings.append(f"metadata.annotations[{MOUNT_ANNOTATION}]: {why}")
    if spec.get("persistentVolumeReclaimPolicy") == "Recycle":
        why = "The Recycle reclaim policy is deprecated."
        why += " Instead, the recommended approach is to use dynamic provisioning."
        warnings.append(f"spec.persistentVolumeReclaimPolicy: {why}")
    warnings += [f"spec.{name}: {why}" for field, (name, why) in GONE.items() if spec.get(field) is not None]
    return warnings


def class_warnings(obj: Object) -> list[str]:
    if CLASS_ANNOTATION not in (obj["metadata"].get("annotations") or {}):
        return []
    why = 'deprecated since v1.8; use "storageClassName" attribute instead'
    return [f"metadata.annotations[{CLASS_ANNOTATION}]: {why}"]
