"""Rows of configuration, of access, and of what guards and limits other objects."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.registry.tables.ages import Ages, human_duration
from fakekube.apiserver.registry.tables.columns import (
    AGE,
    NAME,
    Printer,
    age,
    boolean,
    columns,
    get,
    integer,
    name,
    wide,
)
from fakekube.apiserver.registry.tables.labels import selector_dump

Object = dict[str, Any]


def _config_map(obj: Object, ages: Ages) -> list[Any]:
    return [name(obj), len(obj.get("data") or ()) + len(obj.get("binaryData") or ()), age(obj, ages)]


def _secret(obj: Object, ages: Ages) -> list[Any]:
    return [name(obj), obj.get("type") or "", len(obj.get("data") or ()), age(obj, ages)]


def name_and_age(obj: Object, ages: Ages) -> list[Any]:
    return [name(obj), age(obj, ages)]


def _budget(obj: Object, ages: Ages) -> list[Any]:
    bounds = [str(get(obj, f"spec.{field}", "N/A")) for field in ("minAvailable", "maxUnavailable")]
    return [name(obj), *bounds, get(obj, "status.disruptionsAllowed", 0), age(obj, ages)]


def _quota(obj: Object, ages: Ages) -> list[Any]:
    hard, used = get(obj, "status.hard", {}), get(obj, "status.used", {})
    shown = {resource: f"{resource}: {used.get(resource, '0')}/{hard[resource]}" for resource in sorted(hard)}
    limits = [resource for resource in shown if resource.startswith("limits.")]
    requests = [resource for resource in shown if resource not in limits]
    return [name(obj), *(", ".join(shown[one] for one in part) for part in (requests, limits)), age(obj, ages)]


def _priority_class(obj: Object, ages: Ages) -> list[Any]:
    default = bool(obj.get("globalDefault"))
    return [name(obj), obj.get("value") or 0, default, age(obj, ages), obj.get("preemptionPolicy") or ""]


def _runtime_class(obj: Object, ages: Ages) -> list[Any]:
    return [name(obj), obj.get("handler") or "", age(obj, ages)]


def _lease(obj: Object, ages: Ages) -> list[Any]:
    return [name(obj), get(obj, "spec.holderIdentity", ""), age(obj, ages)]


def _lease_candidate(obj: Object, ages: Ages) -> list[Any]:
    fields = [get(obj, f"spec.{field}", "") for field in ("leaseName", "binaryVersion", "emulationVersion")]
    return [name(obj), *fields, age(obj, ages)]


def _subjects(obj: Object, kind: str) -> str:
    """The binding's subjects of a kind; service accounts with their namespace."""
    found = [subject for subject in obj.get("subjects") or () if subject.get("kind") == kind]
    if kind == "ServiceAccount":
        return ", ".join(f"{one.get('namespace') or ''}/{one.get('name') or ''}" for one in found)
    return ", ".join(one.get("name") or "" for one in found)


def _binding(obj: Object, ages: Ages) -> list[Any]:
    role = f"{get(obj, 'roleRef.kind', '')}/{get(obj, 'roleRef.name', '')}"
    return [name(obj), role, age(obj, ages), *(_subjects(obj, kind) for kind in ("User", "Group", "ServiceAccount"))]


def _signing_state(obj: Object) -> str:
    types = {condition.get("type") for condition in get(obj, "status.conditions", ())}
    state = "Denied" if "Denied" in types else "Approved" if "Approved" in types else "Pending"
    return state + (",Failed" if "Failed" in types else "") + (",Issued" if get(obj, "status.certificate") else "")


def _signing_request(obj: Object, ages: Ages) -> list[Any]:
    seconds = get(obj, "spec.expirationSeconds")
    return [
        name(obj),
        age(obj, ages),
        get(obj, "spec.signerName") or "<none>",
        get(obj, "spec.username", ""),
        "<none>" if seconds is None else human_duration(seconds),
        _signing_state(obj),
    ]


def _trust_bundle(obj: Object, ages: Ages) -> list[Any]:
    return [name(obj), get(obj, "spec.signerName") or "<none>"]


def _webhooks(obj: Object, ages: Ages) -> list[Any]:
    return [name(obj), len(obj.get("webhooks") or ()), age(obj, ages)]


def _param_kind(obj: Object) -> str:
    kind = get(obj, "spec.paramKind")
    return "<unset>" if kind is None else f"{kind.get('apiVersion') or ''}/{kind.get('kind') or ''}"


def _validating_policy(obj: Object, ages: Ages) -> list[Any]:
    return [name(obj), len(get(obj, "spec.validations", ())), _param_kind(obj), age(obj, ages)]


def _mutating_policy(obj: Object, ages: Ages) -> list[Any]:
    return [name(obj), len(get(obj, "spec.mutations", ())), _param_kind(obj), age(obj, ages)]


def _param_ref(obj: Object) -> str:
    reference = get(obj, "spec.paramRef", {})
    if reference.get("name"):
        return f"{reference.get('namespace') or '*'}/{reference['name']}"
    selector = reference.get("selector")
    return "<unset>" if selector is None else selector_dump(selector)


def _policy_binding(obj: Object, ages: Ages) -> list[Any]:
    return [name(obj), get(obj, "spec.policyName", ""), _param_ref(obj), age(obj, ages)]


