"""Defaults of a pod's spec, wherever it stands (kubernetes `pkg/apis/core/v1/defaults.go`).

Defaulting works on a draft: an object that was just decoded and that nobody else has seen. It is filled in place.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

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
        spec.setdefault("serviceAccount", spec["serviceAccountName"])
    elif spec.get("serviceAccount"):
        spec["serviceAccountName"] = spec["serviceAccount"]
    for container in containers(spec):
        default_container(container)
        if spec.get("hostNetwork"):
            for port in container.get("ports") or ():
                port.setdefault("hostPort", port.get("containerPort", 0))
    for volume in spec.get("volumes") or ():
        default_volume(volume)


def default_container(container: Object) -> None:
    container.setdefault("terminationMessagePath", "/dev/termination-log")
    container.setdefault("terminationMessagePolicy", "File")
    container.setdefault("imagePullPolicy", pull_policy(container.get("image", "")))
    container.setdefault("resources", {})
    for port in container.get("ports") or ():
        port.setdefault("protocol", "TCP")
    for variable in container.get("env") or ():
        field = (variable.get("valueFrom") or {}).get("fieldRef")
        if field is not None:
            field.setdefault("apiVersion", "v1")
        resource = (variable.get("valueFrom") or {}).get("resourceFieldRef")
        if resource is not None:
            resource.setdefault("divisor", "0")
    for name in ("livenessProbe", "readinessProbe", "startupProbe"):
        if container.get(name) is not None:
            default_probe(container[name])
    for hook in (container.get("lifecycle") or {}).values():
        if isinstance(hook, dict) and hook.get("httpGet") is not None:
            default_http_get(hook["httpGet"])


def pull_policy(image: str) -> str:
    """Always for `latest` and for no tag, else IfNotPresent."""
    name = image.rpartition("/")[2]
    if "@" in name:
        return "IfNotPresent"
    tag = name.partition(":")[2]
    return "Always" if tag in ("", "latest") else "IfNotPresent"


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


#: Volume source -> what its fields are where nobody says.
SOURCE_DEFAULTS = {
    "hostPath": {"type": ""},
    "iscsi": {"iscsiInterface": "default"},
    "rbd": {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"},
}


def default_downward(source: Object | None) -> None:
    for item in (source or {}).get("items") or ():
        if item.get("fieldRef") is not None:
            item["fieldRef"].setdefault("apiVersion", "v1")


def default_volume(volume: Object) -> None:
    """A volume without a source is an emptyDir."""
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
    for name, defaults in SOURCE_DEFAULTS.items():
        if volume.get(name) is not None:
            for key, value in defaults.items():
                volume[name].setdefault(key, value)
    ephemeral = (volume.get("ephemeral") or {}).get("volumeClaimTemplate")
    if ephemeral is not None:
        ephemeral.setdefault("spec", {}).setdefault("volumeMode", "Filesystem")


def default_template(template: Object | None) -> None:
    """The template of a workload."""
    if template and template.get("spec") is not None:
        default_pod_spec(template["spec"])


def requests_from_limits(spec: Object) -> None:
    """A pod's limits are its requests where it names none (a template's are not)."""
    for container in containers(spec):
        resources = container.get("resources") or {}
        limits = resources.get("limits")
        if limits:
            requests = dict(resources.get("requests") or {})
            for name, value in limits.items():
                requests.setdefault(name, value)
            resources["requests"] = requests
