"""ValidatingAdmissionPolicies: expressions that judge a write (`admission/plugin/policy/validating`).

What they have in common with those that change it stands here, too: bindings, constraints, parameters.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fakekube.core import selectors
from fakekube.core.admission import reviews
from fakekube.core.admission.expressions import Failed, Scope, all_hold
from fakekube.core.admission.matching import EXEMPT, Attributes, matches
from fakekube.core.call import Call
from fakekube.core.status import StatusError, forbidden

Object = dict[str, Any]
Spec = Mapping[str, Any]

GROUP = "admissionregistration.k8s.io"
POLICIES, BINDINGS = f"validatingadmissionpolicies.{GROUP}", f"validatingadmissionpolicybindings.{GROUP}"

#: A failure's reason -> the HTTP status.
CODES = {"Forbidden": 403, "Unauthorized": 401, "RequestEntityTooLarge": 413, "Invalid": 422}

NO_PARAMS = "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"


@dataclass(frozen=True, slots=True)
class Denial:
    """One thing said against a write, by a policy through a binding."""

    policy: str
    binding: str
    message: str
    reason: str = ""

    def error(self, attributes: Attributes) -> StatusError:
        text = f"ValidatingAdmissionPolicy '{self.policy}' with binding '{self.binding}' denied request: {self.message}"
        call = attributes.call
        refused = forbidden(call.resource.qualified, attributes.name, text)
        reason = self.reason or "Invalid"
        details = {**(refused.details or {}), "causes": [{"message": text}]}
        return StatusError(CODES.get(reason, 422), reason, refused.message, details)

    def warning(self) -> str:
        where = f"ValidatingAdmissionPolicy '{self.policy}' with binding '{self.binding}'"
        return f"Validation failed for {where}: {self.message}"


def validate(attributes: Attributes) -> None:
    """Raises what the first policy says that denies; warns of what others say."""
    call = attributes.call
    if call.resource.qualified in EXEMPT:
        return
    denied: list[Denial] = []
    for policy, binding in bound(attributes, POLICIES, BINDINGS):
        denied += _judged(policy, binding, attributes)
    if denied:
        raise denied[0].error(attributes)


def bound(attributes: Attributes, policies: str, bindings: str) -> Iterator[tuple[Object, Object]]:
    """The policies for a request, each with each of its bindings that is for the request, too."""
    store = attributes.call.server.store
    every = [entry.object for _, entry in store.collection(bindings).scan("", "", None)]
    for _, entry in store.collection(policies).scan("", "", None):
        policy = entry.object
        own = [one for one in every if one["spec"].get("policyName") == policy["metadata"]["name"]]
        if own and matches_resources(policy["spec"].get("matchConstraints"), attributes):
            for binding in own:
                if matches_resources(binding["spec"].get("matchResources"), attributes):
                    yield policy, binding


def matches_resources(constraints: Spec | None, attributes: Attributes) -> bool:
    """matchConstraints, or a binding's matchResources: rules, exceptions and selectors."""
    if constraints is None:
        return True
    hook = {**constraints, "rules": constraints.get("resourceRules") or [ANY_RULE]}
    if matches(hook, attributes) is None:
        return False
    excluded = constraints.get("excludeResourceRules")
    policy = constraints.get("matchPolicy")
    return not excluded or matches({"rules": excluded, "matchPolicy": policy}, attributes) is None


#: What no rules at all stand for.
ANY_RULE = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*", "*/*"]}


def _judged(policy: Object, binding: Object, attributes: Attributes) -> Iterator[Denial]:
    """What a policy says through one binding; warnings are passed on at once."""
    actions = binding["spec"].get("validationActions") or ()
    for message, reason in _failures(policy["spec"], binding["spec"], attributes):
        denial = Denial(policy["metadata"]["name"], binding["metadata"]["name"], message, reason)
        if "Deny" in actions:
            yield denial
        elif "Warn" in actions:
            attributes.call.warnings.append(denial.warning())


def _failures(spec: Spec, binding: Spec, attributes: Attributes) -> Iterator[tuple[str, str]]:
    """Message and reason of each validation that fails."""
    request = reviews.request(attributes, attributes.call.resource, "")
    variables = [(one["name"], one["expression"]) for one in spec.get("variables") or ()]
    try:
        found = parameters(spec, binding, attributes)
    except Failed as problem:
        if spec.get("failurePolicy") != "Ignore":
            yield str(problem), ""
        return
    for params in found:
        scope = Scope(attributes, request, params=params, variables=variables)
        yield from _failures_with(spec, scope)


def _failures_with(spec: Spec, scope: Scope) -> Iterator[tuple[str, str]]:
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


def _message(validation: Spec, scope: Scope) -> str:
    """A failed validation's own words: its messageExpression, where that makes a line of text, or its message."""
    expression = validation.get("messageExpression")
    if expression:
        try:
            text = scope.value(expression, "string")
        except Failed:
            text = ""
        if isinstance(text, str) and text.strip() and "\n" not in text.strip():
            return text.strip()
    return (validation.get("message") or "").strip() or f"failed expression: {validation['expression'].strip()}"


# --- parameters ------------------------------------------------------------------------------------------------------


def parameters(spec: Spec, binding: Spec, attributes: Attributes) -> Sequence[Object | None]:
    """The objects that a binding gives its policy; just None where the policy takes none. Raises Failed."""
    kind, ref = spec.get("paramKind"), binding.get("paramRef")
    if kind is None or ref is None:
        return [None]
    call = attributes.call
    resource = call.server.catalog.find_kind(kind.get("apiVersion") or "", kind.get("kind") or "")
    if resource is None:
        raise Failed(
            f"failed to configure policy: failed to find resource referenced by paramKind: "
            f"'{kind.get('apiVersion')}, Kind={kind.get('kind')}'"
        )
    namespace = (ref.get("namespace") or attributes.namespace) if resource.namespaced else ""
    if resource.namespaced and not namespace:
        raise Failed(
            "failed to configure binding: cannot use namespaced paramRef in policy binding that matches cluster-scoped "
            "resources"
        )
    found = list(_referenced(call, resource.collection, namespace, ref))
    shown = [{"apiVersion": resource.api_version, "kind": resource.kind, **obj} for obj in found]
    if not shown and ref.get("parameterNotFoundAction") != "Allow":
        raise Failed(NO_PARAMS)
    return shown


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
