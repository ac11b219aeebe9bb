"""What a claim of a volume asks for, in a PersistentVolumeClaim and wherever one is made from
(`ValidatePersistentVolumeClaimSpec`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fakekube.apiserver.registry.core.resourcenames import check_quantity, number_of
from fakekube.apiserver.registry.generic.validation import content, labelselectors
from fakekube.apiserver.registry.generic.validation.content import Errors
from fakekube.apiserver.registry.generic.validation.field import Field
from fakekube.apiserver.wire.status import (
    FieldError,
    field_forbidden,
    field_invalid,
    field_not_supported,
    field_required,
)

Object = dict[str, Any]

ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
VOLUME_MODES = ("Block", "Filesystem")


def check_access_modes(modes: Sequence[str], path: str, errors: Errors) -> None:
    """Each is known, and ReadWriteOncePod stands alone."""
    errors += [field_not_supported(path, mode, ACCESS_MODES) for mode in modes if mode not in ACCESS_MODES]
    if "ReadWriteOncePod" in modes and any(mode in ACCESS_MODES[:3] for mode in modes):
        errors.append(field_forbidden(path, "may not use ReadWriteOncePod with other access modes"))


def check_claim_spec(
    spec: Object, path: str, errors: Errors, *, any_selector_values: bool = False, any_source_group: bool = False
) -> None:
    modes = spec.get("accessModes") or ()
    if not modes:
        errors.append(field_required(f"{path}.accessModes", "at least 1 access mode is required"))
    labelselectors.check_label_selector(
        spec.get("selector"), f"{path}.selector", errors, any_values=any_selector_values
    )
    check_access_modes(modes, f"{path}.accessModes", errors)
    _check_size(spec, f"{path}.resources[storage]", errors)
    if spec.get("storageClassName"):
        content.check_dns_subdomain(spec["storageClassName"], f"{path}.storageClassName", errors)
    if spec.get("volumeMode") is not None:
        content.check_supported(spec["volumeMode"], VOLUME_MODES, f"{path}.volumeMode", errors)
    _check_sources(spec, path, errors, any_source_group)
    if spec.get("volumeAttributesClassName"):
        content.check_dns_subdomain(spec["volumeAttributesClassName"], f"{path}.volumeAttributesClassName", errors)


def validate_access_modes(modes: Field) -> None:
    """Each is known, and ReadWriteOncePod stands alone (`validateAccessModes`)."""
    check_access_modes(modes.value or (), modes.path, modes.errors)


def validate_claim_spec(spec: Field, *, any_selector_values: bool = False, any_source_group: bool = False) -> None:
    """`ValidatePersistentVolumeClaimSpec`."""
    any_values, any_group = any_selector_values, any_source_group
    check_claim_spec(spec.value, spec.path, spec.errors, any_selector_values=any_values, any_source_group=any_group)


def _check_size(spec: Object, path: str, errors: Errors) -> None:
    size = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    if size is None:
        errors.append(field_required(path))
    elif number_of(size) <= 0:
        errors.append(field_invalid(path, size, content.NOT_POSITIVE))
    else:
        check_quantity("storage", size, path, errors)


def _check_sources(spec: Object, path: str, errors: Errors, any_group: bool) -> None:
    """What the volume is filled from, in the older and in the newer field for it."""
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is not None:
        _check_source(source, f"{path}.dataSource", errors, any_group)
    if reference is None:
        return
    _check_source(reference, f"{path}.dataSourceRef", errors, any_group)
    namespace = reference.get("namespace") or ""
    if namespace:
        content.check_dns_label(namespace, f"{path}.dataSourceRef.namespace", errors)
    if source is None:
        return
    if namespace:
        errors.append(_of_source(path, "may not be specified when dataSourceRef.namespace is specified"))
    elif any(source.get(key) != reference.get(key) for key in ("apiGroup", "kind", "name")):
        errors.append(_of_source(path, "must match dataSourceRef"))


def _of_source(path: str, why: str) -> FieldError:
    """The server shows a path where it means a value; a path has nothing to show."""
    return FieldError(path, "FieldValueInvalid", f"Invalid value: {{}}: {why}")


def _check_source(source: Object, path: str, errors: Errors, any_group: bool) -> None:
    for field in ("name", "kind"):
        if not source.get(field):
            errors.append(field_required(f"{path}.{field}"))
    group, kind = source.get("apiGroup") or "", source.get("kind") or ""
    if not group and kind != "PersistentVolumeClaim":
        why = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"
        errors.append(field_invalid(path, kind, why))
    if group and not any_group:
        content.check_dns_subdomain(group, f"{path}.apiGroup", errors)


#: Fields of metadata in the order of its declaration, without those that a claim's template may have.
_NOT_OF_TEMPLATES = (
    "name", "generateName", "namespace", "selfLink", "uid", "resourceVersion", "generation", "creationTimestamp",
    "deletionTimestamp", "deletionGracePeriodSeconds", "ownerReferences", "finalizers", "managedFields",
)  # fmt: skip


def check_claim_template(template: Object, path: str, errors: Errors) -> None:
    """A claim that will be made: of its metadata, only labels and annotations may be said."""
    meta = template.get("metadata") or {}
    labelselectors.check_annotations(meta.get("annotations"), f"{path}.metadata.annotations", errors)
    labelselectors.check_labels(meta.get("labels"), f"{path}.metadata.labels", errors)
    for field in _NOT_OF_TEMPLATES:
        if meta.get(field) not in (None, "", 0, []):
            errors.append(field_forbidden(f"{path}.metadata.{field}", "cannot be set"))
    check_claim_spec(template.get("spec") or {}, f"{path}.spec", errors)
