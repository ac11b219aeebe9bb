"""APIServices: which server answers for a group and version (kube-aggregator `apiregistration/validation`)."""

from __future__ import annotations

import base64
from typing import Any

from fakekube.apiserver import names
from fakekube.apiserver.registry.generic.validation.content import Errors, add, range_problem
from fakekube.apiserver.wire.goprint import go_quote
from fakekube.apiserver.wire.status import FieldError, field_invalid, field_not_supported, field_required

Object = dict[str, Any]

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
