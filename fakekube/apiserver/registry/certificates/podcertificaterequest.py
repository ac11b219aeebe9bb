"""PodCertificateRequest."""

from __future__ import annotations

from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy

KIND = Kind(
    "podcertificaterequests.certificates.k8s.io", Strategy(unconditional_update=False, status_resets_metadata=True)
)
