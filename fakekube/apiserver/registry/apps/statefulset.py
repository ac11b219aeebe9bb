"""StatefulSet (`ValidateStatefulSet`)."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver import names
from fakekube.apiserver.features import enabled, since
from fakekube.apiserver.registry.core.persistentvolumeclaim.claimspec import validate_claim_spec
from fakekube.apiserver.registry.core.persistentvolumeclaim.strategy import default_claim
from fakekube.apiserver.registry.core.pod.defaults import default_template
from fakekube.apiserver.registry.core.pod.disabledfields import drop_disabled_in
from fakekube.apiserver.registry.core.pod.validation.podoptions import TEMPLATE, PodOptions
from fakekube.apiserver.registry.core.pod.validation.podspec import validate_template, validate_template_metadata
from fakekube.apiserver.registry.core.pod.warnings import Warnings, claim_warnings
from fakekube.apiserver.registry.core.podtemplate.status import status_validator
from fakekube.apiserver.registry.core.podtemplate.table import TEMPLATE_COLUMNS, container_cells, count_at
from fakekube.apiserver.registry.core.podtemplate.validation import (
    SpecRule,
    ratcheted,
    spec_validator,
    validate_lasting,
    validate_match,
    validate_template_selector,
)
from fakekube.apiserver.registry.core.podtemplate.warnings import of_template, where_changed
from fakekube.apiserver.registry.generic.gatedfields import GatedFields
from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import AGE, NAME, Printer, age_of, columns, name_of
from fakekube.apiserver.registry.generic.validation.content import share
from fakekube.apiserver.registry.generic.validation.field import Field
from fakekube.apiserver.registry.generic.validation.labelselectors import is_empty, is_usable
from fakekube.apiserver.registry.generic.validation.rules import update_validator

Object = dict[str, Any]


def default_stateful_set(obj: Object) -> None:
    spec = obj.setdefault("spec", {})
    spec.setdefault("podManagementPolicy", "OrderedReady")
    strategy = spec.setdefault("updateStrategy", {})
    if not strategy.get("type"):
        strategy["type"] = "RollingUpdate"
        strategy.setdefault("rollingUpdate", {})
    rolling = strategy.get("rollingUpdate")
    if strategy["type"] == "RollingUpdate" and rolling is not None:
        rolling.setdefault("partition", 0)
        if enabled("MaxUnavailableStatefulSet"):
            rolling.setdefault("maxUnavailable", 1)
    retention = spec.setdefault("persistentVolumeClaimRetentionPolicy", {})
    retention.setdefault("whenDeleted", "Retain")
    retention.setdefault("whenScaled", "Retain")
    spec.setdefault("replicas", 1)
    spec.setdefault("revisionHistoryLimit", 10)
    default_template(spec.get("template"))
    for claim in spec.get("volumeClaimTemplates") or ():
        claim |= {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}
        default_claim(claim)


RETENTIONS = ("Retain", "Delete")


CHANGEABLE = (
    "replicas", "ordinals", "template", "updateStrategy", "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy", "minReadySeconds",
)  # fmt: skip


def _changeable() -> tuple[str, ...]:
    return CHANGEABLE if since(33) else tuple(one for one in CHANGEABLE if one != "revisionHistoryLimit")


COUNTS = (
    "replicas", "readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas", "observedGeneration",
    "collisionCount",
)  # fmt: skip


def stateful_set_warnings(obj: Object) -> Warnings:
    found, spec = of_template(obj), obj.get("spec") or {}
    for i, claim in enumerate(spec.get("volumeClaimTemplates") or ()):
        claim_warnings(claim.get("spec") or {}, f"spec.volumeClaimTemplates[{i}]", found)
    if (spec.get("revisionHistoryLimit") or 0) < 0:
        why = "a negative value retains all historical revisions; a value >= 0 is recommended"
        found.append(f"spec.revisionHistoryLimit: {why}")
    return found


def _validate_spec(spec: Field, options: PodOptions, skipped: frozenset[SpecRule] = frozenset()) -> None:
    """`skipped` are those of the optional rules that are not applied."""

    def apply(rule: SpecRule) -> None:
        if rule not in skipped:
            rule(spec, options)

    selector, template = spec["selector"], spec["template"]
    policy = spec["podManagementPolicy"].required()
    if policy.value not in ("OrderedReady", "Parallel"):
        policy.invalid("must be 'OrderedReady' or 'Parallel'")
    _validate_strategy(spec["updateStrategy"])
    retention = spec.get("persistentVolumeClaimRetentionPolicy")
    retention["whenDeleted"].one_of(RETENTIONS)
    retention["whenScaled"].one_of(RETENTIONS)
    apply(_validate_claims)
    spec.non_negative_members("replicas", "minReadySeconds")
    spec["ordinals"]["start"].non_negative()
    apply(_validate_service)
    validate_template_selector(selector, "statefulset")
    if not is_usable(selector.value):
        selector.invalid_struct("LabelSelector", "")
    else:
        if not is_empty(selector.value):
            validate_match(selector.value, template)
        apply(_validate_template)
    validate_lasting(template["spec"], "StatefulSet")


def _validate_claims(spec: Field, options: PodOptions) -> None:
    for claim in spec["volumeClaimTemplates"] if since(34) else ():
        validate_claim_spec(claim["spec"])


def _validate_service(spec: Field, options: PodOptions) -> None:
    if since(33):
        spec["serviceName"].optional().dns_label()


def _validate_template(spec: Field, options: PodOptions) -> None:
    """The pods are validated since 1.34. The claims are volumes of them, too. The controller sets hostname and
    subdomain, which are not validated."""
    template, claims = spec["template"], spec["volumeClaimTemplates"].value
    if template["spec"]:
        pod = {key: value for key, value in template.value["spec"].items() if key not in ("hostname", "subdomain")}
        template = template.with_value({**template.value, "spec": _with_claims(pod, claims) if claims else pod})
    if since(34):
        validate_template(template, options)
    validate_template_metadata(template, options)  # kube-apiserver does so twice


def _with_claims(pod: Object, claims: list[Object]) -> Object:
    """The claims come first, each in place of a volume of the same name."""
    names = dict.fromkeys((claim.get("metadata") or {}).get("name") or "" for claim in claims)
    volumes = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in names]
    return {**pod, "volumes": volumes + [one for one in pod.get("volumes") or () if one.get("name") not in names]}


def _validate_strategy(strategy: Field) -> None:
    kind, rolling = strategy["type"], strategy["rollingUpdate"]
    if not kind:
        strategy.missing()
    elif kind.value == "OnDelete":
        why = "only allowed for updateStrategy 'RollingUpdate'"
        strategy.get("rollingUpdate").invalid_struct("RollingUpdateStatefulSetStrategy", why)
    elif kind.value != "RollingUpdate":
        strategy.invalid_struct("StatefulSetUpdateStrategy", "must be 'RollingUpdate' or 'OnDelete'")
    else:
        rolling["partition"].non_negative()
        unavailable = rolling.get("maxUnavailable").int_or_percent()
        if not share(unavailable.value or 0):
            unavailable.invalid("cannot be 0")
        unavailable.at_most_all()


#: Rules that earlier servers did not have: if the stored object breaks one, an update can break it too.
LATER_RULES: tuple[SpecRule, ...] = (_validate_template,)

#: Rules of fields that do not change: an update does not check them.
FIXED_RULES: frozenset[SpecRule] = frozenset({_validate_claims, _validate_service})


def _is_broken(rule: SpecRule, spec: Field, options: PodOptions) -> bool:
    alone = Field(spec.value)
    rule(alone, options)
    return bool(alone.errors)


def _validate_update(new: Field, old: Field) -> None:
    after, before = new["spec"], old["spec"]

    def rules(obj: Field, options: PodOptions) -> None:
        """Strict at first; then with the options of the stored object, and without the rules that it breaks."""
        lenient = options is not TEMPLATE
        broken = frozenset(rule for rule in LATER_RULES if lenient and _is_broken(rule, before, options))
        _validate_spec(obj["spec"], options, broken | FIXED_RULES)

    ratcheted(new, rules, before.struct)
    fixed = (after.struct.keys() | before.struct.keys()) - set(_changeable())
    if any(after[field].value != before[field].value for field in fixed):
        listed = ", ".join(f"'{field}'" for field in _changeable()[:-1])
        after.forbidden(
            f"updates to statefulset spec for fields other than {listed} and 'minReadySeconds' are forbidden"
        )


def _stateful_set(obj: Object, ages: Ages) -> list[Any]:
    ready = f"{count_at(obj, 'status.readyReplicas')}/{count_at(obj, 'spec.replicas')}"
    return [name_of(obj), ready, age_of(obj, ages), *container_cells(obj, "spec.template")]


_GATED = GatedFields(
    ("StatefulSetAutoDeletePVC", ("spec.persistentVolumeClaimRetentionPolicy",)),
    ("StatefulSetStartOrdinal", ("spec.ordinals",)),
    ("MaxUnavailableStatefulSet", ("spec.updateStrategy.rollingUpdate.maxUnavailable",)),
)


KIND = Kind(
    "statefulsets.apps",
    Strategy(
        generation=("spec",),
        default=default_stateful_set,
        drop_disabled=drop_disabled_in("spec", "template", "spec", gated=_GATED),
        name_check=names.dns_label_problems,
        validate=spec_validator(_validate_spec),
        warnings=stateful_set_warnings,
        update_warnings=where_changed(stateful_set_warnings),
        validate_update=update_validator(_validate_update),
        validate_status_update=status_validator(
            *COUNTS, at_most_all=COUNTS[1:5], more_than_ready="cannot be greater than status.readyReplicas"
        ),
    ),
    printer=Printer(columns(NAME, "Ready", AGE, *TEMPLATE_COLUMNS), _stateful_set),
)
