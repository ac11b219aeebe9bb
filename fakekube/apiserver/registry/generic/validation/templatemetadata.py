"""Validates the metadata of templates that may have only labels and annotations (`ValidateTemplateObjectMeta`)."""

from __future__ import annotations

from fakekube.apiserver.registry.generic.validation.field import Field
from fakekube.apiserver.registry.generic.validation.labelselectors import validate_annotations, validate_labels

#: Fields that such a template may not have, in the order of their declaration.
_FORBIDDEN = (
    "name", "generateName", "namespace", "selfLink", "uid", "resourceVersion", "generation", "creationTimestamp",
    "deletionTimestamp", "deletionGracePeriodSeconds", "ownerReferences", "finalizers", "managedFields",
)  # fmt: skip

#: Fields whose name in errors is that of the Go field in lower camel case.
_SHOWN = {"uid": "uID"}


def validate_template_metadata(meta: Field) -> None:
    validate_annotations(meta["annotations"])
    validate_labels(meta["labels"])
    for member in meta.members(_FORBIDDEN):
        if member or member.value == 0:
            meta.at(_SHOWN.get(member.key, member.key), member.value).forbidden("cannot be set")
