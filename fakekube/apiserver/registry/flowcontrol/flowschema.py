"""FlowSchema: the priority level of requests (`ValidateFlowSchema`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fakekube.apiserver import names
from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import AGE, NAME, Printer, age_of, columns, get, name_of
from fakekube.apiserver.registry.generic.validation.field import Field
from fakekube.apiserver.registry.generic.validation.metadata import as_new
from fakekube.apiserver.registry.generic.validation.rules import update_validator, validator
from fakekube.apiserver.storage.store import Entry

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


#: Specs that cannot be changed: every request matches one of these flow schemas.
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


def validate(schema: Field) -> None:
    name, spec = schema["metadata"]["name"].text, schema["spec"]
    _validate_precedence(spec["matchingPrecedence"], name)
    method = spec["distinguisherMethod"]
    if method.value is not None and method["type"].value not in DISTINGUISHERS:
        method["type"].with_value(method.value).unsupported_struct("FlowDistinguisherMethod", DISTINGUISHERS)
    spec["priorityLevelConfiguration"]["name"].required("must reference a priority level").dns_subdomain()
    for rule in spec["rules"]:
        _validate_rule(rule)
    if name in FIXED_SCHEMAS and spec.struct != FIXED_SCHEMAS[name]:
        spec.with_value(spec.struct).invalid_struct("FlowSchemaSpec", f"spec of '{name}' must equal the fixed value")
    validate_status(schema)


def validate_status(obj: Field) -> None:
    """Validates the status of both kinds of flow control."""
    seen: set[str] = set()
    for condition in obj["status"]["conditions"]:
        condition["type"].unique(seen).required("must not be empty")


def _validate_precedence(precedence: Field, name: str) -> None:
    precedence.at_least(1, "must be a positive value")
    precedence.at_most(LAST_PRECEDENCE, f"must not be greater than {LAST_PRECEDENCE}")
    if precedence.value == 1 and name != EXEMPT:
        precedence.invalid("only the schema named 'exempt' may have matchingPrecedence 1")


def _validate_rule(rule: Field) -> None:
    for subject in rule["subjects"]:
        _validate_subject(subject)
    rule["subjects"].required("subjects must contain at least one value")
    if not rule["resourceRules"] and not rule["nonResourceRules"]:
        rule.missing("at least one of resourceRules and nonResourceRules has to be non-empty")
    for one in rule["resourceRules"]:
        _validate_resource_rule(one)
    for one in rule["nonResourceRules"]:
        _validate_non_resource_rule(one)


def _validate_service_account(subject: Field) -> None:
    name = subject["name"].required()
    if name.value != ANY:
        name.dns_subdomain()
    subject["namespace"].required("must specify namespace for service account").dns_label()


def _validate_named(subject: Field) -> None:
    subject["name"].required()


#: Kind of a subject -> the member for it, and its rule; those of other kinds are forbidden in this order.
_SUBJECTS: dict[str, tuple[str, Callable[[Field], None]]] = {
    "ServiceAccount": ("serviceAccount", _validate_service_account),
    "User": ("user", _validate_named),
    "Group": ("group", _validate_named),
}


def _validate_subject(subject: Field) -> None:
    kind = subject["kind"].one_of(SUBJECTS).text
    if kind not in _SUBJECTS:
        return
    member, rule = _SUBJECTS[kind]
    rule(subject[member].specified(f"{member} is required when subject kind is '{kind}'"))
    for other, (member, _) in _SUBJECTS.items():
        if other != kind:
            subject.get(member).forbidden(f"{member} is forbidden when subject kind is not '{other}'")


def _validate_verbs(verbs: Field) -> None:
    verbs.required("verbs must contain at least one value")
    if ANY in verbs:
        _validate_alone(verbs, "verbs")
    elif not set(verbs.value or ()) <= set(VERBS):
        verbs.not_supported(VERBS)


def _validate_alone(values: Field, what: str) -> None:
    if len(values) > 1 and ANY in values:
        values.invalid(f"if '*' is present, must not specify other {what}")


def _validate_resource_rule(rule: Field) -> None:
    _validate_verbs(rule["verbs"])
    for field, one, many in (("apiGroups", "api group", "api groups"), ("resources", "resource", "resources")):
        _validate_alone(rule[field].required(f"resource rules must supply at least one {one}"), many)
    namespaces = rule["namespaces"]
    if not namespaces and not rule["clusterScope"]:
        namespaces.missing("resource rules that are not cluster scoped must supply at least one namespace")
    elif ANY in namespaces:
        _validate_alone(namespaces, "namespaces")
    else:
        for namespace in namespaces:
            for problem in names.dns_label_problems(namespace.text):
                namespace.invalid(f"each member of this list must be '*' or a DNS-1123 label; {problem}")


def _validate_non_resource_rule(rule: Field) -> None:
    _validate_verbs(rule["verbs"])
    urls = rule["nonResourceURLs"].required("nonResourceURLs must contain at least one value")
    if ANY in urls:
        _validate_alone(urls, "non-resource URLs")
        return
    for url in urls:
        url.invalid_if(_url_problem(url.text))


def _url_problem(path: str) -> str:
    wildcards = path.count(ANY)
    problems = (
        ("must not be empty", not path),
        ("must start with slash", not path.startswith("/")),
        ("must not contain white-space", " " in path),
        ("must not contain double slash", "//" in path),
        ("wildcard can only do suffix matching", wildcards > 1 or (wildcards == 1 and not path.endswith("/*"))),
    )
    return next((problem for problem, found in problems if found), "")


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


def _by_precedence(schemas: Sequence[Entry]) -> Sequence[Entry]:
    return sorted(schemas, key=lambda one: (get(one.object, "spec.matchingPrecedence", 0), name_of(one.object)))


KIND = Kind(
    "flowschemas.flowcontrol.apiserver.k8s.io",
    Strategy(
        status_repeats_metadata=False,
        status_resets_metadata=True,
        generation=("spec",),
        repeats_metadata=False,
        default=default_flow_schema,
        validate=validator(validate),
        validate_update=as_new(validate),
        validate_status_update=update_validator(lambda new, old: validate_status(new)),
    ),
    printer=Printer(
        columns(NAME, "PriorityLevel", "MatchingPrecedence", "DistinguisherMethod", AGE, "MissingPL"),
        _flow_schema,
        order=_by_precedence,
    ),
)
