"""Rows of what belongs to the cluster: nodes, namespaces, events, storage, devices, flow control."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fakekube.apiserver.registry.tables.ages import Ages
from fakekube.apiserver.registry.tables.columns import (
    AGE,
    NAME,
    Column,
    Printer,
    age,
    boolean,
    columns,
    get,
    going,
    integer,
    joined,
    name,
    wide,
)
from fakekube.apiserver.registry.tables.configuration import name_and_age

Object = dict[str, Any]


def _namespace(obj: Object, ages: Ages) -> list[Any]:
    return [name(obj), get(obj, "status.phase", ""), age(obj, ages)]


ROLE_PREFIX, ROLE_LABEL = "node-role.kubernetes.io/", "kubernetes.io/role"


def _roles(node: Object) -> str:
    labels = get(node, "metadata.labels", {})
    found = {key.removeprefix(ROLE_PREFIX) for key in labels if key.startswith(ROLE_PREFIX)}
    return joined(sorted((found | {labels.get(ROLE_LABEL, "")}) - {""})) or "<none>"


def _node_state(node: Object) -> str:
    ready = {condition.get("type"): condition.get("status") for condition in get(node, "status.conditions", ())}
    state = "Unknown" if "Ready" not in ready else "Ready" if ready["Ready"] == "True" else "NotReady"
    return f"{state},SchedulingDisabled" if get(node, "spec.unschedulable") else state


def _address(node: Object, type: str) -> str:
    addresses = get(node, "status.addresses", ())
    return next((one.get("address") or "" for one in addresses if one.get("type") == type), "<none>")


def _node(obj: Object, ages: Ages) -> list[Any]:
    info = get(obj, "status.nodeInfo", {})
    kernel, architecture = info.get("kernelVersion") or "<unknown>", info.get("architecture")
    return [
        name(obj),
        _node_state(obj),
        _roles(obj),
        age(obj, ages),
        info.get("kubeletVersion") or "",
        _address(obj, "InternalIP"),
        _address(obj, "ExternalIP"),
        info.get("osImage") or "<unknown>",
        f"{kernel} ({architecture})" if architecture else kernel,
        info.get("containerRuntimeVersion") or "<unknown>",
    ]


def _component_status(obj: Object, ages: Ages) -> list[Any]:
    healthy: Object = next((one for one in obj.get("conditions") or () if one.get("type") == "Healthy"), {})
    state = "Unknown" if not healthy else "Healthy" if healthy.get("status") == "True" else "Unhealthy"
    return [name(obj), state, healthy.get("message") or "", healthy.get("error") or ""]


def _event_times(event: Object, ages: Ages) -> tuple[str, str, int]:
    """When an event was first and last seen, and how often."""
    first = ages(event.get("firstTimestamp") or event.get("eventTime"))
    last = ages(event["lastTimestamp"]) if event.get("lastTimestamp") else first
    series = event.get("series")
    if series is not None:
        return first, ages(series.get("lastObservedTime")), series.get("count") or 0
    return first, last, event.get("count") or 1


def _event(obj: Object, ages: Ages) -> list[Any]:
    about = obj.get("involvedObject") or {}
    kind = (about.get("kind") or "").lower()
    component = get(obj, "source.component") or obj.get("reportingComponent") or ""
    host = get(obj, "source.host") or obj.get("reportingInstance") or ""
    first, last, count = _event_times(obj, ages)
    return [
        last,
        obj.get("type") or "",
        obj.get("reason") or "",
        f"{kind}/{about['name']}" if about.get("name") else kind,
        about.get("fieldPath") or "",
        f"{component}, {host}" if host else component,
        (obj.get("message") or "").strip(),
        first,
        count,
        name(obj),
    ]


#: Access modes in the order in which they are shown.
_MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}
_CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"


def _modes(modes: Sequence[str]) -> str:
    return joined([short for mode, short in _MODES.items() if mode in modes])


def _storage_class_name(obj: Object) -> str:
    annotations = get(obj, "metadata.annotations", {})
    found = annotations.get(_CLASS_ANNOTATION)
    return str(get(obj, "spec.storageClassName", "") if found is None else found)


def _phase(obj: Object) -> str:
    return "Terminating" if going(obj) else str(get(obj, "status.phase", ""))


def _claim(obj: Object, ages: Ages) -> list[Any]:
    volume = get(obj, "spec.volumeName", "")
    return [
        name(obj),
        _phase(obj),
        volume,
        get(obj, "status.capacity.storage", "0") if volume else "",
        _modes(get(obj, "status.accessModes", ())) if volume else "",
        _storage_class_name(obj),
        get(obj, "spec.volumeAttributesClassName", "<unset>"),
        age(obj, ages),
        get(obj, "spec.volumeMode", "<unset>"),
    ]


def _volume(obj: Object, ages: Ages) -> list[Any]:
    claim = get(obj, "spec.claimRef")
    return [
        name(obj),
        get(obj, "spec.capacity.storage", "0"),
        _modes(get(obj, "spec.accessModes", ())),
        get(obj, "spec.persistentVolumeReclaimPolicy", ""),
        _phase(obj),
        "" if claim is None else f"{claim.get('namespace') or ''}/{claim.get('name') or ''}",
        _storage_class_name(obj),
        get(obj, "spec.volumeAttributesClassName", "<unset>"),
        get(obj, "status.reason", ""),
        age(obj, ages),
        get(obj, "spec.volumeMode", "<unset>"),
    ]


_DEFAULT_CLASS = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")


def _storage_class(obj: Object, ages: Ages) -> list[Any]:
    annotations = get(obj, "metadata.annotations", {})
    default = any(annotations.get(key) == "true" for key in _DEFAULT_CLASS)
    return [
        f"{name(obj)} (default)" if default else name(obj),
        obj.get("provisioner") or "",
        obj.get("reclaimPolicy") or "Delete",
        obj.get("volumeBindingMode") or "Immediate",
        bool(obj.get("allowVolumeExpansion")),
        age(obj, ages),
    ]


def _attributes_class(obj: Object, ages: Ages) -> list[Any]:
    return [name(obj), obj.get("driverName") or "", age(obj, ages)]


def _attachment(obj: Object, ages: Ages) -> list[Any]:
    return [
        name(obj),
        get(obj, "spec.attacher", ""),
        get(obj, "spec.source.persistentVolumeName", ""),
        get(obj, "spec.nodeName", ""),
        get(obj, "status.attached", False),
        age(obj, ages),
    ]


def _csi_node(obj: Object, ages: Ages) -> list[Any]:
    return [name(obj), len(get(obj, "spec.drivers", ())), age(obj, ages)]


def _csi_driver(obj: Object, ages: Ages) -> list[Any]:
    spec = obj.get("spec") or {}
    requests = spec.get("tokenRequests")
    return [
        name(obj),
        spec.get("attachRequired", True),
        bool(spec.get("podInfoOnMount")),
        bool(spec.get("storageCapacity")),
        "<unset>" if requests is None else joined([one.get("audience") or "" for one in requests]),
        bool(spec.get("requiresRepublish")),
        joined(spec.get("volumeLifecycleModes") or ()) or "<none>",
        age(obj, ages),
    ]


def _storage_capacity(obj: Object, ages: Ages) -> list[Any]:
    return [name(obj), obj.get("storageClassName") or "", obj.get("capacity") or "<unset>"]


def _api_service(obj: Object, ages: Ages) -> list[Any]:
    service = get(obj, "spec.service")
    where = f"{service.get('namespace') or ''}/{service.get('name') or ''}" if service else "Local"
    available: Object = next((one for one in get(obj, "status.conditions", ()) if one.get("type") == "Available"), {})
    state = available.get("status") or "Unknown"
    if available and state != "True":
        state = f"{state} ({available.get('reason') or ''})"
    return [name(obj), where, state, age(obj, ages)]


def _flow_schema(obj: Object, ages: Ages) -> list[Any]:
    dangling = [one.get("status") for one in get(obj, "status.conditions", ()) if one.get("type") == "Dangling"]
    return [
        name(obj),
        get(obj, "spec.priorityLevelConfiguration.name", ""),
        get(obj, "spec.matchingPrecedence", 0),
        get(obj, "spec.distinguisherMethod.type", "<none>"),
        age(obj, ages),
        dangling[0] if dangling else "?",
    ]


def _by_precedence(schemas: Sequence[Object]) -> Sequence[Object]:
    return sorted(schemas, key=lambda one: (get(one, "spec.matchingPrecedence", 0), name(one)))


def _priority_level(obj: Object, ages: Ages) -> list[Any]:
    limited = get(obj, "spec.limited")
    shares = "<none>" if limited is None else limited.get("nominalConcurrencyShares") or 0
    queuing = get(limited, "limitResponse.queuing")
    queues = [
        "<none>" if queuing is None else queuing.get(field, 0) for field in ("queues", "handSize", "queueLengthLimit")
    ]
    return [name(obj), get(obj, "spec.type", ""), shares, *queues, age(obj, ages)]


def _storage_version(obj: Object, ages: Ages) -> list[Any]:
    found = [
        f"{one.get('apiServerID') or ''}={one.get('encodingVersion') or ''}"
        for one in get(obj, "status.storageVersions", ())
    ]
    return [
        name(obj),
        get(obj, "status.commonEncodingVersion", "<unset>"),
        joined(found, 3) or "<unset>",
        age(obj, ages),
    ]


def _resource_claim(obj: Object, ages: Ages) -> list[Any]:
    states = ["deleted"] if going(obj) else []
    if get(obj, "status.allocation") is not None:
        states += ["allocated", *(["reserved"] if get(obj, "status.reservedFor") else [])]
    elif not states:
        states = ["pending"]
    return [name(obj), joined(states), age(obj, ages)]


def _resource_slice(obj: Object, ages: Ages) -> list[Any]:
    return [
        name(obj),
        *(get(obj, f"spec.{field}", "") for field in ("nodeName", "driver", "pool.name")),
        age(obj, ages),
    ]


_NAME_AND_AGE = Printer(columns(NAME, AGE), name_and_age)
_STORAGE, _FLOW, _DEVICES = "storage.k8s.io", "flowcontrol.apiserver.k8s.io", "resource.k8s.io"

EVENT = Printer(
    columns("Last Seen", "Type", "Reason", "Object", wide("Subobject"), wide("Source"), "Message", wide("First Seen"),
            wide("Count"), Column("Name", format="name", priority=1)),
    _event,
)  # fmt: skip

PRINTERS = {
    "namespaces": Printer(columns(NAME, "Status", AGE), _namespace),
    "nodes": Printer(
        columns(NAME, "Status", "Roles", AGE, "Version", wide("Internal-IP"), wide("External-IP"), wide("OS-Image"),
                wide("Kernel-Version"), wide("Container-Runtime")),
        _node,
    ),
    "componentstatuses": Printer(columns(NAME, "Status", "Message", "Error"), _component_status),
    "events": EVENT,
    "events.events.k8s.io": EVENT,
    "persistentvolumeclaims": Printer(
        columns(NAME, "Status", "Volume", "Capacity", "Access Modes", "StorageClass", "VolumeAttributesClass", AGE,
                wide("VolumeMode")),
        _claim,
    ),
    "persistentvolumes": Printer(
        columns(NAME, "Capacity", "Access Modes", "Reclaim Policy", "Status", "Claim", "StorageClass",
                "VolumeAttributesClass", "Reason", AGE, wide("VolumeMode")),
        _volume,
    ),
    f"storageclasses.{_STORAGE}": Printer(
        columns(NAME, "Provisioner", "ReclaimPolicy", "VolumeBindingMode", "AllowVolumeExpansion", AGE), _storage_class
    ),
    f"volumeattributesclasses.{_STORAGE}": Printer(columns(NAME, "DriverName", AGE), _attributes_class),
    f"volumeattachments.{_STORAGE}": Printer(
        columns(NAME, Column("Attacher", format="name"), "PV", "Node", boolean("Attached"), AGE), _attachment
    ),
    f"csinodes.{_STORAGE}": Printer(columns(NAME, integer("Drivers"), AGE), _csi_node),
    f"csidrivers.{_STORAGE}": Printer(
        columns(NAME, boolean("AttachRequired"), boolean("PodInfoOnMount"), boolean("StorageCapacity"), "TokenRequests",
                boolean("RequiresRepublish"), "Modes", AGE),
        _csi_driver,
    ),
    f"csistoragecapacities.{_STORAGE}": Printer(columns(NAME, "StorageClassName", "Capacity"), _storage_capacity),
    "apiservices.apiregistration.k8s.io": Printer(columns(NAME, "Service", "Available", AGE), _api_service),
    f"flowschemas.{_FLOW}": Printer(
        columns(NAME, "PriorityLevel", "MatchingPrecedence", "DistinguisherMethod", AGE, "MissingPL"),
        _flow_schema,
        order=_by_precedence,
    ),
    f"prioritylevelconfigurations.{_FLOW}": Printer(
        columns(NAME, "Type", "NominalConcurrencyShares", "Queues", "HandSize", "QueueLengthLimit", AGE),
        _priority_level,
    ),
    "storageversions.internal.apiserver.k8s.io": Printer(
        columns(NAME, "CommonEncodingVersion", "StorageVersions", AGE), _storage_version
    ),
    f"deviceclasses.{_DEVICES}": _NAME_AND_AGE,
    f"resourceclaims.{_DEVICES}": Printer(columns(NAME, "State", AGE), _resource_claim),
    f"resourceclaimtemplates.{_DEVICES}": _NAME_AND_AGE,
    f"resourceslices.{_DEVICES}": Printer(columns(NAME, "Node", "Driver", "Pool", AGE), _resource_slice),
}  # fmt: skip
