"""VolumeAttachment: that a volume is to be attached to a node (`ValidateVolumeAttachment`)."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.features import since
from fakekube.apiserver.registry.core.persistentvolume.validation import validate_volume_spec
from fakekube.apiserver.registry.core.pod.validation.volumes import validate_csi_driver_name
from fakekube.apiserver.registry.generic.gatedfields import GatedFields
from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import (
    AGE,
    NAME,
    Column,
    Printer,
    age_of,
    boolean,
    columns,
    get,
    name_of,
)
from fakekube.apiserver.registry.generic.validation.content import IMMUTABLE, MAX_INT32
from fakekube.apiserver.registry.generic.validation.field import Field
from fakekube.apiserver.registry.generic.validation.metadata import validate_metadata
from fakekube.apiserver.registry.generic.validation.rules import update_validator, validator

Object = dict[str, Any]

ATTACHMENT_BYTES = 256 * 1024

MESSAGE_BYTES = 1024

ONE_SOURCE = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"


def validate(attachment: Field) -> None:
    _validate_any_version(attachment)
    if not since(36):
        spec = attachment["spec"]
        validate_csi_driver_name(spec["attacher"])
        spec["source"].get("persistentVolumeName").dns_subdomain()


def validate_update(new: Field, old: Field) -> None:
    for _ in range(1 if since(35) else 2):  # by the strategy as well
        validate_metadata(new)
        _validate_any_version(new)
    if new["spec"].struct != old["spec"].struct:
        new["spec"].with_value(_go_spec(new["spec"])).invalid_go(IMMUTABLE)


def _go_spec(spec: Field) -> Object:
    source = {
        "PersistentVolumeName": spec["source"]["persistentVolumeName"].value,
        "InlineVolumeSpec": spec["source"]["inlineVolumeSpec"].value,
    }
    return {"Attacher": spec["attacher"].text, "Source": source, "NodeName": spec["nodeName"].text}


def _validate_any_version(attachment: Field) -> None:
    spec, status = attachment["spec"], attachment["status"]
    if spec["attacher"].required() and since(36):
        validate_csi_driver_name(spec["attacher"])
    _validate_source(spec["source"])
    spec["nodeName"].dns_subdomain()
    metadata = status["attachmentMetadata"]
    if sum(len(key.encode()) + len(value.encode()) for key, value in metadata.struct.items()) > ATTACHMENT_BYTES:
        metadata.too_long(ATTACHMENT_BYTES)
    for problem in status.members(("attachError", "detachError")):
        if len(problem["message"].text.encode()) > MESSAGE_BYTES:
            problem["message"].too_long(ATTACHMENT_BYTES)  # the API server reports this limit
        problem["errorCode"].between(0, MAX_INT32)
    if since(36):
        spec["source"].get("persistentVolumeName").dns_subdomain()


def _validate_source(source: Field) -> None:
    name, inline = source["persistentVolumeName"], source["inlineVolumeSpec"]
    if name.value is None and inline.value is None:
        source.missing(ONE_SOURCE)
    elif name.value is not None and inline.value is not None:
        source.forbidden(ONE_SOURCE)
    elif inline.value is not None:
        validate_volume_spec(inline, inline=True)
    else:
        name.required("must specify non empty persistentVolumeName")


def _attachment(obj: Object, ages: Ages) -> list[Any]:
    return [
        name_of(obj),
        get(obj, "spec.attacher", ""),
        get(obj, "spec.source.persistentVolumeName", ""),
        get(obj, "spec.nodeName", ""),
        get(obj, "status.attached", False),
        age_of(obj, ages),
    ]


_GATED = GatedFields(
    ("MutableCSINodeAllocatableCount", ("status.attachError.errorCode",)),
    ("MutableCSINodeAllocatableCount", ("status.detachError.errorCode",)),
)


KIND = Kind(
    "volumeattachments.storage.k8s.io",
    Strategy(
        drop_disabled=_GATED.drop_disabled,
        status_repeats_metadata=False,
        status_resets_metadata=True,
        returns_deleted=True,
        unconditional_update=False,
        repeats_metadata=False,
        validate=validator(validate),
        validate_update=update_validator(validate_update),
        validate_status_update=update_validator(validate_update),
    ),
    printer=Printer(
        columns(NAME, Column("Attacher", format="name"), "PV", "Node", boolean("Attached"), AGE), _attachment
    ),
)
