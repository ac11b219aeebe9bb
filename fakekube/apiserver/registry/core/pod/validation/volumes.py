"""Volumes of a pod: the source of each, and their names (`ValidateVolumes`)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fakekube.apiserver.registry.core.persistentvolumeclaim.claimspec import check_claim_template
from fakekube.apiserver.registry.core.pod.validation import environment
from fakekube.apiserver.registry.core.pod.validation.podoptions import PodOptions
from fakekube.apiserver.registry.core.resourcenames import number_of
from fakekube.apiserver.registry.generic.validation import content
from fakekube.apiserver.registry.generic.validation.content import Errors
from fakekube.apiserver.registry.generic.validation.field import Field
from fakekube.apiserver.wire.status import (
    field_duplicate,
    field_forbidden,
    field_invalid,
    field_not_supported,
    field_required,
    field_too_long,
)

Object = dict[str, Any]

MODE = "must be a number between 0 and 0777 (octal), both inclusive"
ONE_TYPE = "may not specify more than 1 volume type"
PULL_POLICIES = ("Always", "IfNotPresent", "Never")
HOST_PATH_TYPES = (
    "", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Place:
    """Where a source stands: the volume's name, the pod's (empty for a template), and the rules."""

    volume: str
    pod: str
    options: PodOptions


Check = Callable[[Object, str, Errors, Place], None]


def check_volumes(volumes: Sequence[Object], path: str, errors: Errors, pod: str, options: PodOptions) -> set[str]:
    """Returns the names of the volumes that are all right: others are not there to be mounted."""
    known: set[str] = set()
    claims = {f"{pod}-{volume.get('name') or ''}" for volume in volumes if pod and volume.get("ephemeral") is not None}
    for i, volume in enumerate(volumes):
        here, name = f"{path}[{i}]", volume.get("name") or ""
        before = len(errors)
        _check_source(volume, here, errors, Place(name, pod, options))
        if not name:
            errors.append(field_required(f"{here}.name"))
        else:
            content.check_dns_label(name, f"{here}.name", errors)
        if name in known:
            errors.append(field_duplicate(f"{here}.name", name))
        if len(errors) == before:
            known.add(name)
        claim = (volume.get("persistentVolumeClaim") or {}).get("claimName")
        if claim in claims:
            why = "must not reference a PVC that gets created for an ephemeral volume"
            errors.append(field_invalid(f"{here}.persistentVolumeClaim.claimName", claim, why))
    return known


def _check_source(volume: Object, path: str, errors: Errors, place: Place) -> None:
    found = [key for key, value in volume.items() if key != "name" and value is not None]
    if len(found) > 1:
        found.sort(key=ORDER.__getitem__)
    for n, key in enumerate(found):
        if n:
            errors.append(field_forbidden(f"{path}.{OTHER_NAMES.get(key, key)}", ONE_TYPE))
        else:
            shown = "persistentDisk" if key == "gcePersistentDisk" else key
            SOURCES[key](volume[key], f"{path}.{shown}", errors, place)
        if key == "iscsi":
            _check_portal(volume[key], path, errors, place)
    if not found:
        errors.append(field_required(path, "must specify a volume type"))


def _check_portal(source: Object, path: str, errors: Errors, place: Place) -> None:
    if source.get("initiatorName") is None:
        return
    if len(f"{place.volume}:{source.get('targetPortal') or ''}") > 64:
        why = (
            "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is "
            "specified."
        )
        errors.append(field_invalid(f"{path}.name", place.volume, why))


def requires(*fields: str) -> Check:
    """Sources that just need some fields."""

    def check(source: Object, path: str, errors: Errors, place: Place) -> None:
        check_required(source, fields, path, errors)

    return check


def check_required(source: Object, fields: Sequence[str], path: str, errors: Errors) -> None:
    for field in fields:
        if not source.get(field):
            errors.append(field_required(f"{path}.{field}"))


def check_mode(source: Object, field: str, path: str, errors: Errors) -> None:
    mode = source.get(field)
    if mode is not None and not 0 <= mode <= 0o777:
        errors.append(field_invalid(f"{path}.{field}", mode, MODE))


# --- sources that a pod has ----------------------------------------------------------------------------------------


def check_empty_dir(source: Object, path: str, errors: Errors, place: Place) -> None:
    limit = source.get("sizeLimit")
    if limit is not None and number_of(limit) < 0:
        errors.append(field_forbidden(f"{path}.sizeLimit", "SizeLimit field must be a valid resource quantity"))


def check_host_path(source: Object, path: str, errors: Errors, place: Place | None = None) -> None:
    if not source.get("path"):
        errors.append(field_required(f"{path}.path"))
        return
    content.check_no_backsteps(source["path"], f"{path}.path", errors)
    content.check_supported(source.get("type", ""), HOST_PATH_TYPES, f"{path}.type", errors)


def _check_git_repo(source: Object, path: str, errors: Errors, place: Place) -> None:
    check_required(source, ("repository",), path, errors)
    content.check_descending_path(source.get("directory") or "", f"{path}.directory", errors)


def _check_disk(field: str) -> Check:
    def check(source: Object, path: str, errors: Errors, place: Place) -> None:
        check_required(source, (field,), path, errors)
        content.check_range(source.get("partition") or 0, 0, 255, f"{path}.partition", errors)

    return check


def _keyed(field: str) -> Check:
    """Secrets and ConfigMaps: all their keys, or some in files with names."""

    def check(source: Object, path: str, errors: Errors, place: Place) -> None:
        check_required(source, (field,), path, errors)
        check_mode(source, "defaultMode", path, errors)
        for i, item in enumerate(source.get("items") or ()):
            _check_item(item, f"{path}.items[{i}]", errors)

    return check


def _check_item(item: Object, path: str, errors: Errors) -> None:
    check_required(item, ("key", "path"), path, errors)
    content.check_unreserved_path(item.get("path") or "", f"{path}.path", errors)
    check_mode(item, "mode", path, errors)


def _check_nfs(source: Object, path: str, errors: Errors, place: Place) -> None:
    check_required(source, ("server", "path"), path, errors)
    if not (source.get("path") or "").startswith("/"):
        errors.append(field_invalid(f"{path}.path", source.get("path") or "", "must be an absolute path"))


_QUALIFIERS = {
    "iqn": re.compile(r"iqn\.\d{4}-\d{2}\.([a-zA-Z0-9-.]+)(:[^,;*&$|\s]+)$"),
    "eui": re.compile(r"^eui.[a-zA-Z0-9]{16}$"),
    "naa": re.compile(r"^naa.[a-zA-Z0-9]{32}$"),
}


def _is_qualified(name: str) -> bool | None:
    """None for a name of no known kind."""
    pattern = _QUALIFIERS.get(name[:3])
    return None if pattern is None else pattern.search(name) is not None


def check_iscsi(source: Object, path: str, errors: Errors, place: Place | None = None) -> None:
    check_required(source, ("targetPortal",), path, errors)
    name = source.get("iqn") or ""
    if not name:
        errors.append(field_required(f"{path}.iqn"))
    else:
        _check_qualified(name, f"{path}.iqn", errors)
    content.check_range(source.get("lun") or 0, 0, 255, f"{path}.lun", errors)
    if (source.get("chapAuthDiscovery") or source.get("chapAuthSession")) and source.get("secretRef") is None:
        errors.append(field_required(f"{path}.secretRef"))
    if source.get("initiatorName") is not None:
        _check_qualified(source["initiatorName"], f"{path}.initiatorname", errors)


def _check_qualified(name: str, path: str, errors: Errors) -> None:
    valid = _is_qualified(name)
    if valid is None:
        errors.append(field_invalid(path, name, "must be valid format starting with iqn, eui, or naa"))
    elif not valid:
        errors.append(field_invalid(path, name, "must be valid format"))


def check_flocker(source: Object, path: str, errors: Errors, place: Place | None = None) -> None:
    name, uuid = source.get("datasetName") or "", source.get("datasetUUID") or ""
    if not name and not uuid:
        errors.append(field_required(path, "one of datasetName and datasetUUID is required"))
    if name and uuid:
        why = "datasetName and datasetUUID can not be specified simultaneously"
        errors.append(field_invalid(path, "resource", why))
    if "/" in name:
        errors.append(field_invalid(f"{path}.datasetName", name, "must not contain '/'"))


def _check_cinder(source: Object, path: str, errors: Errors, place: Place) -> None:
    check_required(source, ("volumeID",), path, errors)
    check_secret_name(source, path, errors)


def check_secret_name(source: Object, path: str, errors: Errors) -> None:
    secret = source.get("secretRef")
    if secret is not None:
        check_required(secret, ("name",), f"{path}.secretRef", errors)


_PAIRS = "must be a host:port pair or multiple pairs separated by commas"


def check_quobyte(source: Object, path: str, errors: Errors, place: Place | None = None) -> None:
    registry = source.get("registry") or ""
    if not registry:
        errors.append(field_required(f"{path}.registry", _PAIRS))
    elif len(source.get("tenant") or "") >= 65:
        why = "must be a UUID and may not exceed a length of 64 characters"
        errors.append(field_required(f"{path}.tenant", why))
    else:
        pairs = registry.split(",")
        errors += [
            field_invalid(f"{path}.registry", registry, _PAIRS) for one in pairs if not _HOST_PORT.fullmatch(one)
        ]
    check_required(source, ("volume",), path, errors)


_HOST_PORT = re.compile(r"(\[[^\[\]]*\]|[^:\[\]]*):[^:\[\]]*")


def check_fc(source: Object, path: str, errors: Errors, place: Place | None = None) -> None:
    targets, wwids = source.get("targetWWNs") or [], source.get("wwids") or []
    lun: int | None = source.get("lun")
    if not targets and not wwids:
        why = "must specify either targetWWNs or wwids, but not both"
        errors.append(field_required(f"{path}.targetWWNs", why))
    if targets and wwids:
        why = "targetWWNs and wwids can not be specified simultaneously"
        errors.append(field_invalid(f"{path}.targetWWNs", targets, why))
    if not targets:
        return
    if lun is None:
        errors.append(field_required(f"{path}.lun", "lun is required if targetWWNs is specified"))
    else:
        content.check_range(lun, 0, 255, f"{path}.lun", errors)


def check_flex(source: Object, path: str, errors: Errors, place: Place | None = None) -> None:
    check_required(source, ("driver",), path, errors)
    for key in source.get("options") or ():
        owner = "." + key.partition("/")[0].lower()
        if owner.endswith((".kubernetes.io", ".k8s.io")):
            why = "kubernetes.io and k8s.io namespaces are reserved"
            errors.append(field_invalid(f"{path}.options[{key}]", key, why))


_CACHING = ("None", "ReadOnly", "ReadWrite")
_DISK_KINDS = ("Dedicated", "Managed", "Shared")
_MANAGED_URI = (
    "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"
)  # fmt: skip
_BLOB_URI = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"


def check_azure_disk(source: Object, path: str, errors: Errors, place: Place | None = None) -> None:
    check_required(source, ("diskName", "diskURI"), path, errors)
    uri, kind = source.get("diskURI") or "", source.get("kind")
    if source.get("cachingMode") is not None:
        content.check_supported(source["cachingMode"], _CACHING, f"{path}.cachingMode", errors)
    if kind is None:
        return
    content.check_supported(kind, _DISK_KINDS, f"{path}.kind", errors)
    if kind == "Managed" and not uri.startswith("/subscriptions/"):
        errors.append(field_not_supported(f"{path}.diskURI", uri, (_MANAGED_URI,)))
    if kind != "Managed" and not uri.startswith("https://"):
        errors.append(field_not_supported(f"{path}.diskURI", uri, (_BLOB_URI,)))


def _check_storage_os(source: Object, path: str, errors: Errors, place: Place) -> None:
    check_storage_os_names(source, path, errors)
    check_secret_name(source, path, errors)


def check_storage_os_names(source: Object, path: str, errors: Errors) -> None:
    name = source.get("volumeName") or ""
    if not name:
        errors.append(field_required(f"{path}.volumeName"))
    else:
        content.check_dns_label(name, f"{path}.volumeName", errors)
    if source.get("volumeNamespace"):
        content.check_dns_label(source["volumeNamespace"], f"{path}.volumeNamespace", errors)


def check_csi_driver(name: str, path: str, errors: Errors) -> None:
    """`ValidateCSIDriverName`."""
    if not name:
        errors.append(field_required(path))
        return
    if len(name) > 63:
        errors.append(field_too_long(path, 63))
    content.add(errors, path, name, content.dns_subdomain_problems(name.lower()))


def validate_csi_driver_name(name: Field) -> None:
    """`ValidateCSIDriverName`."""
    check_csi_driver(name.text, name.path, name.errors)


def _check_csi(source: Object, path: str, errors: Errors, place: Place) -> None:
    check_csi_driver(source.get("driver") or "", f"{path}.driver", errors)
    secret = source.get("nodePublishSecretRef")
    if secret is not None:
        name = secret.get("name") or ""
        if not name:
            errors.append(field_required(f"{path}.nodePublishSecretRef.name"))
        else:
            content.check_dns_subdomain(name, f"{path}.name", errors)


def _check_ephemeral(source: Object, path: str, errors: Errors, place: Place) -> None:
    template = source.get("volumeClaimTemplate")
    if template is None:
        errors.append(field_required(f"{path}.volumeClaimTemplate"))
    else:
        check_claim_template(template, f"{path}.volumeClaimTemplate", errors)
    if place.pod and place.volume:
        claim = f"{place.pod}-{place.volume}"
        name_path = path.removesuffix(".ephemeral") + ".name"
        for problem in content.dns_subdomain_problems(claim):
            errors.append(field_invalid(name_path, place.volume, f'PVC name "{claim}": {problem}'))


def _check_image(source: Object, path: str, errors: Errors, place: Place) -> None:
    if place.options.is_pod and not source.get("reference"):
        errors.append(field_required(f"{path}.reference"))
    content.check_choice(source.get("pullPolicy"), PULL_POLICIES, f"{path}.pullPolicy", errors)


def validate_host_path(source: Field, place: object = None) -> None:
    check_host_path(source.value, source.path, source.errors)


def validate_flocker(source: Field, place: object = None) -> None:
    check_flocker(source.value, source.path, source.errors)


def validate_quobyte(source: Field, place: object = None) -> None:
    check_quobyte(source.value, source.path, source.errors)


def validate_iscsi(source: Field, place: object = None) -> None:
    check_iscsi(source.value, source.path, source.errors)


def validate_fc(source: Field, place: object = None) -> None:
    check_fc(source.value, source.path, source.errors)


def validate_flex(source: Field, place: object = None) -> None:
    check_flex(source.value, source.path, source.errors)


def validate_azure_disk(source: Field, place: object = None) -> None:
    check_azure_disk(source.value, source.path, source.errors)


def validate_storage_os_names(source: Field, place: object = None) -> None:
    check_storage_os_names(source.value, source.path, source.errors)


# --- files made of other things ------------------------------------------------------------------------------------


def _check_downward(source: Object, path: str, errors: Errors, place: Place) -> None:
    check_mode(source, "defaultMode", path, errors)
    for item in source.get("items") or ():
        _check_downward_file(item, path, errors)


def _check_downward_file(item: Object, path: str, errors: Errors) -> None:
    """Its errors do not say which of the files it is."""
    check_required(item, ("path",), path, errors)
    content.check_unreserved_path(item.get("path") or "", f"{path}.path", errors)
    field, resource = item.get("fieldRef"), item.get("resourceFieldRef")
    if field is not None:
        environment.check_field_selector(field, environment.FIELDS_OF_FILES, f"{path}.fieldRef", errors)
        if resource is not None:
            why = "fieldRef and resourceFieldRef can not be specified simultaneously"
            errors.append(field_invalid(path, "resource", why))
    elif resource is not None:
        environment.check_resource_selector(resource, f"{path}.resourceFieldRef", errors, of_volume=True)
    else:
        errors.append(field_required(path, "one of fieldRef and resourceFieldRef is required"))
    check_mode(item, "mode", path, errors)


def _check_projected(source: Object, path: str, errors: Errors, place: Place) -> None:
    check_mode(source, "defaultMode", path, errors)
    taken: set[str] = set()
    for i, projection in enumerate(source.get("sources") or ()):
        here = f"{path}.sources[{i}]"
        found = [key for key in PROJECTIONS if projection.get(key) is not None]
        for key in found:
            PROJECTIONS[key](projection[key], f"{here}.{key}", path, errors, taken, place)
        if len(found) > 1:
            errors.append(field_forbidden(here, "may not specify more than 1 volume type per source"))


def _take(name: str, shown: str, path: str, errors: Errors, taken: set[str]) -> None:
    if not name:
        return
    if name in taken:
        errors.append(field_invalid(path, shown, "conflicting duplicate paths"))
    taken.add(name)


def _project_keys(
    source: Object, here: str, path: str, errors: Errors, taken: set[str], place: Place
) -> None:  # fmt: skip
    name = source.get("name") or ""
    check_required(source, ("name",), here, errors)
    for i, item in enumerate(source.get("items") or ()):
        _check_item(item, f"{here}.items[{i}]", errors)
        _take(item.get("path") or "", name, path, errors, taken)


def _project_fields(
    source: Object, here: str, path: str, errors: Errors, taken: set[str], place: Place
) -> None:  # fmt: skip
    for item in source.get("items") or ():
        _check_downward_file(item, here, errors)
        file = item.get("path") or ""
        _take(file, file, path, errors, taken)


def _project_token(
    source: Object, here: str, path: str, errors: Errors, taken: set[str], place: Place
) -> None:  # fmt: skip
    seconds = source.get("expirationSeconds") or 0
    if seconds < 600:
        why = "may not specify a duration less than 10 minutes"
        errors.append(field_invalid(f"{here}.expirationSeconds", seconds, why))
    if seconds > 1 << 32:
        why = "may not specify a duration larger than 2^32 seconds"
        errors.append(field_invalid(f"{here}.expirationSeconds", seconds, why))
    if not source.get("path"):
        errors.append(field_required(f"{path}.path"))
    elif not place.options.any_token_paths:
        content.check_unreserved_path(source["path"], f"{path}.path", errors)


PROJECTIONS: Mapping[str, Callable[[Object, str, str, Errors, set[str], Place], None]] = {
    "secret": _project_keys,
    "configMap": _project_keys,
    "downwardAPI": _project_fields,
    "serviceAccountToken": _project_token,
}

#: Sources in the order in which the server looks for them, and what it asks of each.
SOURCES: Mapping[str, Check] = {
    "emptyDir": check_empty_dir,
    "hostPath": check_host_path,
    "gitRepo": _check_git_repo,
    "gcePersistentDisk": _check_disk("pdName"),
    "awsElasticBlockStore": _check_disk("volumeID"),
    "secret": _keyed("secretName"),
    "nfs": _check_nfs,
    "iscsi": check_iscsi,
    "glusterfs": requires("endpoints", "path"),
    "flocker": check_flocker,
    "persistentVolumeClaim": requires("claimName"),
    "rbd": requires("monitors", "image"),
    "cinder": _check_cinder,
    "cephfs": requires("monitors"),
    "quobyte": check_quobyte,
    "downwardAPI": _check_downward,
    "fc": check_fc,
    "flexVolume": check_flex,
    "configMap": _keyed("name"),
    "azureFile": requires("secretName", "shareName"),
    "vsphereVolume": requires("volumePath"),
    "photonPersistentDisk": requires("pdID"),
    "portworxVolume": requires("volumeID"),
    "azureDisk": check_azure_disk,
    "storageos": _check_storage_os,
    "projected": _check_projected,
    "scaleIO": requires("gateway", "system", "volumeName"),
    "csi": _check_csi,
    "ephemeral": _check_ephemeral,
    "image": _check_image,
}
ORDER = {key: n for n, key in enumerate(SOURCES)}

#: Names under which the server refuses a second source.
OTHER_NAMES = {"cephfs": "cephFS", "downwardAPI": "downwarAPI"}
