"""What may stop a write, or change it, between its decoding and its storing (kubernetes `plugin/pkg/admission`).

Plugins are functions in tables by collection: those that change an object run before its kind completes it, those that
only judge it run after its validation. The order is the real server's.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any

from fakekube.apiserver.admission import (
    certificates,
    ingressclass,
    limitranger,
    mutations,
    podsecurity,
    policies,
    priority,
    protection,
    quota,
    resize,
    runtimeclass,
    storageclass,
    webhooks,
)
from fakekube.apiserver.admission.lifecycle import (
    definition_lifecycle_create,
    namespace_lifecycle_create,
    namespace_lifecycle_delete,
)
from fakekube.apiserver.admission.matching import CREATE, DELETE, UPDATE, Attributes
from fakekube.apiserver.admission.reinvocation import Calls
from fakekube.apiserver.call import Call
from fakekube.apiserver.needs import Need
from fakekube.apiserver.wire.options import DeleteOptions, WriteOptions

Object = dict[str, Any]

Mutate = Callable[[Call, Object, Object | None], Object]
"""Makes of an object what is to be written. It is given the stored one, too; None: the object is new."""

Validate = Callable[[Call, Object, Object | None], None]
"""Raises what is to be said against a write."""

#: Collection -> the plugins that change its objects, in order.
MUTATING: Mapping[str, Sequence[Mutate]] = {
    "pods": (limitranger.mutate_pod, priority.mutate_pod, runtimeclass.mutate_pod),
    "persistentvolumeclaims": (protection.protect, storageclass.mutate_claim),
    "persistentvolumes": (protection.protect,),
    "volumeattributesclasses.storage.k8s.io": (protection.protect,),
    "ingresses.networking.k8s.io": (ingressclass.mutate_ingress,),
}

#: Collection -> the plugins that judge its objects, in order.
VALIDATING: Mapping[str, Sequence[Validate]] = {
    "pods": (limitranger.validate_pod, podsecurity.validate_pod, runtimeclass.validate_pod),
    "persistentvolumeclaims": (limitranger.validate_claim, resize.validate_claim),
    "priorityclasses.scheduling.k8s.io": (priority.validate_class,),
    "namespaces": (podsecurity.validate_namespace,),
    "certificatesigningrequests.certificates.k8s.io": (certificates.validate_subject,),
    **dict.fromkeys(podsecurity.TEMPLATES, (podsecurity.warn_of_template,)),
}

#: Collection and subresource -> the plugins that change writes of it, and those that judge them.
MUTATING_BELOW: Mapping[tuple[str, str], Sequence[Mutate]] = {("pods", "resize"): (limitranger.mutate_pod,)}
VALIDATING_BELOW: Mapping[tuple[str, str], Sequence[Validate]] = {
    ("pods", "resize"): (limitranger.validate_pod, podsecurity.validate_pod),
    ("pods", "ephemeralcontainers"): (podsecurity.validate_pod,),
    ("certificatesigningrequests.certificates.k8s.io", "approval"): (certificates.validate_approval,),
    ("certificatesigningrequests.certificates.k8s.io", "status"): (certificates.validate_signing,),
}


def mutate(call: Call, obj: Object, old: Object | None, options: WriteOptions) -> Generator[Need, Any, Object]:
    """The object as the mutating plugins, policies and webhooks leave it. Where one of the last two changes it, there
    is a second round."""
    of_policies, of_webhooks = Calls(), Calls()
    obj = yield from _mutated(call, obj, old, options, of_policies, of_webhooks)
    if of_policies.changed or of_webhooks.changed:
        obj = yield from _mutated(call, obj, old, options, of_policies, of_webhooks, again=True)
    return obj


def _mutated(
    call: Call, obj: Object, old: Object | None, options: WriteOptions, of_policies: Calls, of_webhooks: Calls, *,
    again: bool = False,
) -> Generator[Need, Any, Object]:  # fmt: skip
    collection, subresource = call.resource.collection, call.info.subresource
    changing = MUTATING_BELOW.get((collection, subresource)) if subresource else MUTATING.get(collection)
    for plugin in changing or ():
        obj = plugin(call, obj, old)
    if webhooks.has_any(call, mutations.BINDINGS):
        if again:
            of_policies.begin_again(obj)
        obj = mutations.mutate(_written(call, obj, old, options), of_policies)
    if webhooks.has_any(call, webhooks.MUTATING):
        if again:
            of_webhooks.begin_again(obj)
        changed = yield from webhooks.mutate(_written(call, obj, old, options), of_webhooks)
        assert changed is not None, "a webhook does not make an object vanish"
        obj = changed
    return obj


def validate(call: Call, obj: Object, old: Object | None, options: WriteOptions) -> Generator[Need, Any, None]:
    """Raises what a validating plugin, policy or webhook says against the write."""
    collection, subresource = call.resource.collection, call.info.subresource
    judging = VALIDATING_BELOW.get((collection, subresource)) if subresource else VALIDATING.get(collection)
    for plugin in judging or ():
        plugin(call, obj, old)
    if webhooks.has_any(call, policies.BINDINGS):
        policies.validate(_written(call, obj, old, options))
    if webhooks.has_any(call, webhooks.VALIDATING):
        yield from webhooks.validate(_written(call, obj, old, options))
    quota.charge(call, obj, old, dry_run=options.dry_run)


def _written(call: Call, obj: Object, old: Object | None, options: WriteOptions) -> Attributes:
    operation = CREATE if old is None else UPDATE
    name = obj["metadata"].get("name") or call.info.name
    return Attributes(call, operation, name, obj, old, _options(call, options), options.dry_run)


def _options(call: Call, options: WriteOptions) -> Object:
    kind = {"create": "CreateOptions", "patch": "PatchOptions"}.get(call.info.verb, "UpdateOptions")
    shown: Object = {"kind": kind, "apiVersion": "meta.k8s.io/v1"}
    if options.dry_run:
        shown["dryRun"] = ["All"]
    if options.field_manager:
        shown["fieldManager"] = options.field_manager
    shown["fieldValidation"] = options.field_validation
    return shown


def delete(call: Call, old: Object, options: DeleteOptions) -> Generator[Need, Any, None]:
    """Raises what policies and webhooks say against a deletion."""
    plugins = (webhooks.MUTATING, policies.BINDINGS, webhooks.VALIDATING)
    mutating, judging, validating = (webhooks.has_any(call, one) for one in plugins)
    if not (mutating or judging or validating):
        return
    shown: Object = {"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1"}
    if options.grace_period is not None:
        shown["gracePeriodSeconds"] = options.grace_period
    if options.propagation:
        shown["propagationPolicy"] = options.propagation
    if options.dry_run:
        shown["dryRun"] = ["All"]
    attributes = Attributes(call, DELETE, call.info.name, None, old, shown, options.dry_run)
    if mutating:
        yield from webhooks.mutate(attributes, Calls())
    if judging:
        policies.validate(attributes)
    if validating:
        yield from webhooks.validate(attributes)


__all__ = [
    "definition_lifecycle_create",
    "delete",
    "mutate",
    "namespace_lifecycle_create",
    "namespace_lifecycle_delete",
    "validate",
]
