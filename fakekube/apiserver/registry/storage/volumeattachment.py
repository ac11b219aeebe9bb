"""TODO"""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.registry.core.persistentvolume.validation import check_volume_spec
from fakekube.apiserver.registry.core.pod.validation.volumes import check_csi_driver
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
from fakekube.apiserver.registry.generic.validation import gostructs
from fakekube.apiserver.registry.generic.validation.content import IMMUTABLE, Errors, check_dns_subdomain, range_problem
from fakekube.apiserver.registry.generic.validation.metadata import check_again
from fakekube.apiserver.wire.status import FieldError, field_forbidden, field_invalid, field_required, field_too_long

Object = dict[str, Any]

ATTACHMENT_BYTES = 256 * 1024


MESSAGE_BYTES = 1024


ONE_SOURCE = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"


def validate_attachment(obj: Object) -> list[FieldError]:
    errors: Errors = []
    _check_attachment(obj, errors)
    spec = obj.get("spec") or {}
    check_csi_driver(spec.get("attacher") or "", "spec.attacher", errors)
    name = (spec.get("source") or {}).get("persistentVolumeName")
    if name is not None:
        check_dns_subdomain(name, "spec.source.persistentVolumeName", errors)
    return errors


def validate_attachment_update(new: Object, old: Object) -> list[FieldError]:
    errors: Errors = []
    check_again(new, errors)
    _check_attachment(new, errors)
    if (new.get("spec") or {}) != (old.get("spec") or {}):
        errors.append(_immutable_spec(new.get("spec") or {}))
    return errors


def _immutable_spec(spec: Object) -> FieldError:
    source = spec.get("source") or {}
    shown = {
        "Attacher": spec.get("attacher", ""),
        "Source": {
            "PersistentVolumeName": source.get("persistentVolumeName"),
            "InlineVolumeSpec": source.get("inlineVolumeSpec"),
        },
        "NodeName": spec.get("nodeName", ""),
    }
    return FieldError("spec", "FieldValueInvalid", f"Invalid value: {gostructs.marshal(shown)}: {IMMUTABLE}")


def _check_attachment(obj: Object, errors: Errors) -> None:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    if not spec.get("attacher"):
        errors.append(field_required("spec.attacher"))
    _check_attached_source(spec.get("source") or {}, "spec.source", errors)
    check_dns_subdomain(spec.get("nodeName") or "", "spec.nodeName", errors)
    metadata = status.get("attachmentMetadata") or {}
    if sum(len(key.encode()) + len(value.encode()) for key, value in metadata.items()) > ATTACHMENT_BYTES:
        errors.append(field_too_long("status.attachmentMetadata", ATTACHMENT_BYTES))
    for field in ("attachError", "detachError"):
        problem = status.get(field) or {}
        if len((problem.get("message") or "").encode()) > MESSAGE_BYTES:
            errors.append(field_too_long(f"status.{field}.message", ATTACHMENT_BYTES))
        code = problem.get("errorCode")
        if code is not None and code < 0:
            errors.append(field_invalid(f"status.{field}.errorCode", code, range_problem(0, 2**31 - 1)))


def _check_attached_source(source: Object, path: str, errors: Errors) -> None:
    name, inline = source.get("persistentVolumeName"), source.get("inlineVolumeSpec")
    if name is None and inline is None:
        errors.append(field_required(path, ONE_SOURCE))
    elif name is not None and inline is not None:
        errors.append(field_forbidden(path, ONE_SOURCE))
    elif inline is not None:
        check_volume_spec(inline, f"{path}.inlineVolumeSpec", errors, inline=True)
    elif not name:
        errors.append(field_required(f"{path}.persistentVolumeName", "must specify non empty persistentVolumeName"))


def _attachment(obj: Object, ages: Ages) -> list[Any]:
    return [
        name_of(obj),
        get(obj, "spec.attacher", ""),
        get(obj, "spec.source.persistentVolumeName", ""),
        get(obj, "spec.nodeName", ""),
        get(obj, "status.attached", False),
        age_of(obj, ages),
    ]


KIND = Kind(
    "volumeattachments.storage.k8s.io",
    Strategy(
        returns_deleted=True,
        unconditional_update=False,
        repeats_metadata=False,
        validate=validate_attachment,
        validate_update=validate_attachment_update,
        validate_status_update=validate_attachment_update,
    ),
    printer=Printer(
        columns(NAME, Column("Attacher", format="name"), "PV", "Node", boolean("Attached"), AGE), _attachment
    ),
)
