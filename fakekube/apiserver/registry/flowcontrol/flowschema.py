"""TODO"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fakekube.apiserver.registry.generic import names
from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import AGE, NAME, Printer, age_of, columns, get, name_of
from fakekube.apiserver.registry.generic.validation.content import Errors, add
from fakekube.apiserver.registry.generic.validation.gostructs import invalid_struct, unsupported_struct
from fakekube.apiserver.wire.status import (
    FieldError,
    field_duplicate,
    field_forbidden,
    field_invalid,
    field_not_supported,
    field_required,
)

Object = dict[str, Any]


def default_flow_schema(obj: Object) -> None:
    spec = obj.setdefault("spec", {})
    if not spec.get("matchingPrecedence"):
        spec["matchingPrecedence"] = 1000


ANY = "*"


EXEMPT, CATCH_ALL = "exempt", "catch-all"


LAST_PRECEDENCE = 10000


DISTINGUISHERS = ("ByNamespace", "ByUser")


SUBJECTS = ("Group", "ServiceAccount", "User")


VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch")


def _everything(*groups: str) -> list[Object]:
    return [
        {
            "subjects": [{"kind": "Group", "group": {"name": group}} for group in groups],
            "resourceRules": [
                {"verbs": [ANY], "apiGroups": [ANY], "resources": [ANY], "clusterScope": True, "namespaces": [ANY]}
            ],
            "nonResourceRules": [{"verbs": [ANY], "nonResourceURLs": [ANY]}],
        }
    ]


#: Specs that cannot be changed: every request meets one of these flow schemas at last.
FIXED_SCHEMAS: dict[str, Object] = {
    EXEMPT: {
        "priorityLevelConfiguration": {"name": EXEMPT},
        "matchingPrecedence": 1,
        "rules": _everything("system:masters"),
    },
    CATCH_ALL: {
        "priorityLevelConfiguration": {"name": CATCH_ALL},
        "matchingPrecedence": LAST_PRECEDENCE,
        "distinguisherMethod": {"type": "ByUser"},
        "rules": _everything("system:unauthenticated", "system:authenticated"),
    },
}


def validate_flow_schema(schema: Object) -> list[FieldError]:
    name, spec = schema["metadata"].get("name") or "", schema.get("spec") or {}
    errors: Errors = []
    _check_precedence(spec.get("matchingPrecedence") or 0, name, "spec.matchingPrecedence", errors)
    method = spec.get("distinguisherMethod")
    if method is not None and method.get("type") not in DISTINGUISHERS:
        path = "spec.distinguisherMethod.type"
        errors.append(unsupported_struct(path, "FlowDistinguisherMethod", method, DISTINGUISHERS))
    level = (spec.get("priorityLevelConfiguration") or {}).get("name") or ""
    if level:
        add(errors, "spec.priorityLevelConfiguration.name", level, names.dns_subdomain_problems(level))
    else:
        errors.append(field_required("spec.priorityLevelConfiguration.name", "must reference a priority level"))
    for i, rule in enumerate(spec.get("rules") or ()):
        _check_rules(rule, f"spec.rules[{i}]", errors)
    if name in FIXED_SCHEMAS and spec != FIXED_SCHEMAS[name]:
        errors.append(invalid_struct("spec", "FlowSchemaSpec", spec, f"spec of '{name}' must equal the fixed value"))
    _check_status(schema, errors)
    return errors


def validate_flow_schema_update(new: Object, old: Object) -> list[FieldError]:
    return validate_flow_schema(new)


def _check_precedence(precedence: int, name: str, path: str, errors: Errors) -> None:
    if precedence <= 0:
        errors.append(field_invalid(path, precedence, "must be a positive value"))
    if precedence > LAST_PRECEDENCE:
        errors.append(field_invalid(path, precedence, f"must not be greater than {LAST_PRECEDENCE}"))
    if precedence == 1 and name != EXEMPT:
        why = "only the schema named 'exempt' may have matchingPrecedence 1"
        errors.append(field_invalid(path, precedence, why))


def _check_rules(rule: Object, path: str, errors: Errors) -> None:
    subjects = rule.get("subjects") or []
    for i, subject in enumerate(subjects):
        _check_subject(subject, f"{path}.subjects[{i}]", errors)
    if not subjects:
        errors.append(field_required(f"{path}.subjects", "subjects must contain at least one value"))
    resources, others = rule.get("resourceRules") or [], rule.get("nonResourceRules") or []
    if not resources and not others:
        why = "at least one of resourceRules and nonResourceRules has to be non-empty"
        errors.append(field_required(path, why))
    for i, one in enumerate(resources):
        _check_resource_rule(one, f"{path}.resourceRules[{i}]", errors)
    for i, one in enumerate(others):
        _check_non_resource_rule(one, f"{path}.nonResourceRules[{i}]", errors)


def _check_service_account(subject: Object, path: str, errors: Errors) -> None:
    name, namespace = subject.get("name") or "", subject.get("namespace") or ""
    if not name:
        errors.append(field_required(f"{path}.name"))
    elif name != ANY:
        add(errors, f"{path}.name", name, names.dns_subdomain_problems(name))
    if namespace:
        add(errors, f"{path}.namespace", namespace, names.dns_label_problems(namespace))
    else:
        errors.append(field_required(f"{path}.namespace", "must specify namespace for service account"))


def _check_named(subject: Object, path: str, errors: Errors) -> None:
    if not subject.get("name"):
        errors.append(field_required(f"{path}.name"))


#: Kind of a subject -> the field that holds it, and its check; those of other kinds are refused in this order.
_SUBJECTS: dict[str, tuple[str, Callable[[Object, str, Errors], None]]] = {
    "ServiceAccount": ("serviceAccount", _check_service_account),
    "User": ("user", _check_named),
    "Group": ("group", _check_named),
}


def _check_subject(subject: Object, path: str, errors: Errors) -> None:
    kind = subject.get("kind") or ""
    if kind not in _SUBJECTS:
        errors.append(field_not_supported(f"{path}.kind", kind, SUBJECTS))
        return
    field, check = _SUBJECTS[kind]
    if subject.get(field) is None:
        errors.append(field_required(f"{path}.{field}", f"{field} is required when subject kind is '{kind}'"))
    else:
        check(subject[field], f"{path}.{field}", errors)
    for other, (held, _) in _SUBJECTS.items():
        if other != kind and subject.get(held) is not None:
            errors.append(field_forbidden(f"{path}.{held}", f"{held} is forbidden when subject kind is not '{other}'"))


def _check_verbs(verbs: list[str], path: str, errors: Errors) -> None:
    if not verbs:
        errors.append(field_required(path, "verbs must contain at least one value"))
    elif ANY in verbs:
        _check_alone(verbs, "verbs", path, errors)
    elif not set(verbs) <= set(VERBS):
        errors.append(field_not_supported(path, verbs, VERBS))


def _check_alone(values: list[str], what: str, path: str, errors: Errors) -> None:
    if len(values) > 1 and ANY in values:
        errors.append(field_invalid(path, values, f"if '*' is present, must not specify other {what}"))


def _check_resource_rule(rule: Object, path: str, errors: Errors) -> None:
    _check_verbs(rule.get("verbs") or [], f"{path}.verbs", errors)
    for field, one, many in (("apiGroups", "api group", "api groups"), ("resources", "resource", "resources")):
        values = rule.get(field) or []
        if values:
            _check_alone(values, many, f"{path}.{field}", errors)
        else:
            errors.append(field_required(f"{path}.{field}", f"resource rules must supply at least one {one}"))
    namespaces, here = rule.get("namespaces") or [], f"{path}.namespaces"
    if not namespaces and not rule.get("clusterScope"):
        why = "resource rules that are not cluster scoped must supply at least one namespace"
        errors.append(field_required(here, why))
    elif ANY in namespaces:
        _check_alone(namespaces, "namespaces", here, errors)
    else:
        for i, namespace in enumerate(namespaces):
            for problem in names.dns_label_problems(namespace):
                why = f"each member of this list must be '*' or a DNS-1123 label; {problem}"
                errors.append(field_invalid(f"{here}[{i}]", namespace, why))


def _check_non_resource_rule(rule: Object, path: str, errors: Errors) -> None:
    _check_verbs(rule.get("verbs") or [], f"{path}.verbs", errors)
    urls, here = rule.get("nonResourceURLs") or [], f"{path}.nonResourceURLs"
    if not urls:
        errors.append(field_required(here, "nonResourceURLs must contain at least one value"))
    elif ANY in urls:
        _check_alone(urls, "non-resource URLs", here, errors)
    else:
        for i, url in enumerate(urls):
            problem = _url_problem(url)
            if problem:
                errors.append(field_invalid(f"{here}[{i}]", url, problem))


def _url_problem(path: str) -> str:
    if not path:
        return "must not be empty"
    if not path.startswith("/"):
        return "must start with slash"
    if " " in path:
        return "must not contain white-space"
    if "//" in path:
        return "must not contain double slash"
    wildcards = path.count(ANY)
    if wildcards > 1 or (wildcards == 1 and not path.endswith("/*")):
        return "wildcard can only do suffix matching"
    return ""


def _check_status(obj: Object, errors: Errors) -> None:
    seen: set[str] = set()
    for i, condition in enumerate((obj.get("status") or {}).get("conditions") or ()):
        path, type = f"status.conditions[{i}].type", condition.get("type") or ""
        if type in seen:
            errors.append(field_duplicate(path, type))
        seen.add(type)
        if not type:
            errors.append(field_required(path, "must not be empty"))


def validate_status_update(new: Object, old: Object) -> list[FieldError]:
    errors: Errors = []
    _check_status(new, errors)
    return errors


def _flow_schema(obj: Object, ages: Ages) -> list[Any]:
    dangling = [one.get("status") for one in get(obj, "status.conditions", ()) if one.get("type") == "Dangling"]
    return [
        name_of(obj),
        get(obj, "spec.priorityLevelConfiguration.name", ""),
        get(obj, "spec.matchingPrecedence", 0),
        get(obj, "spec.distinguisherMethod.type", "<none>"),
        age_of(obj, ages),
        dangling[0] if dangling else "?",
    ]


def _by_precedence(schemas: Sequence[Object]) -> Sequence[Object]:
    return sorted(schemas, key=lambda one: (get(one, "spec.matchingPrecedence", 0), name_of(one)))


KIND = Kind(
    "flowschemas.flowcontrol.apiserver.k8s.io",
    Strategy(
        generation=("spec",),
        repeats_metadata=False,
        default=default_flow_schema,
        validate=validate_flow_schema,
        validate_update=validate_flow_schema_update,
        validate_status_update=validate_status_update,
    ),
    printer=Printer(
        columns(NAME, "PriorityLevel", "MatchingPrecedence", "DistinguisherMethod", AGE, "MissingPL"),
        _flow_schema,
        order=_by_precedence,
    ),
)