def _metric_parts(spec: Object, status: Object) -> tuple[str, Object, Object]:
    """Of one metric: how its type is called in the object, its target, and its current value."""
    kind = spec.get("type") or ""
    field = kind[:1].lower() + kind[1:]
    return field, get(spec, f"{field}.target", {}), get(status, f"{field}.current", {})


_METRICS = frozenset({"external", "pods", "object", "resource", "containerResource"})


def _metric(spec: Object, status: Object) -> str:
    field, target, current = _metric_parts(spec, status)
    if field not in _METRICS:
        return "<unknown type>"
    known = get(status, field) is not None
    average = target.get("averageValue")
    if field == "pods":
        return f"{current.get('averageValue', '<nil>') if known else '<unknown>'}/{average or '<nil>'}"
    if field in ("external", "object"):
        if average is not None:
            return f"{current.get('averageValue') or '<unknown>'}/{average} (avg)"
        return f"{current.get('value', '<nil>') if known else '<unknown>'}/{target.get('value', '<nil>')}"
    resource = get(spec, f"{field}.name", "")
    if average is not None:
        return f"{resource}: {current.get('averageValue', '<nil>') if known else '<unknown>'}/{average}"
    used, wanted = current.get("averageUtilization"), target.get("averageUtilization")
    shown = "<unknown>" if used is None else f"{used}%"
    return f"{resource}: {shown}/{'<auto>' if wanted is None else f'{wanted}%'}"


def _targets(obj: Object) -> str:
    specs, statuses = get(obj, "spec.metrics", ()), get(obj, "status.currentMetrics", ())
    if not specs:
        return "<none>"
    shown = [_metric(spec, statuses[i] if i < len(statuses) else {}) for i, spec in enumerate(specs)]
    more = f" + {len(shown) - 2} more..." if len(shown) > 2 else ""
    return ", ".join(shown[:2]) + more


def _autoscaler(obj: Object, ages: Ages) -> list[Any]:
    least = get(obj, "spec.minReplicas")
    return [
        name(obj),
        f"{get(obj, 'spec.scaleTargetRef.kind', '')}/{get(obj, 'spec.scaleTargetRef.name', '')}",
        _targets(obj),
        "<unset>" if least is None else str(least),
        get(obj, "spec.maxReplicas", 0),
        get(obj, "status.currentReplicas", 0),
        age(obj, ages),
    ]


_BINDING = Printer(columns(NAME, "Role", AGE, wide("Users"), wide("Groups"), wide("ServiceAccounts")), _binding)
_WEBHOOKS = Printer(columns(NAME, integer("Webhooks"), AGE), _webhooks)
_POLICY_BINDING = Printer(columns(NAME, "PolicyName", "ParamRef", AGE), _policy_binding)

_RBAC, _ADMISSION = "rbac.authorization.k8s.io", "admissionregistration.k8s.io"

PRINTERS = {
    "configmaps": Printer(columns(NAME, "Data", AGE), _config_map),
    "secrets": Printer(columns(NAME, "Type", "Data", AGE), _secret),
    "serviceaccounts": Printer(columns(NAME, AGE), name_and_age),
    "resourcequotas": Printer(columns(NAME, "Request", "Limit", AGE), _quota),
    "poddisruptionbudgets.policy": Printer(
        columns(NAME, "Min Available", "Max Unavailable", integer("Allowed Disruptions"), AGE), _budget
    ),
    "priorityclasses.scheduling.k8s.io": Printer(
        columns(NAME, integer("Value"), boolean("Global-Default"), AGE, "PreemptionPolicy"), _priority_class
    ),
    "runtimeclasses.node.k8s.io": Printer(columns(NAME, "Handler", AGE), _runtime_class),
    "leases.coordination.k8s.io": Printer(columns(NAME, "Holder", AGE), _lease),
    "leasecandidates.coordination.k8s.io": Printer(
        columns(NAME, "LeaseName", "BinaryVersion", "EmulationVersion", AGE), _lease_candidate
    ),
    f"rolebindings.{_RBAC}": _BINDING,
    f"clusterrolebindings.{_RBAC}": _BINDING,
    "certificatesigningrequests.certificates.k8s.io": Printer(
        columns(NAME, AGE, "SignerName", "Requestor", "RequestedDuration", "Condition"), _signing_request
    ),
    "clustertrustbundles.certificates.k8s.io": Printer(columns(NAME, "SignerName"), _trust_bundle),
    f"mutatingwebhookconfigurations.{_ADMISSION}": _WEBHOOKS,
    f"validatingwebhookconfigurations.{_ADMISSION}": _WEBHOOKS,
    f"validatingadmissionpolicies.{_ADMISSION}": Printer(
        columns(NAME, integer("Validations"), "ParamKind", AGE), _validating_policy
    ),
    f"mutatingadmissionpolicies.{_ADMISSION}": Printer(
        columns(NAME, integer("Mutations"), "ParamKind", AGE), _mutating_policy
    ),
    f"validatingadmissionpolicybindings.{_ADMISSION}": _POLICY_BINDING,
    f"mutatingadmissionpolicybindings.{_ADMISSION}": _POLICY_BINDING,
    "horizontalpodautoscalers.autoscaling": Printer(
        columns(NAME, "Reference", "Targets", "MinPods", "MaxPods", "Replicas", AGE), _autoscaler
    ),
}
