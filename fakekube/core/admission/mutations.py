"""MutatingAdmissionPolicies: expressions that change a write (`admission/plugin/policy/mutating`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from fakekube.core import codec
from fakekube.core.admission.expressions import Failed, Scope, all_hold
from fakekube.core.admission.matching import EXEMPT, Attributes
from fakekube.core.admission.policies import GROUP, Misconfigured, bound, param_resource, parameters, scope_of
from fakekube.core.admission.reinvocation import Calls
from fakekube.core.apply import typed as values
from fakekube.core.apply.pathelement import shown
from fakekube.core.body import typed
from fakekube.core.crd.cel.values import Message
from fakekube.core.patch import json_patch
from fakekube.core.schema.decode import WrongType
from fakekube.core.schema.model import Schema
from fakekube.core.status import StatusError, forbidden, go_quote

Object = dict[str, Any]
Spec = Mapping[str, Any]

POLICIES, BINDINGS = f"mutatingadmissionpolicies.{GROUP}", f"mutatingadmissionpolicybindings.{GROUP}"


def mutate(attributes: Attributes, calls: Calls) -> Object:
    """The object as the policies leave it, one after the other. Raises 403 where one fails."""
    assert attributes.obj is not None
    if attributes.call.resource.qualified in EXEMPT:
        return attributes.obj
    refusals: list[Refusal] = []
    invocations = list(_invocations(attributes, refusals))
    touched = False
    for policy, binding, params in invocations:
        applied, changed = _changed_by(policy, binding, params, attributes, calls, refusals)
        touched |= applied
        attributes = replace(attributes, obj=changed)
    calls.end(attributes.obj, touched=touched)
    if refusals:
        raise _refused(attributes, refusals)
    assert attributes.obj is not None
    return attributes.obj


@dataclass(frozen=True, slots=True)
class Refusal:
    """What is wrong with a policy, or with a binding of it; `reason` "" where it cannot even be asked."""

    policy: str
    binding: str
    why: str
    reason: str = ""

    def __str__(self) -> str:
        if self.binding:
            return f"policy '{self.policy}' with binding '{self.binding}' denied request: {self.why}"
        return f"policy {go_quote(self.policy)} denied request: {self.why}"


def _invocations(attributes: Attributes, refusals: list[Refusal]) -> Iterator[tuple[Object, Object, Object | None]]:
    """Policy, binding and parameters of each call."""
    for policy, bindings in bound(attributes, POLICIES, BINDINGS):
        name, strict = policy["metadata"]["name"], policy["spec"].get("failurePolicy") != "Ignore"
        try:
            resource = param_resource(policy["spec"], attributes)
        except Misconfigured as problem:
            if strict:
                refusals.append(Refusal(name, "", f"failed to configure policy: {problem}"))
            continue
        for binding in bindings:
            try:
                for params in parameters(resource, binding["spec"], attributes):
                    yield policy, binding, params
            except Misconfigured as problem:
                if strict:
                    why = f"failed to configure binding: {problem}"
                    refusals.append(Refusal(name, binding["metadata"]["name"], why))


def _changed_by(
    policy: Object,
    binding: Object,
    params: Object | None,
    attributes: Attributes,
    calls: Calls,
    refusals: list[Refusal],
) -> tuple[bool, Object]:
    """Whether any mutation was applied, and the object then. A mutation that fails leaves the others to be tried."""
    assert attributes.obj is not None
    spec, names = policy["spec"], (policy["metadata"]["name"], binding["metadata"]["name"])
    failures: list[Refusal] = []
    applied, obj = False, attributes.obj
    key = (*names, _name_of(params))
    try:
        wanted = all_hold(spec.get("matchConditions") or (), scope_of(spec, params, attributes))
    except Failed as problem:
        wanted = False
        failures.append(Refusal(*names, str(problem), "Invalid"))
    if wanted and calls.is_wanted(key):
        for mutation in spec.get("mutations") or ():
            try:
                obj = _mutated(mutation, scope_of(spec, params, replace(attributes, obj=obj)), obj, attributes)
                applied = True
            except Failed as problem:
                failures.append(Refusal(*names, str(problem), "Invalid"))
        again = spec.get("reinvocationPolicy") == "IfNeeded"
        calls.called(key, changed=obj != attributes.obj, reinvocable=again)
    if spec.get("failurePolicy") != "Ignore":
        refusals += failures
    return applied, obj


def _name_of(params: Object | None) -> tuple[str, str]:
    meta = (params or {}).get("metadata") or {}
    return meta.get("namespace") or "", meta.get("name") or ""


def _refused(attributes: Attributes, refusals: list[Refusal]) -> StatusError:
    """403, in the first one's words and for its reason, with all as causes."""
    found = forbidden(attributes.call.resource.qualified, attributes.name, "")
    details = {**(found.details or {}), "causes": [{"message": str(one)} for one in refusals]}
    return StatusError(403, refusals[0].reason or "Forbidden", str(refusals[0]), details)


def _mutated(mutation: Spec, scope: Scope, obj: Object, attributes: Attributes) -> Object:
    """The object after one mutation. Raises Failed."""
    patch = mutation.get("applyConfiguration") or mutation.get("jsonPatch") or {}
    made = scope.value(patch["expression"], mutation["patchType"])
    if mutation["patchType"] == "JSONPatch":
        return _patched(made, obj, attributes)
    return _merged(made, obj, attributes)


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
