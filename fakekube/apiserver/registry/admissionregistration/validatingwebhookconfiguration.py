"""TODO"""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.registry.admissionregistration.defaults import compiling
from fakekube.apiserver.registry.admissionregistration.webhooks import (
    PRINTER,
    default_webhooks,
    validate_configuration,
    validate_configuration_update,
)
from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy

Object = dict[str, Any]

KIND = Kind(
    "validatingwebhookconfigurations.admissionregistration.k8s.io",
    Strategy(
        unconditional_update=False,
        repeats_metadata=False,
        generation=("webhooks",),
        default=default_webhooks,
        validate=compiling(validate_configuration),
        validate_update=compiling(validate_configuration_update),
    ),
    printer=PRINTER,
)
