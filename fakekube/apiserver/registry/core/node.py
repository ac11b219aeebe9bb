"""Node (`ValidateNode`, `ValidateNodeUpdate`)."""

from __future__ import annotations

import re
from typing import Any

from fakekube.apiserver.names import label_value_problems
from fakekube.apiserver.registry.core.pod.defaults import round_up_all
from fakekube.apiserver.registry.core.pod.validation.affinity import EFFECTS
from fakekube.apiserver.registry.core.resourcenames import validate_quantity
from fakekube.apiserver.registry.generic.gatedfields import REMOVED, GatedFields
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
from fakekube.apiserver.registry.generic.validation.content import (
    config_key_problems,
)
from fakekube.apiserver.registry.generic.validation.field import Field
from fakekube.apiserver.registry.generic.validation.ip import cidr_family, cidr_warnings, legacy_cidr_problems
from fakekube.apiserver.registry.generic.validation.metadata import validate_metadata, validate_metadata_update
from fakekube.apiserver.registry.generic.validation.rules import update_validator, validator
from fakekube.apiserver.wire.goprint import go_quote

Object = dict[str, Any]


def default_node(obj: Object) -> None:
    """`podCIDR` is the first of `podCIDRs`, and `allocatable` defaults to `capacity`."""
    spec, status = obj.setdefault("spec", {}), obj.get("status") or {}
    one, many = spec.get("podCIDR"), spec.get("podCIDRs")
    if one and (not many or many[0] != one):
        spec["podCIDRs"] = [one]
    elif many:
        spec["podCIDR"] = many[0]
    round_up_all(status, ("capacity", "allocatable"))
    if status.get("capacity") and status.get("allocatable") is None:
        status["allocatable"] = dict(status["capacity"])


#: Dynamic configuration of kubelets.
_CONFIG = (REMOVED, ("status.config",))

_GATED = GatedFields(
    _CONFIG,
    (REMOVED, ("spec.configSource",)),
    ("RecursiveReadOnlyMounts", ("status.runtimeHandlers",)),
    ("SupplementalGroupsPolicy", ("status.features",)),
    ("NodeDeclaredFeatures", ("status.declaredFeatures",)),
)


def prepare_node_update(new: Object, old: Object) -> Object:
    return {**new, "status": old.get("status") or {}}


ONLY_ONCE = 'node updates may not change {} except from "" to valid'


def validate(node: Field) -> None:
    _validate_taints(node)
    _validate_resources(node["status"])
    _validate_features(node["status"]["declaredFeatures"])
    _validate_pod_ranges(node["spec"]["podCIDRs"])


_FEATURE = re.compile(r"[A-Z][a-zA-Z0-9]*(?:/[a-zA-Z][a-zA-Z0-9]*)*", re.ASCII)


def _validate_features(features: Field) -> None:
    """Names of features, sorted and without duplicates (`validateNodeDeclaredFeatures`)."""
    last: str | None = None
    for feature in features:
        if last == feature.text:
            feature.duplicate()
        elif last is not None and last > feature.text:
            feature.invalid("list must be sorted alphabetically")
        last = feature.text
        if len(last) > 253:
            feature.invalid(f"invalid feature name {go_quote(last)}: must be no more than 253 characters")
        elif not _FEATURE.fullmatch(last):
            feature.invalid(f"invalid feature name {go_quote(last)}: {FEATURE}")


FEATURE = (
    "must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature or "
    "MyFeature/mySubFeature), and contain only alphanumeric characters and slashes"
)


def validate_update(new: Field, old: Field) -> None:
    validate_metadata(new)
    validate(new)
    validate_metadata_update(new, old)
    validate_status_update(new, old)


def validate_status_update(new: Field, old: Field) -> None:
    after, before, status = new["spec"], old["spec"], new["status"]
    _validate_resources(status)
    _validate_features(status["declaredFeatures"])
    addresses = status["addresses"]
    for i, address in enumerate(addresses):
        if address.value in addresses.value[:i]:
            address.duplicate_go({"Type": address["type"].text, "Address": address["address"].text})
    _validate_pod_ranges_kept(after["podCIDRs"], before["podCIDRs"].value or [])
    if before["providerID"] and before["providerID"].value != after["providerID"].value:
        after["providerID"].forbidden(ONLY_ONCE.format("providerID"))
    _validate_config_source(after.get("configSource"), recorded=False)
    for source in status["config"].members(("assigned", "active", "lastKnownGood")):
        _validate_config_source(source, recorded=True)
    _validate_taints(new)
    if after["externalID"].text != before["externalID"].text:
        after["externalID"].forbidden("may not be updated")


