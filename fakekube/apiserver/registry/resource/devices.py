"""TODO"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from fakekube.apiserver.registry.core.pod.validation.volumes import check_csi_driver as check_driver
from fakekube.apiserver.registry.generic.validation.content import (
    Errors,
    add,
    check_dns_label,
    check_dns_subdomain,
    check_immutable,
)
from fakekube.apiserver.registry.generic.validation.labelselectors import check_label_name, value_problems
from fakekube.apiserver.wire.status import (
    FieldError,
    field_duplicate,
    field_invalid,
    field_not_supported,
    field_required,
    field_too_long,
    field_too_many,
)

Object = dict[str, Any]

CheckItem = Callable[[Any, str, Errors], None]


MOST_REQUESTS, MOST_CONSTRAINTS, MOST_CONFIGS = 32, 32, 32


MOST_SELECTORS, MOST_ALTERNATIVES = 32, 8


LONGEST_PARAMETERS = LONGEST_EXPRESSION = 10 * 1024


LONGEST_NAME, LONGEST_VALUE, LONGEST_POOL = 32, 64, 253


MODES = ("All", "ExactCount")


EFFECTS = ("NoExecute", "NoSchedule")


OPERATORS = ("Equal", "Exists")


_identifier = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


IDENTIFIER = (
    "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric "
    "characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is "
    "'[A-Za-z_][A-Za-z0-9_]*')"
)


def _check_list(items: Sequence[Any], most: int, check: CheckItem, path: str, errors: Errors) -> None:
    """Too many are not looked at."""
    if len(items) > most:
        errors.append(field_too_many(path, len(items), most))
        return
    for i, item in enumerate(items):
        check(item, f"{path}[{i}]", errors)


def _check_set(
    items: Sequence[Any], most: int, check: CheckItem, key: Callable[[Any], Hashable], path: str, errors: Errors
) -> None:
    _check_list(items, most, check, path, errors)
    seen: set[Hashable] = set()
    for i, item in enumerate(items if len(items) <= most else ()):
        if key(item) in seen:
            errors.append(field_duplicate(f"{path}[{i}]", key(item)))
        seen.add(key(item))


def _itself(item: str) -> str:
    return item


def _named(item: Object) -> str:
    return item.get("name") or ""


def validate_claim_update(new: Object, old: Object) -> list[FieldError]:
    errors: Errors = []
    check_immutable(new.get("spec"), old.get("spec"), "spec", errors)
    return errors


def _request_names(devices: Object) -> dict[str, set[str]]:
    """Requests, and the alternatives of each."""
    return {
        _named(one): {_named(sub) for sub in one.get("firstAvailable") or ()} for one in devices.get("requests") or ()
    }


def _check_claim(devices: Object, path: str, errors: Errors) -> None:
    known = _request_names(devices)

    def check_constraint(constraint: Object, path: str, errors: Errors) -> None:
        _check_request_refs(constraint.get("requests") or [], known, f"{path}.requests", errors)
        for field in ("matchAttribute", "distinctAttribute"):
            if constraint.get(field) is not None:
                _check_full_name(constraint[field], f"{path}.{field}", errors)
                return
        why = 'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set'
        errors.append(field_required(path, why))

    def check_config(config: Object, path: str, errors: Errors) -> None:
        _check_request_refs(config.get("requests") or [], known, f"{path}.requests", errors)
        _check_config(config, path, errors)

    _check_set(devices.get("requests") or [], MOST_REQUESTS, _check_request, _named, f"{path}.requests", errors)
    _check_list(devices.get("constraints") or [], MOST_CONSTRAINTS, check_constraint, f"{path}.constraints", errors)
    _check_list(devices.get("config") or [], MOST_CONFIGS, check_config, f"{path}.config", errors)


def _check_request(request: Object, path: str, errors: Errors) -> None:
    check_dns_label(_named(request), f"{path}.name", errors)
    exactly, alternatives = request.get("exactly"), request.get("firstAvailable") or []
    which = "exactly one of `exactly` or `firstAvailable` is required"
    if exactly is None and not alternatives:
        errors.append(field_required(path, which))
    elif exactly is not None and alternatives:
        errors.append(field_invalid(path, None, f"{which}, but multiple fields are set"))
    elif alternatives:
        here = f"{path}.firstAvailable"
        _check_set(alternatives, MOST_ALTERNATIVES, _check_alternative, _named, here, errors)
    else:
        _check_exact(exactly or {}, f"{path}.exactly", errors)


def _check_alternative(request: Object, path: str, errors: Errors) -> None:
    check_dns_label(_named(request), f"{path}.name", errors)
    _check_exact(request, path, errors)


def _check_exact(request: Object, path: str, errors: Errors) -> None:
    name = request.get("deviceClassName") or ""
    if name:
        check_dns_subdomain(name, f"{path}.deviceClassName", errors)
    else:
        errors.append(field_required(f"{path}.deviceClassName"))
    _check_list(request.get("selectors") or [], MOST_SELECTORS, _check_selector, f"{path}.selectors", errors)
    mode, count = request.get("allocationMode") or "", request.get("count") or 0
    if mode not in MODES:
        errors.append(field_not_supported(f"{path}.allocationMode", mode, MODES))
    elif mode == "All" and count:
        why = "must not be specified when allocationMode is 'All'"
        errors.append(field_invalid(f"{path}.count", count, why))
    elif mode == "ExactCount" and count <= 0:
        errors.append(field_invalid(f"{path}.count", count, "must be greater than zero"))
    for i, toleration in enumerate(request.get("tolerations") or ()):
        _check_toleration(toleration, f"{path}.tolerations[{i}]", errors)


def _check_selector(selector: Object, path: str, errors: Errors) -> None:
    expression = selector.get("cel")
    if expression is None:
        errors.append(field_required(f"{path}.cel"))
    elif len((expression.get("expression") or "").encode()) > LONGEST_EXPRESSION:
        errors.append(field_too_long(f"{path}.cel.expression", LONGEST_EXPRESSION))


def _check_toleration(toleration: Object, path: str, errors: Errors) -> None:
    if toleration.get("key"):
        check_label_name(toleration["key"], f"{path}.key", errors)
    operator, value = toleration.get("operator") or "", toleration.get("value") or ""
    if operator == "Exists" and value:
        errors.append(field_invalid(f"{path}.value", value, "must be empty for operator `Exists`"))
    elif operator == "Equal":
        add(errors, f"{path}.value", value, value_problems(value))
    elif not operator:
        errors.append(field_required(f"{path}.operator"))
    elif operator not in OPERATORS:
        errors.append(field_not_supported(f"{path}.operator", operator, OPERATORS))
    effect = toleration.get("effect") or ""
    if effect and effect not in EFFECTS:
        errors.append(field_not_supported(f"{path}.effect", effect, EFFECTS))


def _check_request_refs(refs: list[str], known: Mapping[str, set[str]], path: str, errors: Errors) -> None:
    def check(ref: str, path: str, errors: Errors) -> None:
        _check_request_ref(ref, known, path, errors)

    _check_set(refs, MOST_REQUESTS, check, _itself, path, errors)


def _check_request_ref(ref: str, known: Mapping[str, set[str]], path: str, errors: Errors) -> None:
    parts = ref.split("/")
    why = "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
    if len(parts) <= 2:
        for part in parts:
            check_dns_label(part, path, errors)
    if len(parts) > 2 or parts[0] not in known or (len(parts) == 2 and parts[1] not in known[parts[0]]):
        errors.append(field_invalid(path, ref, why))


def _check_config(config: Object, path: str, errors: Errors) -> None:
    opaque = config.get("opaque")
    if opaque is None:
        errors.append(field_required(f"{path}.opaque"))
        return
    check_driver(opaque.get("driver") or "", f"{path}.opaque.driver", errors)
    _check_parameters(opaque.get("parameters"), f"{path}.opaque.parameters", errors)


def _check_parameters(parameters: Any, path: str, errors: Errors) -> None:
    if parameters is None:
        errors.append(field_required(path))
    elif len(json.dumps(parameters, separators=(",", ":"), ensure_ascii=False).encode()) > LONGEST_PARAMETERS:
        errors.append(field_too_long(path, LONGEST_PARAMETERS))
    elif not isinstance(parameters, dict):
        errors.append(field_invalid(path, "<value omitted>", "must be a valid JSON object"))


def _check_pool_name(name: str, path: str, errors: Errors) -> None:
    if not name:
        errors.append(field_required(path))
        return
    if len(name) > LONGEST_POOL:
        errors.append(field_too_long(path, LONGEST_POOL))
    for part in name.split("/"):
        check_dns_subdomain(part, path, errors)


def _check_name(name: str, path: str, errors: Errors) -> None:
    """An identifier, with the domain of its driver before it or not."""
    parts = name.split("/")
    if len(parts) > 2:
        return
    if len(parts) == 2 and parts[0]:
        check_driver(parts[0], path, errors)
    elif len(parts) == 2:
        errors.append(field_invalid(path, "", "the domain must not be empty"))
    if len(parts) == 2 and not parts[1]:
        errors.append(field_invalid(path, "", "the name must not be empty"))
        return
    if len(parts[-1]) > LONGEST_NAME:
        errors.append(field_too_long(path, LONGEST_NAME))
    if not _identifier.fullmatch(parts[-1]):
        errors.append(field_invalid(path, parts[-1], IDENTIFIER))


def _check_full_name(name: str, path: str, errors: Errors) -> None:
    _check_name(name, path, errors)
    if "/" not in name:
        why = "a fully qualified name must be a domain and a name separated by a slash"
        errors.append(field_invalid(path, name, why))
