"""MutatingAdmissionPolicies, which change objects by CEL expressions (`admission/plugin/policy/mutating`)."""

from __future__ import annotations

import base64
from collections.abc import Generator, Iterator, Mapping
from typing import Any

from fakekube.apiserver.admission import admissionreview
from fakekube.apiserver.admission.evaluation import Failed, all_hold
from fakekube.apiserver.admission.matching import EXEMPT, Attributes
from fakekube.apiserver.admission.policies import GROUP, Misconfigured, bound, param_resource, parameters, scope_of
from fakekube.apiserver.admission.refusal import refused
from fakekube.apiserver.admission.reinvocation import Calls
from fakekube.apiserver.apply import typed as values
from fakekube.apiserver.apply.merging import merge
from fakekube.apiserver.apply.pathelement import shown
from fakekube.apiserver.cel.types import Type
from fakekube.apiserver.cel.values import Duration, Message, Optional, Timestamp, kind_of
from fakekube.apiserver.needs import Need
from fakekube.apiserver.patch import json_patch
from fakekube.apiserver.resource import Resource
from fakekube.apiserver.schema.model import Schema
from fakekube.apiserver.wire.goprint import go_quote
from fakekube.apiserver.wire.status import StatusError, internal_error
from fakekube.struct import Struct, replace

Object = dict[str, Any]
Spec = Mapping[str, Any]

_UNTYPED = "error applying patch: failed to convert patch object to typed object"

_UNENCODABLE = "JSONPath valueExpression evaluated to a type that could not marshal to JSON"

POLICIES, BINDINGS = f"mutatingadmissionpolicies.{GROUP}", f"mutatingadmissionpolicybindings.{GROUP}"


def mutate(attributes: Attributes, calls: Calls) -> Generator[Need, Any, Object]:
    """Apply the matching policies in order. Returns the changed object. Raises 403 if one fails."""
    assert attributes.obj is not None
    if attributes.call.resource.qualified in EXEMPT:
        return attributes.obj
    refusals: list[Refusal] = []
    invocations = list(_invocations(attributes, refusals))
    touched, sent = False, attributes
    for invocation in invocations:
        applied, changed = yield from _changed_by(invocation, attributes, calls, refusals)
        touched |= applied
        attributes = replace(attributes, obj=changed)
    calls.end(attributes.obj, touched=touched)
    if refusals:
        raise _refused(sent, refusals)
    assert attributes.obj is not None
    return attributes.obj


class Refusal(Struct, frozen=True):
    """The failure of a policy or a binding; `reason` is "" if its configuration is invalid."""

    policy: str
    binding: str
    why: str
    reason: str = ""

    def __str__(self) -> str:
        if self.binding:
            return f"policy '{self.policy}' with binding '{self.binding}' denied request: {self.why}"
        return f"policy {go_quote(self.policy)} denied request: {self.why}"


class Invocation(Struct, frozen=True):
    """One invocation of a policy, by a binding, with a parameter object, in a version of the resource."""

    policy: Object
    binding: Object
    params: Object | None
    version: Resource

    @property
    def names(self) -> tuple[str, str]:
        return self.policy["metadata"]["name"], self.binding["metadata"]["name"]


def _invocations(attributes: Attributes, refusals: list[Refusal]) -> Iterator[Invocation]:
    for policy, version, bindings in bound(attributes, POLICIES, BINDINGS):
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
                    yield Invocation(policy, binding, params, version)
            except Misconfigured as problem:
                if strict:
                    why = f"failed to configure binding: {problem}"
                    refusals.append(Refusal(name, binding["metadata"]["name"], why))


def _changed_by(
    invocation: Invocation, attributes: Attributes, calls: Calls, refusals: list[Refusal]
) -> Generator[Need, Any, tuple[bool, Object]]:
    """Apply the mutations of a policy. Returns whether any was applied, and the object. After a failed mutation, the
    following ones are applied nevertheless."""
    assert attributes.obj is not None
    spec, params, version = invocation.policy["spec"], invocation.params, invocation.version
    failures: list[Refusal] = []
    applied, obj = False, attributes.obj
    key = (*invocation.names, _name_of(params))
    try:
        versioned = yield from admissionreview.versioned(attributes, version)
        wanted = all_hold(spec.get("matchConditions") or (), scope_of(spec, params, versioned))
    except Failed as problem:
        wanted = False
        failures.append(Refusal(*invocation.names, str(problem), "Invalid"))
    if wanted and calls.is_wanted(key):
        for mutation in spec.get("mutations") or ():
            try:
                obj = yield from _mutated(mutation, spec, params, attributes.with_object(obj), version)
                applied = True
            except Failed as problem:
                failures.append(Refusal(*invocation.names, str(problem), "Invalid"))
        again = spec.get("reinvocationPolicy") == "IfNeeded"
        calls.called(key, changed=obj != attributes.obj, reinvocable=again)
    if spec.get("failurePolicy") != "Ignore":
        refusals += failures
    return applied, obj


def _name_of(params: Object | None) -> tuple[str, str]:
    meta = (params or {}).get("metadata") or {}
    return meta.get("namespace") or "", meta.get("name") or ""