def _validate_taints(node: Field) -> None:
    """The paths are below metadata, where taints once were."""
    seen: set[tuple[str, str]] = set()
    for taint in node["metadata"].at("taints", node["spec"]["taints"].value):
        key, value, effect = taint["key"], taint["value"], taint["effect"]
        key.qualified_name()
        value.invalid_if(";".join(label_value_problems(value.text)))
        effect.required().one_of(EFFECTS)
        if (key.text, effect.text) in seen:
            shown = {"Key": key.text, "Value": value.text, "Effect": effect.text, "TimeAdded": taint["timeAdded"].value}
            taint.duplicate_go(shown, "taints must be unique by key and effect pair")
        seen.add((key.text, effect.text))


def _validate_resources(status: Field) -> None:
    for field in ("capacity", "allocatable"):
        for name in status[field].struct:
            validate_quantity(status[field][name], name)


def _validate_pod_ranges(ranges: Field) -> None:
    for one in ranges:
        one.check(legacy_cidr_problems)
    if len(ranges) < 2:
        return
    families = [cidr_family(one) for one in ranges.value]
    wrong = families.index("") if "" in families else None
    if wrong is not None:
        why = f"invalid CIDR[{wrong}]: <nil> (invalid CIDR address: {ranges.value[wrong]})"
        ranges.internal(f"invalid PodCIDRs. failed to check with dual stack with error:{why}")
    if wrong is not None or len(set(families)) < 2 or len(ranges) > 2:
        ranges.invalid("may specify no more than one CIDR for each IP family")


def _validate_pod_ranges_kept(ranges: Field, before: list[str]) -> None:
    if not before:
        return
    after: list[str] = ranges.value or []
    changed = 1 if len(after) != len(before) else sum(one != other for one, other in zip(after, before, strict=True))
    for _ in range(changed):
        ranges.forbidden(ONLY_ONCE.format("podCIDR"))


def _validate_config_source(source: Field, *, recorded: bool) -> None:
    """A kubelet's configuration in a ConfigMap: the kubelet ignores it, the API server still validates it."""
    reference = source["configMap"]
    if reference.value is None:
        source.with_value({"ConfigMap": None}).invalid_go("exactly one reference subfield must be non-nil")
        return
    for field in ("uid", "resourceVersion"):
        if recorded:
            reference[field].required(f"{field} must be set in status")
        else:
            reference[field].optional().forbidden(f"{field} must not be set in spec")
    reference["namespace"].required("namespace must be set").dns_label()
    reference["name"].required("name must be set").dns_subdomain()
    reference["kubeletConfigKey"].required("kubeletConfigKey must be set").check(config_key_problems)


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


def _without_architecture(obj: Object, ages: Ages) -> list[Any]:
    cells = _node(obj, ages)
    cells[KERNEL] = get(obj, "status.nodeInfo.kernelVersion") or "<unknown>"
    return cells


COLUMNS = columns(
    NAME, "Status", "Roles", AGE, "Version", wide("Internal-IP"), wide("External-IP"), wide("OS-Image"),
    wide("Kernel-Version"), wide("Container-Runtime"),
)  # fmt: skip
#: The position of the cell with the kernel.
KERNEL = 8


def node_warnings(node: Object) -> list[str]:
    spec = node.get("spec") or {}
    warnings = []
    if spec.get("configSource") is not None:
        warnings.append("spec.configSource: the feature is removed")
    if spec.get("externalID"):
        warnings.append("spec.externalID: this field is deprecated, and is unused by Kubernetes")
    for i, one in enumerate(spec.get("podCIDRs") or ()):
        warnings += cidr_warnings(one, f"spec.podCIDRs[{i}]")
    return warnings


KIND = Kind(
    "nodes",
    Strategy(
        status_on_create=True,
        fields={"spec.unschedulable": lambda o: "true" if (o.get("spec") or {}).get("unschedulable") else "false"},
        fields_message="label",
        repeats_metadata=False,
        default=default_node,
        drop_disabled=_GATED.drop_disabled,
        drop_disabled_status=GatedFields(_CONFIG).drop_disabled,
        prepare_update=prepare_node_update,
        validate=validator(validate),
        validate_update=update_validator(validate_update),
        validate_status_update=update_validator(validate_status_update),
        warnings=node_warnings,
    ),
    printer=Printer(COLUMNS, _node),
    printers_before={36: Printer(COLUMNS, _without_architecture)},
)
