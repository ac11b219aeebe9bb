"""Defaults of a pod's spec, of a pod or in a template (kubernetes `pkg/apis/core/v1/defaults.go`).

Defaulting changes an object in place: one that was just decoded and is not shared yet.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from fakekube.apiserver.registry.core.pod.images import pull_policy
from fakekube.apiserver.schema.quantity import rounded_up

Object = dict[str, Any]

#: Volume sources with file modes, and the mode (0644).
MODED_SOURCES = ("secret", "configMap", "downwardAPI", "projected")
DEFAULT_MODE = 0o644


def containers(spec: Object) -> Iterator[Object]:
    """Init containers, containers and ephemeral ones."""
    for key in ("initContainers", "containers", "ephemeralContainers"):
        yield from spec.get(key) or ()


def default_pod_spec(spec: Object) -> None:
    spec.setdefault("dnsPolicy", "ClusterFirst")
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("terminationGracePeriodSeconds", 30)
    spec.setdefault("schedulerName", "default-scheduler")
    spec.setdefault("securityContext", {})
    if spec.get("serviceAccountName"):
        spec["serviceAccount"] = spec["serviceAccountName"]
    elif spec.get("serviceAccount"):
        spec["serviceAccountName"] = spec["serviceAccount"]
    for container in containers(spec):
        default_container(container)
    for volume in spec.get("volumes") or ():
        default_volume(volume)
    for quantities in (spec.get("overhead"), *(spec.get("resources") or {}).values()):
        if type(quantities) is dict:
            round_up(quantities)


def default_container(container: Object) -> None:
    fill = container.setdefault
    fill("terminationMessagePath", "/dev/termination-log")
    fill("terminationMessagePolicy", "File")
    if "imagePullPolicy" not in container:
        container["imagePullPolicy"] = pull_policy(container.get("image") or "")
    resources = fill("resources", {})
    for quantities in resources.values():
        if type(quantities) is dict:
            round_up(quantities)
    for port in container.get("ports") or ():
        port.setdefault("protocol", "TCP")
    for variable in container.get("env") or ():
        if variable.get("valueFrom"):
            default_source(variable["valueFrom"])
    for name in ("livenessProbe", "readinessProbe", "startupProbe"):
        if name in container:
            default_probe(container[name])
    if "lifecycle" in container:
        default_lifecycle(container["lifecycle"])


def default_lifecycle(lifecycle: Object) -> None:
    for hook in lifecycle.values():
        if isinstance(hook, dict) and hook.get("httpGet") is not None:
            default_http_get(hook["httpGet"])


def default_source(source: Object) -> None:
    """Sets the defaults of the source of a variable."""
    if source.get("fieldRef") is not None:
        source["fieldRef"].setdefault("apiVersion", "v1")
    if source.get("resourceFieldRef") is not None:
        source["resourceFieldRef"].setdefault("divisor", "0")
    if source.get("fileKeyRef") is not None:
        source["fileKeyRef"].setdefault("optional", False)


def round_up(quantities: dict[str, str]) -> None:
    """Rounds quantities up to thousandths (`SetDefaults_ResourceList`)."""
    for name, value in quantities.items():
        quantities[name] = rounded_up(value)


def round_up_all(obj: Object, fields: Iterable[str]) -> None:
    """Rounds up the quantities in these fields."""
    for field in fields:
        if obj.get(field):
            round_up(obj[field])


def default_probe(probe: Object) -> None:
    for key, value in (("timeoutSeconds", 1), ("periodSeconds", 10), ("successThreshold", 1), ("failureThreshold", 3)):
        probe.setdefault(key, value)
    if probe.get("httpGet") is not None:
        default_http_get(probe["httpGet"])
    if probe.get("grpc") is not None:
        probe["grpc"].setdefault("service", "")


def default_http_get(action: Object) -> None:
    action.setdefault("path", "/")
    action.setdefault("scheme", "HTTP")


#: Volume source -> the defaults of its fields.
SOURCE_DEFAULTS: dict[str, Object] = {
    "hostPath": {"type": ""},
    "iscsi": {"iscsiInterface": "default"},
    "rbd": {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"},
    "azureDisk": {"cachingMode": "ReadWrite", "fsType": "ext4", "readOnly": False, "kind": "Shared"},
    "scaleIO": {"storageMode": "ThinProvisioned", "fsType": "xfs"},
}


def default_downward(source: Object | None) -> None:
    for item in (source or {}).get("items") or ():
        default_source(item)


def default_volume(volume: Object) -> None:
    """Sets the defaults of a volume; without a source it is an emptyDir."""
    if len(volume) == 1 and "name" in volume:
        volume["emptyDir"] = {}
    for source in MODED_SOURCES:
        if volume.get(source) is not None:
            volume[source].setdefault("defaultMode", DEFAULT_MODE)
    default_downward(volume.get("downwardAPI"))
    for source in (volume.get("projected") or {}).get("sources") or ():
        default_downward(source.get("downwardAPI"))
        if source.get("serviceAccountToken") is not None:
            source["serviceAccountToken"].setdefault("expirationSeconds", 3600)
    if volume.get("image") is not None:
        volume["image"].setdefault("pullPolicy", pull_policy(volume["image"].get("reference") or ""))
    for name, defaults in SOURCE_DEFAULTS.items():
        if volume.get(name) is not None:
            for key, value in defaults.items():
                volume[name].setdefault(key, value)
    ephemeral = (volume.get("ephemeral") or {}).get("volumeClaimTemplate")
    if ephemeral is not None:
        ephemeral.setdefault("spec", {}).setdefault("volumeMode", "Filesystem")


#: Annotations that held init containers; the server drops them.
OLD_ANNOTATIONS = frozenset(
    f"pod.{stage}.kubernetes.io/init-container{what}" for stage in ("alpha", "beta") for what in ("s", "-statuses")
)


def without_old_annotations(meta: Object) -> None:
    annotations = meta.get("annotations")
    if annotations and not OLD_ANNOTATIONS.isdisjoint(annotations):
        meta["annotations"] = {key: value for key, value in annotations.items() if key not in OLD_ANNOTATIONS}


def default_template(template: Object | None) -> None:
    """Sets the defaults of the template of a workload."""
    if not template:
        return
    if template.get("metadata"):
        without_old_annotations(template["metadata"])
    if template.get("spec") is not None:
        if not template["spec"].get("overhead"):
            template["spec"].pop("overhead", None)
        default_pod_spec(template["spec"])
