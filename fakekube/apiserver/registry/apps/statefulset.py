"""TODO"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fakekube.apiserver import names
from fakekube.apiserver.registry.core.persistentvolumeclaim.claimspec import check_claim_spec
from fakekube.apiserver.registry.core.pod.defaults import default_template
from fakekube.apiserver.registry.core.pod.validation.podoptions import PodOptions
from fakekube.apiserver.registry.core.pod.validation.podspec import check_template
from fakekube.apiserver.registry.core.pod.warnings import Warnings, claim_warnings
from fakekube.apiserver.registry.core.podtemplate.status import status_validator
from fakekube.apiserver.registry.core.podtemplate.table import TEMPLATE_COLUMNS, container_cells, count_at
from fakekube.apiserver.registry.core.podtemplate.validation import (
    CheckSpec,
    check_lasting,
    check_match,
    check_selector,
    options_of,
    validator,
)
from fakekube.apiserver.registry.core.podtemplate.warnings import of_template, where_changed
from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import AGE, NAME, Printer, age_of, columns, name_of
from fakekube.apiserver.registry.generic.validation import content, labelselectors
from fakekube.apiserver.registry.generic.validation.content import Errors, check_nonnegative
from fakekube.apiserver.registry.generic.validation.gostructs import invalid_selector, invalid_struct
from fakekube.apiserver.wire.status import field_forbidden, field_invalid, field_required

Object = dict[str, Any]


def default_stateful_set(obj: Object) -> None:
    spec = obj.setdefault("spec", {})
    spec.setdefault("podManagementPolicy", "OrderedReady")
    strategy = spec.setdefault("updateStrategy", {})
    strategy.setdefault("type", "RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("partition", 0)
        rolling.pop("maxUnavailable", None)  # its feature is off
    retention = spec.setdefault("persistentVolumeClaimRetentionPolicy", {})
    retention.setdefault("whenDeleted", "Retain")
    retention.setdefault("whenScaled", "Retain")
    spec.setdefault("replicas", 1)
    spec.setdefault("revisionHistoryLimit", 10)
    default_template(spec.get("template"))
    for claim in spec.get("volumeClaimTemplates") or ():
        claim |= {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}
        claim.setdefault("spec", {}).setdefault("volumeMode", "Filesystem")
        claim.setdefault("status", {}).setdefault("phase", "Pending")


def of_stateful_set(obj: Object) -> Warnings:
    found, spec = of_template(obj), obj.get("spec") or {}
    for i, claim in enumerate(spec.get("volumeClaimTemplates") or ()):
        claim_warnings(claim.get("spec") or {}, f"spec.volumeClaimTemplates[{i}]", found)
    if (spec.get("revisionHistoryLimit") or 0) < 0:
        why = "a negative value retains all historical revisions; a value >= 0 is recommended"
        found.append(f"spec.revisionHistoryLimit: {why}")
    return found


RETENTIONS = ("Retain", "Delete")


CHANGEABLE = (
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
)


def _check(spec: Object, errors: Errors, options: PodOptions, lenient: frozenset[str] = frozenset()) -> None:
    """`lenient`: parts that are not looked at, because they were let in unchecked once."""
    policy = spec.get("podManagementPolicy") or ""
    if not policy:
        errors.append(field_required("spec.podManagementPolicy"))
    elif policy not in ("OrderedReady", "Parallel"):
        why = "must be 'OrderedReady' or 'Parallel'"
        errors.append(field_invalid("spec.podManagementPolicy", policy, why))
    _check_strategy(spec.get("updateStrategy") or {}, "spec.updateStrategy", errors)
    retention = spec.get("persistentVolumeClaimRetentionPolicy")
    if retention is not None:
        for field in ("whenDeleted", "whenScaled"):
            path = f"spec.persistentVolumeClaimRetentionPolicy.{field}"
            content.check_supported(retention.get(field), RETENTIONS, path, errors)
    if "claims" not in lenient:
        _check_claims(spec, errors, options)
    for field in ("replicas", "minReadySeconds"):
        check_nonnegative(spec.get(field), f"spec.{field}", errors)
    check_nonnegative((spec.get("ordinals") or {}).get("start"), "spec.ordinals.start", errors)
    if "service" not in lenient:
        _check_service(spec, errors, options)
    check_selector(spec, "statefulset", errors)
    selector: Object | None = spec.get("selector")
    template: Object = spec.get("template") or {}
    if not labelselectors.is_usable(selector):
        errors.append(invalid_selector("spec.selector", selector, ""))
    else:
        if not labelselectors.is_empty(selector):
            check_match(selector, template, errors)
        if "template" not in lenient:
            _check_template(spec, errors, options)
    check_lasting(template.get("spec") or {}, "StatefulSet", errors)


def _check_claims(spec: Object, errors: Errors, options: PodOptions) -> None:
    for i, claim in enumerate(spec.get("volumeClaimTemplates") or ()):
        check_claim_spec(claim.get("spec") or {}, f"spec.volumeClaimTemplates[{i}].spec", errors)


def _check_service(spec: Object, errors: Errors, options: PodOptions) -> None:
    if spec.get("serviceName"):
        content.check_dns_label(spec["serviceName"], "spec.serviceName", errors)


def _check_template(spec: Object, errors: Errors, options: PodOptions) -> None:
    """The claims are volumes of the pods, too."""
    template: Object = spec.get("template") or {}
    claims = spec.get("volumeClaimTemplates")
    if claims and template.get("spec"):
        template = {**template, "spec": _with_claims(template["spec"], claims)}
    check_template(template, "spec.template", errors, options)


#: What a server once took unchecked: where it is wrong in the stored object, it may stay so.
LENIENT: Mapping[str, CheckSpec] = {
    "claims": _check_claims,
    "service": _check_service,
    "template": _check_template,
}


def _with_claims(pod: Object, claims: list[Object]) -> Object:
    """A claim goes before a volume of the same name."""
    names = {(claim.get("metadata") or {}).get("name") or "": claim for claim in claims}
    volumes = [volume for volume in pod.get("volumes") or () if volume.get("name") not in names]
    volumes += [{"name": name, "persistentVolumeClaim": {"claimName": name or "-"}} for name in names]
    return {**pod, "volumes": volumes}


def _check_strategy(strategy: Object, path: str, errors: Errors) -> None:
    kind, rolling = strategy.get("type") or "", strategy.get("rollingUpdate")
    if not kind:
        errors.append(field_required(path))
    elif kind == "OnDelete":
        if rolling is not None:
            why = "only allowed for updateStrategy 'RollingUpdate'"
            errors.append(invalid_struct(f"{path}.rollingUpdate", "RollingUpdateStatefulSetStrategy", rolling, why))
    elif kind != "RollingUpdate":
        why = "must be 'RollingUpdate' or 'OnDelete'"
        errors.append(invalid_struct(path, "StatefulSetUpdateStrategy", strategy, why))
    elif rolling is not None:
        path = f"{path}.rollingUpdate"
        check_nonnegative(rolling.get("partition"), f"{path}.partition", errors)
        unavailable = rolling.get("maxUnavailable")
        if unavailable is not None:
            content.check_int_or_percent(unavailable, f"{path}.maxUnavailable", errors)
            if not content.share(unavailable):
                errors.append(field_invalid(f"{path}.maxUnavailable", unavailable, "cannot be 0"))
            content.check_at_most_all(unavailable, f"{path}.maxUnavailable", errors)


validate = validator(_check)


def _wrong(spec: Object, options: PodOptions) -> frozenset[str]:
    found = set()
    for part, check in LENIENT.items():
        errors: Errors = []
        check(spec, errors, options)
        if errors:
            found.add(part)
    return frozenset(found)


def validate_update(new: Object, old: Object) -> Errors:
    errors = validate(new)
    if errors:
        errors, before = [], old.get("spec") or {}
        options = options_of(before)
        _check(new.get("spec") or {}, errors, options, _wrong(before, options))
    after, before = new.get("spec") or {}, old.get("spec") or {}
    fixed = (after.keys() | before.keys()) - set(CHANGEABLE)
    if any(after.get(field) != before.get(field) for field in fixed):
        listed = ", ".join(f"'{field}'" for field in CHANGEABLE[:-1])
        why = f"updates to statefulset spec for fields other than {listed} and 'minReadySeconds' are forbidden"
        errors.append(field_forbidden("spec", why))
    return errors


def _stateful_set(obj: Object, ages: Ages) -> list[Any]:
    ready = f"{count_at(obj, 'status.readyReplicas')}/{count_at(obj, 'spec.replicas')}"
    return [name_of(obj), ready, age_of(obj, ages), *container_cells(obj, "spec.template")]


KIND = Kind(
    "statefulsets.apps",
    Strategy(
        generation=("spec",),
        default=default_stateful_set,
        name_check=names.dns_label_problems,
        name_limit=63,
        validate=validate,
        warnings=of_stateful_set,
        update_warnings=where_changed(of_stateful_set),
        validate_update=validate_update,
        validate_status_update=status_validator("StatefulSet"),
    ),
    printer=Printer(columns(NAME, "Ready", AGE, *TEMPLATE_COLUMNS), _stateful_set),
)
