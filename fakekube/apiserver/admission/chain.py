"""The admission chain: plugins, policies and webhooks in kube-apiserver's order (`kubeapiserver/options/plugins.go`).

Mutating admission runs before the strategy prepares an object, validating admission after it has validated the object.
The functions named `*_in_process` run the built-in plugins only and do not wait; they are used if the cluster has no
policies and webhooks.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from functools import cache
from typing import Any

from fakekube.apiserver.admission import (
    certificaterequests,
    defaultclasses,
    lifecycle,
    limitranger,
    mutations,
    noderestriction,
    nodetaint,
    podsecurity,
    policies,
    priority,
    protection,
    quota,
    resize,
    runtimeclass,
    tokenvolumes,
    tolerations,
    webhooks,
)
from fakekube.apiserver.admission.matching import Attributes
from fakekube.apiserver.admission.reinvocation import Calls
from fakekube.apiserver.call import Call
from fakekube.apiserver.needs import Need, Waiting
from fakekube.apiserver.storage.store import Entry, Store
from fakekube.struct import Struct

Object = dict[str, Any]

Mutate = Callable[[Call, Object, Object | None], Object]
"""Returns the object to write, given the new and the stored object (None: the object is new)."""

Validate = Callable[[Call, Object, Object | None], None]
"""Raises StatusError if the write is rejected."""

#: Plugin, collection, subresource and what it does, in the order of the plugins.
MUTATING: Sequence[tuple[str, str, str, Mutate]] = (
    ("LimitRanger", "pods", "", limitranger.mutate_pod),
    ("LimitRanger", "pods", "resize", limitranger.mutate_pod),
    ("ServiceAccount", "pods", "", tokenvolumes.mutate_pod),
    *(("NodeRestriction", *where, noderestriction.admit) for where in noderestriction.RESTRICTED),
    ("TaintNodesByCondition", "nodes", "", nodetaint.mutate_node),
    ("Priority", "pods", "", priority.mutate_pod),
    ("DefaultTolerationSeconds", "pods", "", tolerations.mutate_pod),
    ("StorageObjectInUseProtection", "persistentvolumeclaims", "", protection.protect),
    ("StorageObjectInUseProtection", "persistentvolumes", "", protection.protect),
    ("StorageObjectInUseProtection", "volumeattributesclasses.storage.k8s.io", "", protection.protect),
    ("DefaultStorageClass", "persistentvolumeclaims", "", defaultclasses.mutate_claim),
    ("RuntimeClass", "pods", "", runtimeclass.mutate_pod),
    ("DefaultIngressClass", "ingresses.networking.k8s.io", "", defaultclasses.mutate_ingress),
)

_REQUESTS = "certificatesigningrequests.certificates.k8s.io"

#: Plugin, collection, subresource and what it checks, in the order of the plugins.
VALIDATING: Sequence[tuple[str, str, str, Validate]] = (
    ("LimitRanger", "pods", "", limitranger.validate_pod),
    ("LimitRanger", "pods", "resize", limitranger.validate_pod),
    ("LimitRanger", "persistentvolumeclaims", "", limitranger.validate_claim),
    ("ServiceAccount", "pods", "", tokenvolumes.validate_pod),
    ("ServiceAccount", "pods", "ephemeralcontainers", tokenvolumes.validate_ephemeral_containers),
    ("PodSecurity", "pods", "", podsecurity.validate_pod),
    ("PodSecurity", "pods", "resize", podsecurity.validate_pod),
    ("PodSecurity", "pods", "ephemeralcontainers", podsecurity.validate_pod),
    ("PodSecurity", "namespaces", "", podsecurity.validate_namespace),
    *(("PodSecurity", collection, "", podsecurity.warn_of_template) for collection in podsecurity.TEMPLATES),
    ("Priority", "priorityclasses.scheduling.k8s.io", "", priority.validate_class),
    ("PersistentVolumeClaimResize", "persistentvolumeclaims", "", resize.validate_claim),
    ("RuntimeClass", "pods", "", runtimeclass.validate_pod),
    ("CertificateApproval", _REQUESTS, "approval", certificaterequests.validate_approval),
    ("CertificateSigning", _REQUESTS, "status", certificaterequests.validate_signing),
    ("CertificateSubjectRestriction", _REQUESTS, "", certificaterequests.validate_subject),
    ("PodResizeValidator", "pods", "resize", resize.validate_pod),
)


class Plugins(Struct, frozen=True):
    """The enabled plugins: (collection, subresource) -> what they do, in order."""

    mutating: Mapping[tuple[str, str], Sequence[Mutate]]
    validating: Mapping[tuple[str, str], Sequence[Validate]]


@cache
def plugins_of(enabled: frozenset[str]) -> Plugins:
    """The functions of the plugins with these names."""
    mutating: dict[tuple[str, str], list[Mutate]] = {}
    for plugin, collection, subresource, mutate in MUTATING:
        if plugin in enabled:
            mutating.setdefault((collection, subresource), []).append(mutate)
    validating: dict[tuple[str, str], list[Validate]] = {}
    for plugin, collection, subresource, validate in VALIDATING:
        if plugin in enabled:
            validating.setdefault((collection, subresource), []).append(validate)
    return Plugins(mutating, validating)


MUTATING_POLICY = ("MutatingAdmissionPolicy", mutations.BINDINGS)
MUTATING_WEBHOOK = ("MutatingAdmissionWebhook", webhooks.MUTATING)
VALIDATING_POLICY = ("ValidatingAdmissionPolicy", policies.BINDINGS)
VALIDATING_WEBHOOK = ("ValidatingAdmissionWebhook", webhooks.VALIDATING)


class _Hooks:
    """The objects in the store that configure policies and webhooks. Every write reads whether there are any."""

    __slots__ = ("mutating", "validating")

    def __init__(self, store: Store) -> None:
        self.mutating: Sequence[Mapping[str, Entry]] = _live(store, MUTATING_WEBHOOK, MUTATING_POLICY)
        self.validating: Sequence[Mapping[str, Entry]] = _live(store, VALIDATING_WEBHOOK, VALIDATING_POLICY)


def _live(store: Store, *hooks: tuple[str, str]) -> Sequence[Mapping[str, Entry]]:
    return tuple(store.collection(collection).live for _, collection in hooks)


def _has(call: Call, hooks: tuple[str, str]) -> bool:
    """Whether the plugin is enabled and its collection has any objects."""
    plugin, collection = hooks
    return bool(call.server.store.collection(collection).live) and plugin in call.server.admission_plugins


def has_mutating_hooks(call: Call) -> bool:
    """Whether there is any mutating policy or webhook."""
    of_webhooks, of_policies = call.server.store.derived(_Hooks).mutating
    if not of_webhooks and not of_policies:
        return False
    return _has(call, MUTATING_WEBHOOK) or _has(call, MUTATING_POLICY)


def has_validating_hooks(call: Call) -> bool:
    """Whether there is any validating policy or webhook."""
    of_webhooks, of_policies = call.server.store.derived(_Hooks).validating
    if not of_webhooks and not of_policies:
        return False
    return _has(call, VALIDATING_WEBHOOK) or _has(call, VALIDATING_POLICY)


def has_hooks(call: Call) -> bool:
    """Whether there is any policy or webhook."""
    return has_mutating_hooks(call) or has_validating_hooks(call)


# --- mutating --------------------------------------------------------------------------------------------------------


def mutate_in_process(call: Call, obj: Object, old: Object | None) -> Object:
    """Run the mutating plugins. Returns the changed object. Raises StatusError."""
    enabled = call.server.admission_plugins
    if old is None:
        name = obj["metadata"].get("name") or call.info.name
        lifecycle.check_definition(call, name)
        if "NamespaceLifecycle" in enabled:
            lifecycle.admit_create(call, name, obj)
    plugins = plugins_of(enabled).mutating
    for plugin in plugins.get((call.resource.collection, call.info.subresource), ()):
        obj = plugin(call, obj, old)
    return obj


def mutate(attributes: Attributes) -> Generator[Need, Any, Object]:
    """Run the mutating plugins, policies and webhooks. Returns the changed object. Raises StatusError.

    They are invoked a second time if a policy or a webhook has changed the object.
    """
    of_policies, of_webhooks = Calls(), Calls()
    attributes = yield from _mutated(attributes, of_policies, of_webhooks)
    if of_policies.changed or of_webhooks.changed:
        attributes = yield from _mutated(attributes, of_policies, of_webhooks, again=True)
    return attributes.new


def _mutated(
    attributes: Attributes, of_policies: Calls, of_webhooks: Calls, *, again: bool = False
) -> Generator[Need, Any, Attributes]:
    call = attributes.call
    attributes = attributes.with_object(mutate_in_process(call, attributes.new, attributes.old))
    if _has(call, MUTATING_POLICY):
        if again:
            of_policies.begin_again(attributes.obj)
        changed = yield from mutations.mutate(attributes, of_policies)
        attributes = attributes.with_object(changed)
    if _has(call, MUTATING_WEBHOOK):
        if again:
            of_webhooks.begin_again(attributes.obj)
        answered = yield from webhooks.mutate(attributes, of_webhooks)
        assert answered is not None, "a webhook cannot remove the object"
        attributes = attributes.with_object(answered)
    return attributes


# --- validating ------------------------------------------------------------------------------------------------------


def validate_in_process(call: Call, obj: Object, old: Object | None, *, dry_run: bool) -> None:
    """Raises StatusError if a validating plugin, or a quota, rejects the write."""
    _run_validating(call, obj, old)
    _charge(call, obj, old, dry_run=dry_run)


def _run_validating(call: Call, obj: Object, old: Object | None) -> None:
    plugins = plugins_of(call.server.admission_plugins).validating
    for plugin in plugins.get((call.resource.collection, call.info.subresource), ()):
        plugin(call, obj, old)


def validate(attributes: Attributes) -> Waiting:
    """Raises StatusError if a validating plugin, policy or webhook, or a quota, rejects the write."""
    call, obj, old = attributes.call, attributes.new, attributes.old
    _run_validating(call, obj, old)
    yield from _validate_by_hooks(attributes)
    _charge(call, obj, old, dry_run=attributes.dry_run)


def _charge(call: Call, obj: Object, old: Object | None, *, dry_run: bool) -> None:
    if "ResourceQuota" in call.server.admission_plugins:
        quota.charge(call, obj, old, dry_run=dry_run)


def _validate_by_hooks(attributes: Attributes) -> Waiting:
    """Run the validating policies and then the validating webhooks."""
    if _has(attributes.call, VALIDATING_POLICY):
        yield from policies.validate(attributes)
    if _has(attributes.call, VALIDATING_WEBHOOK):
        yield from webhooks.validate(attributes)


def delete_in_process(call: Call, old: Object) -> None:
    """Raises StatusError if a plugin rejects a deletion."""
    enabled = call.server.admission_plugins
    if "NamespaceLifecycle" in enabled:
        lifecycle.admit_delete(call)
    if "NodeRestriction" in enabled:
        noderestriction.admit_delete(call, old)


def validate_deletion(attributes: Attributes) -> Waiting:
    """Raises StatusError if a policy or a webhook rejects a deletion."""
    return _run_hooks(attributes)


def connect(attributes: Attributes) -> Waiting:
    """Raises StatusError if a policy or a webhook rejects a connection."""
    return _run_hooks(attributes)


def _run_hooks(attributes: Attributes) -> Waiting:
    """Run the mutating webhooks, whose changes are not used, and then the validating policies and webhooks."""
    if _has(attributes.call, MUTATING_WEBHOOK):
        yield from webhooks.mutate(attributes, Calls())
    yield from _validate_by_hooks(attributes)
