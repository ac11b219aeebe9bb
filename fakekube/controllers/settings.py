"""The options of the controllers, with the defaults of kube-controller-manager. Times are seconds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fakekube.controllers.nodespec import NodeSpec
from fakekube.controllers.scalingmetrics import Metrics
from fakekube.struct import Struct, field


class Settings(Struct, frozen=True):
    """`root_ca`: certificates (PEM) for the ConfigMap kube-root-ca.crt; `sign_token` makes a service account token of
    claims; `signing_ca`: certificate and key (PEM) that sign CertificateSigningRequests; `metrics`: what
    HorizontalPodAutoscalers read before they request metrics. Each controller that needs one does without it if it is
    empty. `nodes`: those that the kubelets register; None: one, if the kubelet is selected. `stages`: files of stages
    of their pods, which decide before the default ones; the last file first.

    `storage_drivers`: the provisioners of StorageClasses whose volumes the external-provisioner, external-attacher and
    external-resizer simulate: names, "*" for all, "-NAME" for one that runs itself. `storage_delay`: how long a driver
    needs to make or expand a volume. `storage_class`: the name of a default StorageClass of simulated volumes that the
    external-provisioner creates, "" for none.

    `feature_gates`: the states of the feature gates of kube-controller-manager; those that are not named are off.
    """

    root_ca: str = ""
    sign_token: Callable[[dict[str, Any]], str] | None = None
    signing_ca: tuple[bytes, bytes] | None = None
    storage_drivers: Sequence[str] = ("*",)
    storage_delay: float = 1.0
    storage_class: str = "standard"
    metrics: Metrics | None = None
    nodes: Sequence[NodeSpec] | None = None
    stages: Sequence[Path] = ()
    feature_gates: Mapping[str, bool] = field(default_factory=dict)
