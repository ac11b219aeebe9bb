"""TODO"""

from __future__ import annotations

import base64
from typing import Any

from fakekube.apiserver.registry.generic import names
from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import AGE, NAME, Printer, age_of, columns, get, name_of
from fakekube.apiserver.registry.generic.validation.content import Errors, add, range_problem
from fakekube.apiserver.wire.status import FieldError, field_invalid, field_not_supported, field_required, go_quote

Object = dict[str, Any]


def default_api_service(obj: Object) -> None:
    service = (obj.get("spec") or {}).get("service")
    if service is not None:
        service.setdefault("port", 443)


def prepare_api_service(obj: Object) -> Object:
    """What this server serves itself is there at once."""
    if (obj.get("spec") or {}).get("service") is not None:
        return {**obj, "status": {}}
    available = {
        "type": "Available",
        "status": "True",
        "lastTransitionTime": obj["metadata"]["creationTimestamp"],
        "reason": "Local",
        "message": "Local APIServices are always available",
    }
    return {**obj, "status": {"conditions": [available]}}


MOST_GROUP_PRIORITY, MOST_VERSION_PRIORITY = 20000, 1000


STATUSES = ("True", "False", "Unknown")


def validate_api_service(service: Object) -> list[FieldError]:
    spec = service.get("spec") or {}
    group, version = spec.get("group") or "", spec.get("version") or ""
    errors: Errors = []
    wanted, name = f"{version}.{group}", service["metadata"].get("name") or ""
    if name and name != wanted and not names.path_segment_problems(name):
        why = f'must be `spec.version+"."+spec.group`: {go_quote(wanted)}'
        errors.append(field_invalid("metadata.name", name, why))
    if group:
        add(errors, "spec.group", group, names.dns_subdomain_problems(group))
    elif version != "v1":
        why = "only v1 may have an empty group and it better be legacy kube"
        errors.append(field_required("spec.group", why))
    add(errors, "spec.version", version, names.dns1035_label_problems(version))
    for field, most in (("groupPriorityMinimum", MOST_GROUP_PRIORITY), ("versionPriority", MOST_VERSION_PRIORITY)):
        priority = spec.get(field) or 0
        if not 0 < priority <= most:
            errors.append(field_invalid(f"spec.{field}", priority, f"must be positive and less than {most}"))
    if spec.get("service") is None:
        _check_local(spec, errors)
    else:
        _check_remote(spec, errors)
    return errors


def _check_local(spec: Object, errors: Errors) -> None:
    bundle = len(base64.b64decode(spec.get("caBundle") or ""))
    if bundle:
        why = "local APIServices may not have a caBundle"
        errors.append(field_invalid("spec.caBundle", f"{bundle} bytes", why))
    if spec.get("insecureSkipTLSVerify"):
        why = "local APIServices may not have insecureSkipTLSVerify"
        errors.append(field_invalid("spec.insecureSkipTLSVerify", True, why))


def _check_remote(spec: Object, errors: Errors) -> None:
    service = spec["service"]
    for field in ("namespace", "name"):
        if not service.get(field):
            errors.append(field_required(f"spec.service.{field}"))
    port = service.get("port") or 0
    if not 1 <= port <= 65535:
        errors.append(field_invalid("spec.service.port", port, f"port is not valid: {range_problem(1, 65535)}"))
    if spec.get("insecureSkipTLSVerify") and spec.get("caBundle"):
        errors.append(field_invalid("spec.insecureSkipTLSVerify", True, "may not be true if caBundle is present"))


def validate_api_service_update(new: Object, old: Object) -> list[FieldError]:
    return validate_api_service(new)


def validate_api_service_status(new: Object, old: Object) -> list[FieldError]:
    errors: Errors = []
    for i, condition in enumerate((new.get("status") or {}).get("conditions") or ()):
        status = condition.get("status") or ""
        if status not in STATUSES:
            errors.append(field_not_supported(f"status.conditions[{i}].status", status, STATUSES))
    return errors


def _api_service(obj: Object, ages: Ages) -> list[Any]:
    service = get(obj, "spec.service")
    where = f"{service.get('namespace') or ''}/{service.get('name') or ''}" if service else "Local"
    available: Object = next((one for one in get(obj, "status.conditions", ()) if one.get("type") == "Available"), {})
    state = available.get("status") or "Unknown"
    if available and state != "True":
        state = f"{state} ({available.get('reason') or ''})"
    return [name_of(obj), where, state, age_of(obj, ages)]


KIND = Kind(
    "apiservices.apiregistration.k8s.io",
    Strategy(
        name_check=names.path_segment_problems,
        unconditional_update=False,
        default=default_api_service,
        prepare_create=prepare_api_service,
        validate=validate_api_service,
        validate_update=validate_api_service_update,
        validate_status_update=validate_api_service_status,
    ),
    printer=Printer(columns(NAME, "Service", "Available", AGE), _api_service),
)
