"""The options of the controllers, with the defaults of kube-controller-manager. Times are seconds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from fakekube.controllers.nodespec import NodeSpec
from fakekube.controllers.scalingmetrics import Metrics


@dataclass(frozen=True, slots=True)
class Settings:
    """`root_ca`: certificates (PEM) for the ConfigMap kube-root-ca.crt; `sign_token` makes a service account token of
    claims; `signing_ca`: certificate and key (PEM) that sign CertificateSigningRequests; `metrics`: what
    HorizontalPodAutoscalers read before they request metrics. Each controller that needs one does without it if it is
    empty. `nodes`: those that the kubelets register; None: one, if the kubelet is selected.
    """

    root_ca: str = ""
    sign_token: Callable[[dict[str, Any]], str] | None = None
    signing_ca: tuple[bytes, bytes] | None = None
    metrics: Metrics | None = None
    nodes: Sequence[NodeSpec] | None = None
