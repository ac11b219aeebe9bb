"""MutatingAdmissionPolicies: expressions that change a write (`admission/plugin/policy/mutating`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from fakekube.core import codec
from fakekube.core.admission import reviews
from fakekube.core.admission.expressions import Failed, Scope, all_hold
from fakekube.core.admission.matching import EXEMPT, Attributes
from fakekube.core.admission.policies import GROUP, bound, parameters
from fakekube.core.apply import typed as values
from fakekube.core.apply.pathelement import shown
from fakekube.core.body import typed
from fakekube.core.crd.cel.values import Message
from fakekube.core.patch import json_patch
from fakekube.core.schema.decode import WrongType
from fakekube.core.schema.model import Schema
from fakekube.core.status import StatusError, forbidden

Object = dict[str, Any]
Spec = Mapping[str, Any]

POLICIES, BINDINGS = f"mutatingadmissionpolicies.{GROUP}", f"mutatingadmissionpolicybindings.{GROUP}"


def mutate(attributes: Attributes) -> Object:
    """The object as the policies leave it, one after the other; where one changes what others before it have seen,
    those of them that ask for it run again, once. Raises 422 for one that fails."""
    assert attributes.obj is not None
    if attributes.call.resource.qualified in EXEMPT:
        return attributes.obj
    before: list[tuple[Object, Object]] = []
    again: list[tuple[Object, Object]] = []
    for policy, binding in bound(attributes, POLICIES, BINDINGS):
        changed = _changed_by(policy, binding, attributes)
        if changed != attributes.obj:
            again, before = [*again, *before], []
        if policy["spec"].get("reinvocationPolicy") == "IfNeeded":
            before.append((policy, binding))
        attributes = replace(attributes, obj=changed)
    for policy, binding in again:
        attributes = replace(attributes, obj=_changed_by(policy, binding, attributes))
    assert attributes.obj is not None
    return attributes.obj


def _changed_by(policy: Object, binding: Object, attributes: Attributes) -> Object:
    assert attributes.obj is not None
    spec = policy["spec"]
    try:
        for params in parameters(spec, binding["spec"], attributes):
            attributes = replace(attributes, obj=_applied(spec, params, attributes))
    except Failed as problem:
        if spec.get("failurePolicy") != "Ignore":
            names = (policy["metadata"]["name"], binding["metadata"]["name"])
            raise _refused(attributes, *names, str(problem)) from None
    assert attributes.obj is not None
    return attributes.obj


def _refused(attributes: Attributes, policy: str, binding: str, why: str) -> StatusError:
    text = f"policy '{policy}' with binding '{binding}' denied request: {why}"
    refused = forbidden(attributes.call.resource.qualified, attributes.name, text)
    return StatusError(422, "Invalid", refused.message, {**(refused.details or {}), "causes": [{"message": text}]})


def _applied(spec: Spec, params: Object | None, attributes: Attributes) -> Object:
    """The object after all mutations of a policy, with one object of parameters. Raises Failed."""
    assert attributes.obj is not None
    variables = [(one["name"], one["expression"]) for one in spec.get("variables") or ()]
    request = reviews.request(attributes, attributes.call.resource, "")
    obj = attributes.obj
    for i, mutation in enumerate(spec.get("mutations") or ()):
        scope = Scope(replace(attributes, obj=obj), request, params=params, variables=variables)
        if i == 0 and not all_hold(spec.get("matchConditions") or (), scope):
            return obj
        patch = mutation.get("applyConfiguration") or mutation.get("jsonPatch") or {}
        made = scope.value(patch["expression"], mutation["patchType"])
        if mutation["patchType"] == "JSONPatch":
            obj = _patched(made, obj, attributes)
        else:
            obj = _merged(made, obj, attributes)
    return obj


def _patched(operations: Any, obj: Object, attributes: Attributes) -> Object:
    """With the operations of a JSON Patch."""
    resource = attributes.call.resource
    whole = {"apiVersion": resource.api_version, "kind": resource.kind, **obj}
    try:
        result = json_patch.apply(whole, json_patch.check(plain(operations)))
    except StatusError as refused:
        raise Failed(f"JSON Patch: {refused.message}") from None
    return _decoded(result, attributes)


def _merged(made: Any, obj: Object, attributes: Attributes) -> Object:
    """With an apply configuration merged in; what is owned as a whole cannot be changed in part."""
    check_names(made, "Object")
    configuration = plain(made)
    schema = attributes.call.server.apply_schema(attributes.call.resource)
    try:
        values.check(configuration, schema)
    except values.Mismatch as problem:
        raise Failed(f"error applying patch: {problem}") from None
    for path in atomics(configuration, schema, ()):
        raise Failed(
            f"error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: {path}"
        )
    return _decoded(values.merge(obj, configuration, schema), attributes)


def _decoded(result: Object, attributes: Attributes) -> Object:
    call = attributes.call
    whole = {"apiVersion": call.resource.api_version, "kind": call.resource.kind, **result}
    try:
        return typed(call, codec.copied(whole), [])
    except (WrongType, StatusError) as problem:
        raise Failed(str(problem)) from None


def check_names(value: Any, path: str) -> None:
    """Objects that an expression wrote down are named by where they stand: `Object.spec` below spec. Raises Failed."""
    if isinstance(value, Message) and value.cel_type != path:
        raise Failed(
            f'unexpected type name "{value.cel_type}", expected "{path}", which matches field name path from root '
            "Object type"
        )
    if isinstance(value, dict):
        for key, item in value.items():
            check_names(item, f"{path}.{key}")
    elif isinstance(value, list):
        for item in value:
            check_names(item, path)


def plain(value: Any) -> Any:
    """A value of an expression as JSON has it."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value


def atomics(value: Any, schema: Schema, path: tuple[str, ...]) -> Iterator[str]:
    """The paths of what is owned as a whole."""
    whole_list = isinstance(value, list) and schema.type == "list" and schema.item_keys is None
    if whole_list or (isinstance(value, dict) and schema.map_type == "atomic"):
        yield shown(path)
    elif isinstance(value, dict):
        for key, item in value.items():
            child = schema.fields.get(key) if schema.type == "object" else schema.values
            if child is not None:
                yield from atomics(item, child, (*path, f"f:{key}"))
    elif isinstance(value, list) and schema.items is not None:
        for i, item in enumerate(value):
            yield from atomics(item, schema.items, (*path, f"i:{i}"))
