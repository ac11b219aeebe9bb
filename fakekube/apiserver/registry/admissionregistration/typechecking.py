"""Type-checks the expressions of ValidatingAdmissionPolicies (`plugin/policy/validating/typechecking.go`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from fakekube.apiserver.cel.environment import Environment, type_problem, typed_variables
from fakekube.apiserver.cel.types import DYN, Type
from fakekube.apiserver.cel.values import CONVERTERS
from fakekube.apiserver.crd.decltypes import schema_decl_type
from fakekube.apiserver.crd.structural import Structural

Object = Mapping[str, Any]

#: A group, a version and a kind.
GroupVersionKind = tuple[str, str, str]

#: Returns the kinds of a group, a version and a resource.
KindsFor = Callable[[str, str, str], Iterable[GroupVersionKind]]

#: The kinds that one rule may add before the others are ignored.
MOST_TYPES = 10

_REFERENCE = "#/components/schemas/"

#: The types that OpenAPI 3 publishes without a type, which the definitions of kube-controller-manager have.
_TYPED: Object = {f"{_REFERENCE}io.k8s.apimachinery.pkg.api.resource.Quantity": {"type": "string"}}


def types_to_check(policy: Object, kinds_for: KindsFor) -> Sequence[GroupVersionKind]:
    """The kinds that the resource rules of a policy name, in order.

    A rule with a wildcard in its groups or versions is ignored, so are wildcards and subresources of its resources.
    """
    found: set[GroupVersionKind] = set()
    for rule in (policy["spec"].get("matchConstraints") or {}).get("resourceRules") or ():
        groups, versions = rule.get("apiGroups") or (), rule.get("apiVersions") or ()
        if any("*" in one for one in (*groups, *versions)):
            continue
        resources = sorted(one for one in rule.get("resources") or () if "*" not in one and "/" not in one)
        count = 0
        for group in sorted(groups):
            for version in sorted(versions):
                for resource in resources:
                    for one in kinds_for(group, version, resource):
                        found.add(one)
                        count += 1
                        if count == MOST_TYPES:
                            return sorted(found)
    return sorted(found)


def param_type(policy: Object) -> GroupVersionKind | None:
    """The kind of the parameters of a policy."""
    kind = policy["spec"].get("paramKind")
    if not kind:
        return None
    group, _, version = kind["apiVersion"].rpartition("/")
    return group, version, kind["kind"]


def declared_type(document: Object, wanted: GroupVersionKind, suffix: str) -> Type | None:
    """The type of a kind in an OpenAPI 3 document; None if it does not have the kind, dyn if its schema has no type.

    Types of objects are named by the kind, `suffix` and the path, as in `Deployment123.spec`.
    """
    schemas = (document.get("components") or {}).get("schemas") or {}
    for name, schema in schemas.items():
        for one in schema.get("x-kubernetes-group-version-kind") or ():
            if (one["group"], one["version"], one["kind"]) == wanted:
                node = populated({"$ref": f"{_REFERENCE}{name}"}, schemas)
                declared = schema_decl_type(
                    Structural(node), f"{wanted[2]}{suffix}", CONVERTERS, root=not _has_metadata(node)
                )
                return DYN if declared is None else declared.type
    return None


def populated(schema: Object, schemas: Object, visited: frozenset[str] = frozenset()) -> Object:
    """A schema whose references are replaced by what they refer to; one to itself by an object without fields.

    Source: `cel/openapi/resolver/refs.go`, PopulateRefs.
    """
    reference = _reference(schema)
    if reference in visited:
        return {"type": "object"}
    if reference:
        visited |= {reference}
        schema = _TYPED.get(reference) or schemas[reference.removeprefix(_REFERENCE)]
    made = dict(schema)
    if "properties" in made:
        made["properties"] = {name: populated(one, schemas, visited) for name, one in made["properties"].items()}
    for part in ("items", "additionalProperties"):
        if isinstance(made.get(part), dict):
            made[part] = populated(made[part], schemas, visited)
    if made.get("format") == "int-or-string":
        made["x-kubernetes-int-or-string"] = True
    return made


def _reference(schema: Object) -> str:
    """What a schema refers to, also where keywords are beside the reference; "" for another schema."""
    if "$ref" in schema:
        return str(schema["$ref"])
    return next(filter(None, map(_reference, schema.get("allOf") or ())), "")


def _has_metadata(schema: Object) -> bool:
    """Whether a schema has the fields of each object, which it gets otherwise (`WithTypeAndObjectMeta`)."""
    fields = schema.get("properties") or {}
    meta = (fields.get("metadata") or {}).get("properties") or {}
    wanted = (fields.get("kind"), fields.get("apiVersion"), meta.get("name"), meta.get("generateName"))
    return all((one or {}).get("type") == "string" for one in wanted)


def expression_warnings(
    policy: Object, types: Mapping[GroupVersionKind, Type], params: Type | None
) -> Sequence[Mapping[str, str]]:
    """The warnings about validations and their messages: of each expression, what is wrong with it for each type.

    `params` is the type of the parameters; None: expressions do not know `params`.
    """
    spec = policy["spec"]
    variables = tuple((one["name"], one["expression"]) for one in spec.get("variables") or ())
    environment = Environment("any", params is not None, variables=variables)
    known = {
        kind: typed_variables(
            environment, {"object": one, "oldObject": one, **({} if params is None else {"params": params})}
        )
        for kind, one in types.items()
    }
    found = []
    for i, validation in enumerate(spec.get("validations") or ()):
        for field in ("expression", "messageExpression"):
            text = validation.get(field) or ""
            problems = {kind: type_problem(text, known[kind]) for kind in sorted(known) if text}
            lines = [f"{g}/{v}, Kind={kind}: {problem}\n" for (g, v, kind), problem in problems.items() if problem]
            if lines:
                found.append({"fieldRef": f"spec.validations[{i}].{field}", "warning": "\n".join(lines)})
    return found
