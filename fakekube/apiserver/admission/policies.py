"""ValidatingAdmissionPolicies, which validate requests by CEL expressions (`admission/plugin/policy/validating`).

Bindings, match constraints and parameters are shared with MutatingAdmissionPolicies (`mutations`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fakekube.apiserver.admission import admissionreview
from fakekube.apiserver.admission.admissionreview import VersionedAttributes
from fakekube.apiserver.admission.evaluation import Failed, Scope, all_hold
from fakekube.apiserver.admission.matching import EXEMPT, Attributes, matches
from fakekube.apiserver.call import Call
from fakekube.apiserver.needs import Waiting
from fakekube.apiserver.resource import Resource
from fakekube.apiserver.wire import selectors
from fakekube.apiserver.wire.status import StatusError, forbidden
from fakekube.struct import Struct

Object = dict[str, Any]
Spec = Mapping[str, Any]

GROUP = "admissionregistration.k8s.io"
POLICIES, BINDINGS = f"validatingadmissionpolicies.{GROUP}", f"validatingadmissionpolicybindings.{GROUP}"

#: The reason of a validation -> the HTTP status code.
CODES = {"Forbidden": 403, "Unauthorized": 401, "RequestEntityTooLarge": 413, "Invalid": 422}

NO_PARAMS = "no params found for policy binding with `Deny` parameterNotFoundAction"

#: The maximum size of a message from a messageExpression, in bytes.
LONGEST_MESSAGE = 5 * 1024


class Misconfigured(Exception):
    """A policy or a binding is misconfigured; the text is kube-apiserver's."""


class Denial(Struct, frozen=True):
    """A failed validation of a policy and a binding ("": the policy itself is misconfigured)."""

    policy: str
    binding: str
    message: str
    reason: str = ""

    def error(self, attributes: Attributes) -> StatusError:
        text = f"{self._where()} denied request: {self.message}"
        call = attributes.call
        refused = forbidden(call.resource.qualified, attributes.name or "Unknown", text)
        reason = self.reason or "Invalid"
        details = {**(refused.details or {}), "causes": [{"message": text}]}
        return StatusError(CODES.get(reason, 422), reason, refused.message, details)

    def warning(self) -> str:
        return f"Validation failed for {self._where()}: {self.message}"

    def _where(self) -> str:
        with_binding = f" with binding '{self.binding}'" if self.binding else ""
        return f"ValidatingAdmissionPolicy '{self.policy}'{with_binding}"


def validate(attributes: Attributes) -> Waiting:
    """Raises the first denial of a policy; warnings of all policies are added to the response."""
    call = attributes.call
    if call.resource.qualified in EXEMPT:
        return
    denied: list[Denial] = []
    for policy, resource, bindings in bound(attributes, POLICIES, BINDINGS):
        versioned = yield from admissionreview.versioned(attributes, resource)
        denied += _denials(policy, versioned, bindings)
    if denied:
        raise denied[0].error(attributes)


def bound(attributes: Attributes, policies: str, bindings: str) -> Iterator[tuple[Object, Resource, list[Object]]]:
    """The matching policies that have bindings, each with the resource in the version that it matches and with its
    matching bindings."""
    store = attributes.call.server.store
    every = [entry.object for _, entry in store.collection(bindings).scan("", "", None)]
    for _, entry in store.collection(policies).scan("", "", None):
        policy = entry.object
        own = [one for one in every if one["spec"].get("policyName") == policy["metadata"]["name"]]
        resource = matched(policy["spec"].get("matchConstraints"), attributes) if own else None
        if resource is not None:
            through = [one for one in own if matched(one["spec"].get("matchResources"), attributes) is not None]
            yield policy, resource, through


def matched(constraints: Spec | None, attributes: Attributes) -> Resource | None:
    """The resource, in the version that matchConstraints or a binding's matchResources match; None if they do not."""
    if constraints is None:
        return attributes.call.resource
    hook = {**constraints, "rules": constraints.get("resourceRules") or [ANY_RULE]}
    found = matches(hook, attributes)
    excluded = constraints.get("excludeResourceRules")
    policy = constraints.get("matchPolicy")
    if found is None or (excluded and matches({"rules": excluded, "matchPolicy": policy}, attributes) is not None):
        return None
    return found


