"""What may stop a write, or change it, between its decoding and its storing (kubernetes `plugin/pkg/admission`).

Plugins are functions in tables by collection: those that change an object run before its kind completes it, those that
only judge it run after its validation. The order is the real server's.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any

from fakekube.core.admission import (
    ingressclass,
    limitranger,
    podsecurity,
    priority,
    protection,
    quota,
    resize,
    storageclass,
)
from fakekube.core.admission.lifecycle import (
    definition_lifecycle_create,
    namespace_lifecycle_create,
    namespace_lifecycle_delete,
)
from fakekube.core.call import Call, Need

Object = dict[str, Any]

Mutate = Callable[[Call, Object, Object | None], Object]
"""Makes of an object what is to be written. It is given the stored one, too; None: the object is new."""

Validate = Callable[[Call, Object, Object | None], None]
"""Raises what is to be said against a write."""

#: Collection -> the plugins that change its objects, in order.
MUTATING: Mapping[str, Sequence[Mutate]] = {
    "pods": (limitranger.mutate_pod, priority.mutate_pod),
    "persistentvolumeclaims": (protection.protect, storageclass.mutate_claim),
    "persistentvolumes": (protection.protect,),
    "volumeattributesclasses.storage.k8s.io": (protection.protect,),
    "ingresses.networking.k8s.io": (ingressclass.mutate_ingress,),
}

#: Collection -> the plugins that judge its objects, in order.
VALIDATING: Mapping[str, Sequence[Validate]] = {
    "pods": (limitranger.validate_pod, podsecurity.validate_pod),
    "persistentvolumeclaims": (limitranger.validate_claim, resize.validate_claim),
    "priorityclasses.scheduling.k8s.io": (priority.validate_class,),
    "namespaces": (podsecurity.validate_namespace,),
    **dict.fromkeys(podsecurity.TEMPLATES, (podsecurity.warn_of_template,)),
}


def mutate(call: Call, obj: Object, old: Object | None) -> Generator[Need, Any, Object]:
    """The object as the mutating plugins leave it."""
    yield from ()
    if not call.info.subresource:
        for plugin in MUTATING.get(call.resource.collection, ()):
            obj = plugin(call, obj, old)
    return obj


def validate(call: Call, obj: Object, old: Object | None, *, dry_run: bool = False) -> Generator[Need, Any, None]:
    """Raises what a validating plugin says against the write."""
    yield from ()
    if not call.info.subresource:
        for plugin in VALIDATING.get(call.resource.collection, ()):
            plugin(call, obj, old)
    quota.charge(call, obj, old, dry_run=dry_run)


__all__ = [
    "definition_lifecycle_create",
    "mutate",
    "namespace_lifecycle_create",
    "namespace_lifecycle_delete",
    "validate",
]
