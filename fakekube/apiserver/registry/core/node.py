"""TODO"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fakekube.apiserver.registry.core.resourcenames import check_quantity
from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import (
    AGE,
    NAME,
    Printer,
    age_of,
    columns,
    get,
    joined,
    name_of,
    wide,
)
from fakekube.apiserver.registry.generic.validation import gostructs
from fakekube.apiserver.registry.generic.validation.content import (
    Errors,
    add,
    check_dns_label,
    check_dns_subdomain,
    check_qualified_name,
    config_key_problems,
)
from fakekube.apiserver.registry.generic.validation.ip import check_cidr, cidr_family
from fakekube.apiserver.registry.generic.validation.labelselectors import value_problems
from fakekube.apiserver.wire.status import (
    FieldError,
    field_duplicate,
    field_forbidden,
    field_invalid,
    field_not_supported,
    field_required,
)

Object = dict[str, Any]

#: The taint that every new node gets, until its kubelet says that it is ready (admission plugin
#: TaintNodesByCondition).
NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}


def default_node(obj: Object) -> None:
    """One range of pod addresses is also the first of many; what can be allocated is all there is."""
    spec, status = obj.setdefault("spec", {}), obj.get("status") or {}
    one, many = spec.get("podCIDR"), spec.get("podCIDRs")
    if one and (not many or many[0] != one):
        spec["podCIDRs"] = [one]
    elif many:
        spec["podCIDR"] = many[0]
    if status.get("capacity") and status.get("allocatable") is None:
        status["allocatable"] = dict(status["capacity"])


def prepare_node(obj: Object) -> Object:
    spec = obj.get("spec") or {}
    taints = spec.get("taints") or []
    if any(taint.get("key") == NOT_READY["key"] and taint.get("effect") == NOT_READY["effect"] for taint in taints):
        return obj
    return {**obj, "spec": {**spec, "taints": [*taints, dict(NOT_READY)]}}


def prepare_node_update(new: Object, old: Object) -> Object:
    return {**new, "status": old.get("status") or {}}


EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def validate_node(node: Object) -> list[FieldError]:
    errors: Errors = []
    spec = node.get("spec") or {}
    _check_taints(spec.get("taints") or (), errors)
    _check_resources(node, errors)
    _check_pod_ranges(spec.get("podCIDRs") or [], errors)
    return errors


def validate_node_update(new: Object, old: Object) -> list[FieldError]:
    """Of the node and of its status: both are checked whole."""
    errors: Errors = []
    after, before, status = new.get("spec") or {}, old.get("spec") or {}, new.get("status") or {}
    _check_resources(new, errors)
    _check_node_addresses(status.get("addresses") or (), errors)
    _check_pod_ranges_kept(after.get("podCIDRs") or [], before.get("podCIDRs") or [], errors)
    if before.get("providerID") and before["providerID"] != after.get("providerID"):
        why = 'node updates may not change providerID except from "" to valid'
        errors.append(field_forbidden("spec.providerID", why))
    if after.get("configSource") is not None:
        _check_config_source(after["configSource"], "spec.configSource", errors, recorded=False)
    for field in ("assigned", "active", "lastKnownGood"):
        source = (status.get("config") or {}).get(field)
        if source is not None:
            _check_config_source(source, f"status.config.{field}", errors, recorded=True)
    _check_taints(after.get("taints") or (), errors)
    if (after.get("externalID") or "") != (before.get("externalID") or ""):
        errors.append(field_forbidden("spec.externalID", "may not be updated"))
    return errors


def _check_taints(taints: Sequence[Object], errors: Errors) -> None:
    """The paths are below metadata, where taints once were."""
    seen: set[tuple[str, str]] = set()
    for i, taint in enumerate(taints):
        path = f"metadata.taints[{i}]"
        key, value, effect = (taint.get(field) or "" for field in ("key", "value", "effect"))
        check_qualified_name(key, f"{path}.key", errors)
        problems = value_problems(value)
        if problems:
            errors.append(field_invalid(f"{path}.value", value, ";".join(problems)))
        if not effect:
            errors.append(field_required(f"{path}.effect"))
        elif effect not in EFFECTS:
            errors.append(field_not_supported(f"{path}.effect", effect, EFFECTS))
        if (key, effect) in seen:
            shown = {"Key": key, "Value": value, "Effect": effect, "TimeAdded": taint.get("timeAdded")}
            why = f"Duplicate value: {gostructs.marshal(shown)}: taints must be unique by key and effect pair"
            errors.append(FieldError(path, "FieldValueDuplicate", why))
        seen.add((key, effect))


def _check_resources(node: Object, errors: Errors) -> None:
    status = node.get("status") or {}
    for field in ("capacity", "allocatable"):
        for name, value in (status.get(field) or {}).items():
            check_quantity(name, value, f"status.{field}.{name}", errors)


def _check_pod_ranges(ranges: list[str], errors: Errors) -> None:
    path = "spec.podCIDRs"
    for i, one in enumerate(ranges):
        check_cidr(one, f"{path}[{i}]", errors)
    if len(ranges) < 2:
        return
    families = [cidr_family(one) for one in ranges]
    if "" not in families and (len(set(families)) < 2 or len(ranges) > 2):
        errors.append(field_invalid(path, ranges, "may specify no more than one CIDR for each IP family"))
    for i, one in enumerate(ranges):
        if one in ranges[:i]:
            errors.append(field_duplicate(f"{path}[{i}]", one))


def _check_pod_ranges_kept(after: list[str], before: list[str], errors: Errors) -> None:
    if not before:
        return
    why = 'node updates may not change podCIDR except from "" to valid'
    changed = 1 if len(after) != len(before) else sum(one != other for one, other in zip(after, before, strict=True))
    errors += [field_forbidden("spec.podCIDRs", why)] * changed


def _check_node_addresses(addresses: Sequence[Object], errors: Errors) -> None:
    for i, address in enumerate(addresses):
        if address in addresses[:i]:
            shown = gostructs.marshal({"Type": address.get("type", ""), "Address": address.get("address", "")})
            errors.append(FieldError(f"status.addresses[{i}]", "FieldValueDuplicate", f"Duplicate value: {shown}"))


def _check_config_source(source: Object, path: str, errors: Errors, *, recorded: bool) -> None:
    """A kubelet's configuration from a ConfigMap: long gone, still checked."""
    reference = source.get("configMap")
    if reference is None:
        why = "exactly one reference subfield must be non-nil"
        errors.append(FieldError(path, "FieldValueInvalid", f'Invalid value: {{"ConfigMap":null}}: {why}'))
        return
    path = f"{path}.configMap"
    for field in ("uid", "resourceVersion"):
        if recorded and not reference.get(field):
            errors.append(field_required(f"{path}.{field}", f"{field} must be set in status"))
        if not recorded and reference.get(field):
            errors.append(field_forbidden(f"{path}.{field}", f"{field} must not be set in spec"))
    for field in ("namespace", "name", "kubeletConfigKey"):
        value, here = reference.get(field) or "", f"{path}.{field}"
        if not value:
            errors.append(field_required(here, f"{field} must be set"))
        elif field == "namespace":
            check_dns_label(value, here, errors)
        elif field == "name":
            check_dns_subdomain(value, here, errors)
        else:
            add(errors, here, value, config_key_problems(value))


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
        name_of(obj),
        _node_state(obj),
        _roles(obj),
        age_of(obj, ages),
        info.get("kubeletVersion") or "",
        _address(obj, "InternalIP"),
        _address(obj, "ExternalIP"),
        info.get("osImage") or "<unknown>",
        f"{kernel} ({architecture})" if architecture else kernel,
        info.get("containerRuntimeVersion") or "<unknown>",
    ]


KIND = Kind(
    "nodes",
    Strategy(
        status_on_create=True,
        fields={"spec.unschedulable": lambda o: "true" if (o.get("spec") or {}).get("unschedulable") else "false"},
        fields_message="label",
        default=default_node,
        prepare_create=prepare_node,
        prepare_update=prepare_node_update,
        validate=validate_node,
        validate_update=validate_node_update,
        validate_status_update=validate_node_update,
    ),
    printer=Printer(
        columns(
            NAME,
            "Status",
            "Roles",
            AGE,
            "Version",
            wide("Internal-IP"),
            wide("External-IP"),
            wide("OS-Image"),
            wide("Kernel-Version"),
            wide("Container-Runtime"),
        ),
        _node,
    ),
)
