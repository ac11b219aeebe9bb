"""PodCertificateRequest."""

from __future__ import annotations

from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.selectablefields import string_at
from fakekube.apiserver.registry.generic.strategy import Strategy

KIND = Kind(
    "podcertificaterequests.certificates.k8s.io",
    Strategy(
        fields_message="label",
        fields={
            f"spec.{name}": string_at("spec", name)
            for name in ("nodeName", "podName", "serviceAccountName", "signerName")
        },
        unconditional_update=False,
        status_resets_metadata=True,
    ),
)
