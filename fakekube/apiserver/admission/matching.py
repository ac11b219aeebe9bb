"""Attributes of requests, and their match against the rules and selectors of webhooks and policies
(`webhook/predicates`, `policy/matching`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fakekube.apiserver.call import Call
from fakekube.apiserver.resource import Resource
from fakekube.apiserver.wire import selectors
from fakekube.apiserver.wire.status import not_found
from fakekube.struct import Struct, replace

Object = dict[str, Any]

CREATE, UPDATE, DELETE, CONNECT = "CREATE", "UPDATE", "DELETE", "CONNECT"

#: The configuration of admission, which is exempt from webhooks and policies.
EXEMPT = frozenset(
    {
        "validatingwebhookconfigurations.admissionregistration.k8s.io",
        "mutatingwebhookconfigurations.admissionregistration.k8s.io",
        "validatingadmissionpolicies.admissionregistration.k8s.io",
        "validatingadmissionpolicybindings.admissionregistration.k8s.io",
        "mutatingadmissionpolicies.admissionregistration.k8s.io",
        "mutatingadmissionpolicybindings.admissionregistration.k8s.io",
    }
)


class Attributes(Struct, frozen=True):
    """The attributes of a request in admission (`admission.Attributes`).

    `call` is the request; `body` is the same request with the kind of the objects, which differs for subresources such
    as scale and eviction. `obj` is the new object, `old` the stored one. `name` is "" for the deletion of a collection
    and for a name that is not generated yet.
    """

    call: Call
    body: Call
    operation: str
    name: str
    obj: Object | None
    old: Object | None
    options: Object
    dry_run: bool

    @property
    def new(self) -> Object:
        """The new object, for operations that have one."""
        assert self.obj is not None, f"{self.operation} has no new object"
        return self.obj

    def with_object(self, obj: Object) -> Attributes:
        """A copy with another new object."""
        return self if obj is self.obj else replace(self, obj=obj)

    @property
    def is_namespace(self) -> bool:
        return self.call.resource.collection == "namespaces"

    @property
    def namespace(self) -> str:
        """The namespace of the request; for a Namespace, its name."""
        return self.name if self.is_namespace else self.call.namespace


def matches(hook: Mapping[str, Any], attributes: Attributes) -> Resource | None:
    """The resource, in the version that a webhook matches; None if it does not match the request.

    `hook` has rules, matchPolicy, namespaceSelector and objectSelector. Raises 404 if the namespace does not exist.
    """
    resource = _of_rules(hook.get("rules") or (), hook.get("matchPolicy"), attributes)
    if resource is None or not in_namespaces(hook.get("namespaceSelector"), attributes):
        return None
    return resource if of_objects(hook.get("objectSelector"), attributes) else None


def _of_rules(rules: Any, policy: str | None, attributes: Attributes) -> Resource | None:
    resource = attributes.call.resource
    if any(rule_matches(rule, attributes, resource) for rule in rules):
        return resource
    if policy != "Exact":
        for other in equivalents(attributes.call):
            if any(rule_matches(rule, attributes, other) for rule in rules):
                return other
    return None


def equivalents(call: Call) -> Iterator[Resource]:
    """The other versions and groups of a resource, with the same objects (`EquivalentResourceMapper`)."""
    own = call.resource
    for other in call.server.catalog.resources():
        if other.collection == own.collection and other.api_version != own.api_version:
            yield other


def rule_matches(rule: Mapping[str, Any], attributes: Attributes, resource: Resource) -> bool:
    """Whether a rule matches by operation, group, version, resource and scope (`rules.Matcher`)."""
    subresource = attributes.call.info.subresource
    operations = rule.get("operations") or ()
    return (
        ("*" in operations or attributes.operation in operations)
        and _holds(rule.get("apiGroups"), resource.group)
        and _holds(rule.get("apiVersions"), resource.version)
        and any(_is_resource(text, resource.plural, subresource) for text in rule.get("resources") or ())
        and _in_scope(rule.get("scope") or "*", attributes)
        and (not rule.get("resourceNames") or attributes.name in rule["resourceNames"])
    )


def _holds(values: Any, value: str) -> bool:
    return "*" in (values or ()) or value in (values or ())


def _is_resource(text: str, plural: str, subresource: str) -> bool:
    resource, _, sub = text.partition("/")
    return resource in ("*", plural) and sub in ("*", subresource)


def _in_scope(scope: str, attributes: Attributes) -> bool:
    if scope == "*":
        return True
    namespaced = bool(attributes.call.namespace) and not attributes.is_namespace
    return namespaced == (scope == "Namespaced")


def in_namespaces(selector: Mapping[str, Any] | None, attributes: Attributes) -> bool:
    """Whether the selector matches the request's namespace; cluster-scoped objects always match."""
    if not selector:
        return True
    labels = _namespace_labels(attributes)
    return labels is None or _selects(selector, labels)


def _namespace_labels(attributes: Attributes) -> Mapping[str, str] | None:
    if attributes.is_namespace and attributes.obj is not None and not attributes.call.info.subresource:
        found: Mapping[str, str] = attributes.obj["metadata"].get("labels") or {}
        return found
    name = attributes.namespace
    if not name:
        return None
    entry = attributes.call.server.store.get("namespaces", name)
    if entry is None:
        raise not_found("namespaces", name)
    labels: Mapping[str, str] = entry.object["metadata"].get("labels") or {}
    return labels


def of_objects(selector: Mapping[str, Any] | None, attributes: Attributes) -> bool:
    """Whether the selector matches the new or the old object."""
    if not selector:
        return True
    objects = (attributes.obj, attributes.old)
    return any(
        _selects(selector, (obj.get("metadata") or {}).get("labels") or {}) for obj in objects if obj is not None
    )


def _selects(selector: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    found = selectors.of_object(selector)
    return found is None or found.matches(labels)
