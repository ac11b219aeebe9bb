"""Validates the spec of a claim, in a PersistentVolumeClaim and in templates of claims
(`ValidatePersistentVolumeClaimSpec`)."""

from __future__ import annotations

from fakekube.apiserver.registry.core.resourcenames import number_of, validate_quantity
from fakekube.apiserver.registry.generic.validation import content
from fakekube.apiserver.registry.generic.validation.field import Field
from fakekube.apiserver.registry.generic.validation.labelselectors import (
    validate_label_selector,
)
from fakekube.apiserver.registry.generic.validation.templatemetadata import validate_template_metadata

ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
VOLUME_MODES = ("Block", "Filesystem")


def validate_access_modes(modes: Field) -> None:
    """Each is known, and ReadWriteOncePod stands alone (`validateAccessModes`)."""
    for mode in modes:
        modes.with_value(mode.value).one_of(ACCESS_MODES)
    if "ReadWriteOncePod" in modes and any(mode in modes for mode in ACCESS_MODES[:3]):
        modes.forbidden("may not use ReadWriteOncePod with other access modes")


def validate_claim_spec(spec: Field, *, any_selector_values: bool = False, any_source_group: bool = False) -> None:
    modes = spec["accessModes"]
    modes.required("at least 1 access mode is required")
    validate_label_selector(spec["selector"], any_values=any_selector_values)
    validate_access_modes(modes)
    _validate_size(spec.at("resources", None).at(("storage",), spec.find("resources.requests.storage").value))
    spec["storageClassName"].optional().dns_subdomain()
    spec.choice("volumeMode", VOLUME_MODES)
    _validate_sources(spec, any_source_group)
    spec["volumeAttributesClassName"].optional().dns_subdomain()


def _validate_size(size: Field) -> None:
    if size.value is None:
        size.missing()
    elif number_of(size.value) <= 0:
        size.invalid(content.NOT_POSITIVE)
    else:
        validate_quantity(size, "storage")


def _validate_sources(spec: Field, any_group: bool) -> None:
    """What the volume is filled from, in the older field and in the newer one. In errors about both the server passes
    a path as the value, which shows as an empty object."""
    for source in spec.members(("dataSource", "dataSourceRef")):
        _validate_source(source, any_group)
    source, reference = spec["dataSource"], spec["dataSourceRef"]
    namespace = reference["namespace"].optional().dns_label()
    if source.value is None or reference.value is None:
        return
    if namespace:
        spec.invalid("may not be specified when dataSourceRef.namespace is specified", {})
    elif any(source[name].value != reference[name].value for name in ("apiGroup", "kind", "name")):
        spec.invalid("must match dataSourceRef", {})


def _validate_source(source: Field, any_group: bool) -> None:
    source.require("name", "kind")
    group, kind = source["apiGroup"], source["kind"]
    if not group and kind.value != "PersistentVolumeClaim":
        source.invalid("must be 'PersistentVolumeClaim' when referencing the default apiGroup", kind.text)
    if not any_group:
        group.optional().dns_subdomain()


def validate_claim_template(template: Field) -> None:
    """A template of a claim: of its metadata, it may have only labels and annotations."""
    validate_template_metadata(template["metadata"])
    validate_claim_spec(template["spec"])
