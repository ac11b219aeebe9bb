"""The volume plugins of the controller: host paths and NFS (`pkg/volume/plugins.go`, `ProbeVolumePlugins`)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from fakekube.controllers.persistentvolumes.volumeclaims import MIGRATED_TO, PROVISIONED_BY, annotations_of, capacity

Object = Mapping[str, Any]

HOST_PATH, NFS = "kubernetes.io/host-path", "kubernetes.io/nfs"

#: Plugin -> the field of a volume's spec, and the least and the further seconds for each GiB to empty a volume.
_PLUGINS: Mapping[str, tuple[str, int, int]] = {HOST_PATH: ("hostPath", 60, 30), NFS: ("nfs", 300, 30)}

#: Host paths that may be deleted.
_TEMPORARY = re.compile(r"/tmp/.+")

_GIB = 2**30


class PluginProblem(Exception):
    """No plugin can do what is needed; the message is that of kube-controller-manager."""


def plugin_named(name: str, able: str, what: str) -> str:
    """The plugin of a name, which must be `able`. Raises PluginProblem."""
    if name not in _PLUGINS:
        raise PluginProblem(f"no volume plugin matched name: {name}")
    if name != able:
        raise PluginProblem(f"no {what} volume plugin matched")
    return name


def plugin_of(volume: Object) -> str:
    """The plugin of a volume by its source. Raises PluginProblem."""
    for name, (field, _, _) in _PLUGINS.items():
        if volume["spec"].get(field):
            return name
    raise PluginProblem("no volume plugin matched")


def deleter_of(volume: Object) -> str:
    """The plugin that deletes a volume, "" if another program does. Raises PluginProblem (findDeletablePlugin)."""
    provisioner = annotations_of(volume).get(PROVISIONED_BY)
    if provisioner:
        if not provisioner.startswith("kubernetes.io/"):
            return ""
        return plugin_named(provisioner, HOST_PATH, "deletable")
    if MIGRATED_TO in annotations_of(volume) or volume["spec"].get("csi"):
        return ""
    try:
        return plugin_named(plugin_of(volume), HOST_PATH, "deletable")
    except PluginProblem as problem:
        name = volume["metadata"]["name"]
        raise PluginProblem(f'error getting deleter volume plugin for volume "{name}": {problem}') from None


def delete_host_path(volume: Object) -> None:
    """Delete the directory of a volume, of which only the API object exists here. Raises PluginProblem."""
    source = volume["spec"].get("hostPath")
    if not source:
        name = volume["metadata"]["name"]
        text = f'failed to create deleter for volume "{name}": spec.PersistentVolumeSource.HostPath is nil'
        raise PluginProblem(text)
    if not _TEMPORARY.search(source["path"]):
        raise PluginProblem(f"host_path deleter only supports /tmp/.+ but received provided {source['path']}")


def recycler_pod(volume: Object) -> dict[str, Any]:
    """The pod that empties a volume. Raises PluginProblem (Recycle of the plugins)."""
    field, least, further = _PLUGINS[plugin_of(volume)]
    names = ("path", "server") if field == "nfs" else ("path",)
    source = {name: volume["spec"][field][name] for name in names}
    script = 'test -e /scrub && find /scrub -mindepth 1 -delete && test -z "$(ls -A /scrub)" || exit 1'
    container = {
        "name": "pv-recycler",
        "image": "registry.k8s.io/build-image/debian-base:bookworm-v1.0.6",
        "command": ["/bin/sh"],
        "args": ["-c", script],
        "volumeMounts": [{"name": "vol", "mountPath": "/scrub"}],
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"recycler-for-{volume['metadata']['name']}", "namespace": "default"},
        "spec": {
            "volumes": [{"name": "vol", field: source}],
            "containers": [container],
            "restartPolicy": "Never",
            "activeDeadlineSeconds": max(least, int(capacity(volume)) // _GIB * further),
        },
    }