def _refused(attributes: Attributes, refusals: list[Refusal]) -> StatusError:
    """The 403 error with the message and the reason of the first failure, and with all failures as causes."""
    assert attributes.obj is not None
    found = refused(attributes.call, attributes.obj, "")
    details = {**(found.details or {}), "causes": [{"message": str(one)} for one in refusals]}
    return StatusError(403, refusals[0].reason or "Forbidden", str(refusals[0]), details)


def _mutated(
    mutation: Spec, spec: Spec, params: Object | None, attributes: Attributes, version: Resource
) -> Generator[Need, Any, Object]:
    """Apply one mutation in the version that the policy matches. Raises Failed."""
    versioned = yield from admissionreview.versioned(attributes, version)
    scope = scope_of(spec, params, versioned)
    patch = mutation.get("applyConfiguration") or mutation.get("jsonPatch") or {}
    made = scope.value(patch["expression"], mutation["patchType"])
    assert versioned.obj is not None, "mutating policies have an object"
    strict = mutation["patchType"] == "JSONPatch"
    if strict:
        result = _patched(made, versioned.obj)
    else:
        check_names(made, "Object")
        _check_published(attributes, versioned.obj)
        schema = admissionreview.registration_in(attributes, version).apply_schema
        result = _merged(made, versioned.obj, schema)
    try:
        decoded = admissionreview.decoded(attributes, version, result, strict=strict)
    except admissionreview.Undecodable as problem:
        if strict:
            raise internal_error(str(problem)) from None
        raise Failed(str(problem)) from None
    return (yield from admissionreview.unversioned(attributes, decoded, version))


def _patched(operations: Any, obj: Object) -> Any:
    """Apply a JSON Patch; if one of its tests fails, the object is unchanged. Raises Failed."""
    try:
        return json_patch.applied(obj, _json(operations) or [])
    except json_patch.TestFailed:
        return obj
    except json_patch.Rejected as problem:
        raise Failed(f"JSON Patch: {problem}") from None


def _check_published(attributes: Attributes, obj: Object) -> None:
    """Check that the OpenAPI document of the object's group version has its kind: that of the group autoscaling has no
    Scale. Raises Failed."""
    version, kind = obj["apiVersion"], obj["kind"]
    if attributes.call.server.catalog.find_kind(version, kind) is None:
        named = version if "/" in version else f"/{version}"
        raise Failed(f"{_UNTYPED}: no corresponding type for {named}, Kind={kind}")


def _merged(made: Any, obj: Object, schema: Schema) -> Object:
    """Merge an apply configuration, which must not contain atomic lists, maps or structs. Raises Failed."""
    configuration = {key: value for key, value in plain(made).items() if key not in ("apiVersion", "kind")}
    try:
        values.check(configuration, schema)
    except values.Mismatch as problem:
        raise Failed(f"{_UNTYPED}: {problem}") from None
    whole = ", ".join(atomics(configuration, schema, ()))
    if whole:
        raise Failed(
            f"error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: {whole}"
        )
    return merge(obj, configuration, schema)


def check_names(value: Any, path: str) -> None:
    """Check that the type names in an expression match their field path, as `Object.spec` for spec. Raises Failed."""
    if isinstance(value, Message) and value.cel_type != path:
        raise Failed(
            f'type mismatch: unexpected type name "{value.cel_type}", expected "{path}", which matches field name path '
            "from root Object type"
        )
    if isinstance(value, dict):
        for key, item in value.items():
            check_names(item, f"{path}.{key}")
    elif isinstance(value, list):
        for item in value:
            check_names(item, path)


def plain(value: Any) -> Any:
    """The value of an expression as plain JSON data."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value


def _json(value: Any) -> Any:
    """The JSON value of a CEL value, as cel-go converts it to a `structpb.Value`. Raises Failed."""
    if isinstance(value, dict):
        wrong = next((key for key in value if not isinstance(key, str)), None)
        if wrong is not None:
            raise Failed(f"{_UNENCODABLE}: unsupported type conversion from '{kind_of(wrong)}' to string")
        return {key: _json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_json(item) for item in value]
    if isinstance(value, Optional):
        return _json(value.value) if value.present else None
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, Timestamp | Duration):
        return str(value)
    if isinstance(value, Type):
        raise Failed(f"{_UNENCODABLE}: type conversion not supported for 'type'")
    if hasattr(value, "cel_type"):
        kind = kind_of(value).rpartition(".")[2]
        raise Failed(f"{_UNENCODABLE}: type conversion error from '{kind}' to '*structpb.Value'")
    return value


def atomics(value: Any, schema: Schema, path: tuple[str, ...]) -> Iterator[str]:
    """The paths of atomic lists, maps and structs in a value, also those inside of others (`findAtomics`).

    The values of a map without fields do not count.
    """
    if isinstance(value, dict):
        if schema.map_type == "atomic":
            yield shown(path)
        for key, item in value.items():
            child = schema.fields.get(key) if schema.type == "object" else None
            if child is not None:
                yield from atomics(item, child, (*path, f"f:{key}"))
    elif isinstance(value, list) and schema.items is not None:
        if schema.item_keys is None:
            yield shown(path)
        for i, item in enumerate(value):
            yield from atomics(item, schema.items, (*path, f"i:{i}"))
