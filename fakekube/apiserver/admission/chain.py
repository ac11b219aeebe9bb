"""The admission chain: plugins, policies and webhooks in kube-apiserver's order (`kubeapiserver/options/plugins.go`).

Mutating admission runs before the strategy prepares an object, validating admission after it has validated the object.
The functions named `*_in_process` run the built-in plugins only and do not wait; they are used if the cluster has no
policies and webhooks.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any

from fakekube.apiserver.admission import (
    certificaterequests,
    ingressclass,
    lifecycle,
    limitranger,
    mutations,
    nodetaint,
    podsecurity,
    policies,
    priority,
    protection,
    quota,
    resize,
    runtimeclass,
    storageclass,
    tolerations,
    webhooks,
)
from fakekube.apiserver.admission.matching import Attributes
from fakekube.apiserver.admission.reinvocation import Calls
from fakekube.apiserver.call import Call
from fakekube.apiserver.needs import Need, Waiting

Object = dict[str, Any]

Mutate = Callable[[Call, Object, Object | None], Object]
"""Returns the object to write, given the new and the stored object (None: the object is new)."""

Validate = Callable[[Call, Object, Object | None], None]
"""Raises StatusError if the write is rejected."""

#: (collection, subresource) -> its mutating plugins, in order.
MUTATING: Mapping[tuple[str, str], Sequence[Mutate]] = {
    ("pods", ""): (limitranger.mutate_pod, priority.mutate_pod, tolerations.mutate_pod, runtimeclass.mutate_pod),
    ("pods", "resize"): (limitranger.mutate_pod,),
    ("nodes", ""): (nodetaint.mutate_node,),
    ("persistentvolumeclaims", ""): (protection.protect, storageclass.mutate_claim),
    ("persistentvolumes", ""): (protection.protect,),
    ("volumeattributesclasses.storage.k8s.io", ""): (protection.protect,),
    ("ingresses.networking.k8s.io", ""): (ingressclass.mutate_ingress,),
}

_REQUESTS = "certificatesigningrequests.certificates.k8s.io"

#: (collection, subresource) -> its validating plugins, in order.
VALIDATING: Mapping[tuple[str, str], Sequence[Validate]] = {
    ("pods", ""): (limitranger.validate_pod, podsecurity.validate_pod, runtimeclass.validate_pod),
    ("pods", "resize"): (limitranger.validate_pod, podsecurity.validate_pod),
    ("pods", "ephemeralcontainers"): (podsecurity.validate_pod,),
    ("persistentvolumeclaims", ""): (limitranger.validate_claim, resize.validate_claim),
    ("priorityclasses.scheduling.k8s.io", ""): (priority.validate_class,),
    ("namespaces", ""): (podsecurity.validate_namespace,),
    (_REQUESTS, ""): (certificaterequests.validate_subject,),
    (_REQUESTS, "approval"): (certificaterequests.validate_approval,),
    (_REQUESTS, "status"): (certificaterequests.validate_signing,),
    **{(collection, ""): (podsecurity.warn_of_template,) for collection in podsecurity.TEMPLATES},
}


def has_mutating_hooks(call: Call) -> bool:
    """Whether there is any mutating policy or webhook."""
    return webhooks.has_any(call, webhooks.MUTATING) or webhooks.has_any(call, mutations.BINDINGS)


def has_validating_hooks(call: Call) -> bool:
    """Whether there is any validating policy or webhook."""
    return webhooks.has_any(call, webhooks.VALIDATING) or webhooks.has_any(call, policies.BINDINGS)


def has_hooks(call: Call) -> bool:
    """Whether there is any policy or webhook."""
    return has_mutating_hooks(call) or has_validating_hooks(call)


# --- mutating --------------------------------------------------------------------------------------------------------


def mutate_in_process(call: Call, obj: Object, old: Object | None) -> Object:
    """Run the mutating plugins. Returns the changed object. Raises StatusError."""
    if old is None:
        lifecycle.admit_create(call, obj["metadata"].get("name") or call.info.name)
    for plugin in MUTATING.get((call.resource.collection, call.info.subresource), ()):
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
    if webhooks.has_any(call, mutations.BINDINGS):
        if again:
            of_policies.begin_again(attributes.obj)
        changed = yield from mutations.mutate(attributes, of_policies)
        attributes = attributes.with_object(changed)
    if webhooks.has_any(call, webhooks.MUTATING):
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
    quota.charge(call, obj, old, dry_run=dry_run)


def _run_validating(call: Call, obj: Object, old: Object | None) -> None:
    for plugin in VALIDATING.get((call.resource.collection, call.info.subresource), ()):
        plugin(call, obj, old)


def validate(attributes: Attributes) -> Waiting:
    """Raises StatusError if a validating plugin, policy or webhook, or a quota, rejects the write."""
    call, obj, old = attributes.call, attributes.new, attributes.old
    _run_validating(call, obj, old)
    yield from _validate_by_hooks(attributes)
    quota.charge(call, obj, old, dry_run=attributes.dry_run)


def _validate_by_hooks(attributes: Attributes) -> Waiting:
    """Run the validating policies and then the validating webhooks."""
    if webhooks.has_any(attributes.call, policies.BINDINGS):
        yield from policies.validate(attributes)
    if webhooks.has_any(attributes.call, webhooks.VALIDATING):
        yield from webhooks.validate(attributes)


def delete_in_process(call: Call) -> None:
    """Raises StatusError if a plugin rejects a deletion."""
    lifecycle.admit_delete(call)


def validate_deletion(attributes: Attributes) -> Waiting:
    """Raises StatusError if a policy or a webhook rejects a deletion."""
    if webhooks.has_any(attributes.call, webhooks.MUTATING):
        yield from webhooks.mutate(attributes, Calls())
    yield from _validate_by_hooks(attributes)


def connect(attributes: Attributes) -> Waiting:
    """Raises StatusError if a policy or a webhook rejects a connection."""
    if webhooks.has_any(attributes.call, webhooks.MUTATING):
        yield from webhooks.mutate(attributes, Calls())
    yield from _validate_by_hooks(attributes)
