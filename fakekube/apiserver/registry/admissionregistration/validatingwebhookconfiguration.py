"""ValidatingWebhookConfiguration."""

from __future__ import annotations

from fakekube.apiserver.registry.admissionregistration.webhooks import (
    PRINTER,
    default_webhooks,
    validate_webhooks,
    validate_webhooks_update,
)
from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.validation.rules import update_validator, validator

KIND = Kind(
    "validatingwebhookconfigurations.admissionregistration.k8s.io",
    Strategy(
        qualified_finalizers=False,
        unconditional_update=False,
        repeats_metadata=False,
        generation=("webhooks",),
        empties_count=True,
        default=default_webhooks,
        validate=validator(validate_webhooks),
        validate_update=update_validator(validate_webhooks_update),
    ),
    printer=PRINTER,
)
