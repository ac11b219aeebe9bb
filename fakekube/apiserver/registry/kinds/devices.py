"""Devices: claims, templates of them, classes, and what drivers offer (`registry/resource`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.validation import devices

Object = dict[str, Any]


def _requests(claim: Object) -> Iterator[Object]:
    for request in ((claim.get("spec") or {}).get("devices") or {}).get("requests") or ():
        if request.get("exactly") is not None:
            yield request["exactly"]
        yield from request.get("firstAvailable") or ()


def default_claim(obj: Object) -> None:
    """One device for each request; tolerations compare (`pkg/apis/resource/v1/defaults.go`)."""
    for request in _requests(obj):
        mode = request.get("allocationMode") or "ExactCount"
        request["allocationMode"] = mode
        if mode == "ExactCount" and not request.get("count"):
            request["count"] = 1
        for toleration in request.get("tolerations") or ():
            if not toleration.get("operator"):
                toleration["operator"] = "Equal"


def default_template(obj: Object) -> None:
    default_claim(obj.get("spec") or {})


STRATEGIES = {
    "deviceclasses.resource.k8s.io": Strategy(
        returns_deleted=True,
        generation=("spec",),
        validate=devices.validate_class,
        validate_update=devices.validate_class_update,
    ),
    "resourceclaims.resource.k8s.io": Strategy(
        returns_deleted=True,
        default=default_claim,
        validate=devices.validate_claim,
        validate_update=devices.validate_claim_update,
        validate_status_update=devices.validate_claim_status,
    ),
    "resourceclaimtemplates.resource.k8s.io": Strategy(
        returns_deleted=True,
        default=default_template,
        validate=devices.validate_template,
        validate_update=devices.validate_template_update,
    ),
    "resourceslices.resource.k8s.io": Strategy(
        returns_deleted=True,
        generation=("spec",),
        validate=devices.validate_slice,
        validate_update=devices.validate_slice_update,
    ),
}
