"""Validates the volumes of a pod: their names and their sources (`ValidateVolumes`)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from fakekube.apiserver.features import since
from fakekube.apiserver.registry.core.persistentvolumeclaim.claimspec import validate_claim_template
from fakekube.apiserver.registry.core.pod.validation import envvars
from fakekube.apiserver.registry.core.pod.validation.podoptions import Pod
from fakekube.apiserver.registry.core.resourcenames import number_of
from fakekube.apiserver.registry.generic.validation import content
from fakekube.apiserver.registry.generic.validation.field import Field

PULL_POLICIES = ("Always", "IfNotPresent", "Never")
HOST_PATH_TYPES = (
    "", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket",
)  # fmt: skip


def validate_volumes(volumes: Field, pod: Pod) -> set[str]:
    """Returns the names of the valid volumes: only these can be mounted."""
    known: set[str] = set()
    errors, values = volumes.errors, volumes.value
    claims = {f"{pod.name}-{one.get('name') or ''}" for one in values if pod.name and one.get("ephemeral") is not None}
    for volume in volumes:
        before = len(errors)
        _validate_sources(volume, pod)
        volume.require_text("name", content.dns_label_problems)
        name = volume.value.get("name") or ""
        if name in known:
            volume["name"].duplicate()
        if len(errors) == before:
            known.add(name)
        claim = volume.find("persistentVolumeClaim.claimName")
        if claim.value in claims:
            claim.invalid("must not reference a PVC that gets created for an ephemeral volume")
    return known


def _validate_sources(volume: Field, pod: Pod) -> None:
    found = [key for key, value in volume.value.items() if key != "name" and value is not None]
    if not found:
        volume.missing("must specify a volume type")
    if len(found) > 1:
        found.sort(key=list(SOURCES).index)
    for key in found:
        if key != found[0]:
            volume[SHOWN_AS_SECOND.get(key, key)].forbidden("may not specify more than 1 volume type")
        else:
            source = volume.at(SHOWN.get(key, key), volume.value[key])
            validate_source(source, key)
            if key in POD_SOURCES:
                POD_SOURCES[key](source, pod)
        if key == "iscsi":
            _validate_portal(volume["iscsi"], volume["name"])


def validate_source(source: Field, name: str) -> None:
    """The rules that do not depend on the pod."""
    required, rule = SOURCES[name]
    source.require(*required)
    if rule is not None:
        rule(source)


def _validate_portal(source: Field, name: Field) -> None:
    if source["initiatorName"].value is not None and len(f"{name.text}:{source['targetPortal'].text}") > 64:
        name.invalid(
            "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is "
            "specified."
        )


def _validate_mode(mode: Field) -> None:
    mode.between(0, 0o777, "must be a number between 0 and 0777 (octal), both inclusive")


def _validate_empty_dir(source: Field) -> None:
    limit = source["sizeLimit"]
    if limit.value is not None and number_of(limit.value) < 0:
        limit.forbidden("SizeLimit field must be a valid resource quantity")


def _validate_host_path(source: Field) -> None:
    if source["path"].required().check(content.backstep_problems):
        source["type"].with_value(source["type"].text).one_of(HOST_PATH_TYPES)


def _validate_keys(source: Field) -> None:
    """The files of a Secret or a ConfigMap."""
    _validate_mode(source["defaultMode"])
    for item in source.each("items"):
        _validate_key_to_path(item)


def _validate_key_to_path(item: Field) -> None:
    item.require("key", "path")
    item["path"].check(content.unreserved_path_problems)
    _validate_mode(item["mode"])


def _validate_nfs(source: Field) -> None:
    if not source["path"].text.startswith("/"):
        source["path"].invalid("must be an absolute path")


_QUALIFIERS = {
    "iqn": re.compile(r"iqn\.\d{4}-\d{2}\.([a-zA-Z0-9-.]+)(:[^,;*&$|\s]+)$"),
    "eui": re.compile(r"^eui.[a-zA-Z0-9]{16}$"),
    "naa": re.compile(r"^naa.[a-zA-Z0-9]{32}$"),
}


def _validate_iscsi(source: Field) -> None:
    source.require("targetPortal")
    source["iqn"].required().check(_qualified_name_problems)
    source["lun"].between(0, 255)
    if source["chapAuthDiscovery"] or source["chapAuthSession"]:
        source["secretRef"].specified()
    initiator = source["initiatorName"].value
    if initiator is not None:
        source.at("initiatorname", initiator).check(_qualified_name_problems)


def _qualified_name_problems(name: str) -> list[str]:
    pattern = _QUALIFIERS.get(name[:3])
    if pattern is None:
        return ["must be valid format starting with iqn, eui, or naa"]
    return [] if pattern.search(name) else ["must be valid format"]


def _validate_flocker(source: Field) -> None:
    name, uuid = source["datasetName"], source["datasetUUID"]
    if not name and not uuid:
        source.missing("one of datasetName and datasetUUID is required")
    if name and uuid:
        source.invalid("datasetName and datasetUUID can not be specified simultaneously", "resource")
    if "/" in name:
        name.invalid("must not contain '/'")


_PAIRS = "must be a host:port pair or multiple pairs separated by commas"
_HOST_PORT = re.compile(r"(\[[^\[\]]*\]|[^:\[\]]*):[^:\[\]]*")


def _validate_quobyte(source: Field) -> None:
    registry = source["registry"]
    if registry.required(_PAIRS):
        if len(source["tenant"]) >= 65:
            source["tenant"].missing("must be a UUID and may not exceed a length of 64 characters")
        else:
            registry.check(lambda text: [_PAIRS for one in text.split(",") if not _HOST_PORT.fullmatch(one)])
    source.require("volume")


def _validate_fc(source: Field) -> None:
    targets, wwids = source["targetWWNs"], source["wwids"]
    if not targets and not wwids:
        targets.missing("must specify either targetWWNs or wwids, but not both")
    if targets and wwids:
        targets.invalid("targetWWNs and wwids can not be specified simultaneously")
    if targets:
        source["lun"].specified("lun is required if targetWWNs is specified").between(0, 255)


def _validate_flex(source: Field) -> None:
    source.require("driver")
    for option in source["options"].entries():
        if f".{option.key.partition('/')[0].lower()}".endswith((".kubernetes.io", ".k8s.io")):
            option.invalid("kubernetes.io and k8s.io namespaces are reserved", option.key)


_MANAGED_URI = "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"
_BLOB_URI = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"


def _validate_azure_disk(source: Field) -> None:
    source.require("diskName", "diskURI")
    source.get("cachingMode").one_of(("None", "ReadOnly", "ReadWrite"))
    uri, kind = source["diskURI"], source["kind"]
    if kind.value is None:
        return
    kind.one_of(("Dedicated", "Managed", "Shared"))
    start, example = ("/subscriptions/", _MANAGED_URI) if kind.value == "Managed" else ("https://", _BLOB_URI)
    if not uri.text.startswith(start):
        uri.not_supported((example,))


def _validate_storage_os(source: Field) -> None:
    validate_storage_os_names(source)
    source.get("secretRef").require("name")


def validate_storage_os_names(source: Field) -> None:
    source.require_text("volumeName", content.dns_label_problems)
    source["volumeNamespace"].optional().dns_label()


def validate_csi_driver_name(name: Field) -> None:
    """`ValidateCSIDriverName`."""
    given = name.required()
    (given if since(35) else name).max_bytes(63).check(lambda text: content.dns_subdomain_problems(text.lower()))


def _validate_csi(source: Field) -> None:
    validate_csi_driver_name(source["driver"])
    secret = source["nodePublishSecretRef"]
    if secret.value is not None and secret["name"].required():
        source.at("name", secret["name"].value).dns_subdomain()


def _validate_ephemeral(source: Field, pod: Pod) -> None:
    validate_claim_template(source["volumeClaimTemplate"].specified())
    name = source.parent["name"]
    if pod.name and name:
        claim = f"{pod.name}-{name.value}"
        for problem in content.dns_subdomain_problems(claim):
            name.invalid(f'PVC name "{claim}": {problem}')


def _validate_image(source: Field, pod: Pod) -> None:
    if pod.options.is_pod:
        source.require("reference")
    source.require_choice("pullPolicy", PULL_POLICIES)


def _validate_downward(source: Field) -> None:
    _validate_mode(source["defaultMode"])
    for item in source["items"]:
        _validate_downward_file(source.with_value(item.value))


def _validate_downward_file(item: Field) -> None:
    """The errors have the path of the source and not of the item."""
    item.require("path")
    item["path"].check(content.unreserved_path_problems)
    field, resource = item["fieldRef"], item["resourceFieldRef"]
    if field.value is not None:
        envvars.validate_field_selector(field, envvars.FIELDS_OF_FILES)
        if resource.value is not None:
            item.invalid("fieldRef and resourceFieldRef can not be specified simultaneously", "resource")
    elif resource.value is not None:
        envvars.validate_resource_field_selector(resource, True)
    else:
        item.missing("one of fieldRef and resourceFieldRef is required")
    _validate_mode(item["mode"])


def _validate_projected(source: Field, pod: Pod) -> None:
    _validate_mode(source["defaultMode"])
    taken: set[str] = set()
    for projection in source["sources"]:
        found = projection.members(PROJECTIONS)
        for member in found:
            PROJECTIONS[member.key](member, source, taken, pod)
        if len(found) > 1:
            projection.forbidden("may not specify more than 1 volume type per source")


def _take(item: Field, shown: str, source: Field, taken: set[str]) -> None:
    if item["path"].value in taken:
        source.invalid("conflicting duplicate paths", shown)
    taken.update(filter(None, [item["path"].text]))


def _project_keys(projection: Field, source: Field, taken: set[str], pod: Pod) -> None:
    projection.require("name")
    for item in projection["items"]:
        _validate_key_to_path(item)
        _take(item, projection["name"].text, source, taken)


def _project_fields(projection: Field, source: Field, taken: set[str], pod: Pod) -> None:
    for item in projection["items"]:
        _validate_downward_file(projection.with_value(item.value))
        _take(item, item["path"].text, source, taken)


def _project_token(projection: Field, source: Field, taken: set[str], pod: Pod) -> None:
    validate_token_seconds(projection["expirationSeconds"])
    path = source.at("path", projection["path"].value).required()
    if not pod.options.any_token_paths:
        path.check(content.unreserved_path_problems)


def validate_token_seconds(seconds: Field) -> None:
    seconds.at_least(600, "may not specify a duration less than 10 minutes")
    seconds.at_most(1 << 32, "may not specify a duration larger than 2^32 seconds")


PROJECTIONS = {
    "secret": _project_keys,
    "configMap": _project_keys,
    "downwardAPI": _project_fields,
    "serviceAccountToken": _project_token,
}

#: The error of a partition, which can be 0 as well: it is not set.
PARTITION = content.range_problem(1, 255)

#: Sources in the order in which the server validates them: required members, further rules.
SOURCES: Mapping[str, tuple[tuple[str, ...], Callable[[Field], object] | None]] = {
    "emptyDir": ((), _validate_empty_dir),
    "hostPath": ((), _validate_host_path),
    "gitRepo": (("repository",), lambda source: source["directory"].check(content.descending_path_problems)),
    "gcePersistentDisk": (("pdName",), lambda source: source["partition"].between(0, 255, PARTITION)),
    "awsElasticBlockStore": (("volumeID",), lambda source: source["partition"].between(0, 255, PARTITION)),
    "secret": (("secretName",), _validate_keys),
    "nfs": (("server", "path"), _validate_nfs),
    "iscsi": ((), _validate_iscsi),
    "glusterfs": (("endpoints", "path"), None),
    "flocker": ((), _validate_flocker),
    "persistentVolumeClaim": (("claimName",), None),
    "rbd": (("monitors", "image"), None),
    "cinder": (("volumeID",), lambda source: source.get("secretRef").require("name")),
    "cephfs": (("monitors",), None),
    "quobyte": ((), _validate_quobyte),
    "downwardAPI": ((), _validate_downward),
    "fc": ((), _validate_fc),
    "flexVolume": ((), _validate_flex),
    "configMap": (("name",), _validate_keys),
    "azureFile": (("secretName", "shareName"), None),
    "vsphereVolume": (("volumePath",), None),
    "photonPersistentDisk": (("pdID",), None),
    "portworxVolume": (("volumeID",), None),
    "azureDisk": ((), _validate_azure_disk),
    "storageos": ((), _validate_storage_os),
    "projected": ((), None),
    "scaleIO": (("gateway", "system", "volumeName"), None),
    "csi": ((), _validate_csi),
    "ephemeral": ((), None),
    "image": ((), None),
}
#: Further rules of sources, which depend on the pod.
POD_SOURCES = {"projected": _validate_projected, "ephemeral": _validate_ephemeral, "image": _validate_image}

#: Other names of a source in errors: of the first one, and of others.
SHOWN = {"gcePersistentDisk": "persistentDisk"}
SHOWN_AS_SECOND = {"cephfs": "cephFS", "downwardAPI": "downwarAPI"}