#: The rule of constraints without rules, which matches everything.
ANY_RULE = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*", "*/*"]}


def _denials(policy: Object, versioned: VersionedAttributes, bindings: Sequence[Object]) -> Iterator[Denial]:
    """Evaluate a policy and add its warnings. Yields its denials, which include evaluation errors unless its
    failurePolicy is Ignore."""
    attributes = versioned.attributes
    spec, name = policy["spec"], policy["metadata"]["name"]
    strict = spec.get("failurePolicy") != "Ignore"
    try:
        resource = param_resource(spec, attributes)
    except Misconfigured as problem:
        if strict:
            yield Denial(name, "", f"failed to configure policy: {problem}")
        return
    for binding in bindings:
        through = binding["metadata"]["name"]
        try:
            found = parameters(resource, binding["spec"], attributes)
        except Misconfigured as problem:
            if strict:
                yield Denial(name, through, f"failed to configure binding: {problem}")
            continue
        actions = binding["spec"].get("validationActions") or ()
        for params in found:
            scope = scope_of(spec, params, versioned)
            for message, reason in _failures(spec, scope):
                denial = Denial(name, through, message, reason)
                if "Warn" in actions:
                    attributes.call.warnings.append(denial.warning())
                if "Deny" in actions:
                    yield denial
            for message in _unannotated(spec, scope):
                yield Denial(name, through, message)


def scope_of(spec: Spec, params: Object | None, versioned: VersionedAttributes) -> Scope:
    """The variables of a policy's expressions, with one object of parameters."""
    variables = [(one["name"], one["expression"]) for one in spec.get("variables") or ()]
    takes_params = spec.get("paramKind") is not None
    return Scope(versioned, params=params, takes_params=takes_params, variables=variables)


def _failures(spec: Spec, scope: Scope) -> Iterator[tuple[str, str]]:
    """The message and the reason of each failed validation."""
    ignoring = spec.get("failurePolicy") == "Ignore"
    try:
        if not all_hold(spec.get("matchConditions") or (), scope):
            return
    except Failed as problem:
        if not ignoring:
            yield str(problem), ""
        return
    for validation in spec.get("validations") or ():
        try:
            if scope.value(validation["expression"]) is not True:
                yield _message(validation, scope), validation.get("reason") or ""
        except Failed as problem:
            if not ignoring:
                yield str(problem), ""


def _unannotated(spec: Spec, scope: Scope) -> Iterator[str]:
    """The evaluation errors of audit annotations. Their values are not used: there is no audit log."""
    annotations = spec.get("auditAnnotations") or ()
    if not annotations or spec.get("failurePolicy") == "Ignore":
        return
    try:
        if not all_hold(spec.get("matchConditions") or (), scope):
            return
    except Failed:
        return
    for annotation in annotations:
        try:
            scope.value(annotation["valueExpression"], "string or null")
        except Failed as problem:
            yield str(problem)


def _message(validation: Spec, scope: Scope) -> str:
    """The message of a failed validation: its messageExpression, if that returns a line of text, else its message."""
    expression = validation.get("messageExpression")
    if expression:
        try:
            text = scope.value(expression, "string")
        except Failed:
            text = ""
        text = text.strip() if isinstance(text, str) else ""
        if text and "\n" not in text and len(text.encode()) <= LONGEST_MESSAGE:
            return text
    return (validation.get("message") or "").strip() or f"failed expression: {validation['expression'].strip()}"


# --- parameters ------------------------------------------------------------------------------------------------------


def param_resource(spec: Spec, attributes: Attributes) -> Resource | None:
    """The resource of a policy's paramKind; None if it has none. Raises Misconfigured."""
    kind = spec.get("paramKind")
    if kind is None:
        return None
    version, name = kind.get("apiVersion") or "", kind.get("kind") or ""
    found = attributes.call.server.catalog.find_kind(version, name)
    if found is None:
        raise Misconfigured(f"failed to find resource referenced by paramKind: '{version}, Kind={name}'")
    return found


def parameters(resource: Resource | None, binding: Spec, attributes: Attributes) -> Sequence[Object | None]:
    """The parameter objects of a binding; a single None if there is no paramKind or paramRef. Raises Misconfigured
    (`CollectParams`)."""
    ref = binding.get("paramRef")
    if resource is None or ref is None:
        return [None]
    namespace = ref.get("namespace") or (attributes.namespace if resource.namespaced else "")
    if resource.namespaced and not namespace:
        raise Misconfigured("cannot use namespaced paramRef in policy binding that matches cluster-scoped resources")
    if namespace and not resource.namespaced:
        raise Misconfigured("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")
    found = list(_referenced(attributes.call, resource.collection, namespace, ref))
    if not found and ref.get("parameterNotFoundAction") == "Deny":
        raise Misconfigured(NO_PARAMS)
    return [{"apiVersion": resource.api_version, "kind": resource.kind, **obj} for obj in found]


def _referenced(call: Call, collection: str, namespace: str, ref: Spec) -> Iterator[Object]:
    prefix = f"{namespace}/" if namespace else ""
    name = ref.get("name")
    if name:
        entry = call.server.store.get(collection, prefix + name)
        if entry is not None:
            yield entry.object
        return
    selector = selectors.of_object(ref.get("selector") or {})
    for _, entry in call.server.store.collection(collection).scan(prefix, "", None):
        if selector is None or selector.matches(entry.object["metadata"].get("labels") or {}):
            yield entry.object
