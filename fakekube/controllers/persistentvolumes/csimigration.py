"""The volume plugins that CSI drivers have taken over (`csi-translation-lib`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fakekube.controllers.persistentvolumes.volumeclaims import MIGRATED_TO, annotations_of, with_annotations

#: Plugin -> driver.
DRIVERS: Mapping[str, str] = {
    "kubernetes.io/aws-ebs": "ebs.csi.aws.com",
    "kubernetes.io/azure-disk": "disk.csi.azure.com",
    "kubernetes.io/azure-file": "file.csi.azure.com",
    "kubernetes.io/cinder": "cinder.csi.openstack.org",
    "kubernetes.io/gce-pd": "pd.csi.storage.gke.io",
    "kubernetes.io/portworx-volume": "pxd.portworx.com",
    "kubernetes.io/vsphere-volume": "csi.vsphere.vmware.com",
}

#: The field of a volume's spec -> plugin.
_SOURCES: Mapping[str, str] = {
    "awsElasticBlockStore": "kubernetes.io/aws-ebs",
    "azureDisk": "kubernetes.io/azure-disk",
    "azureFile": "kubernetes.io/azure-file",
    "cinder": "kubernetes.io/cinder",
    "gcePersistentDisk": "kubernetes.io/gce-pd",
    "portworxVolume": "kubernetes.io/portworx-volume",
    "vsphereVolume": "kubernetes.io/vsphere-volume",
}


def driver_of(provisioner: str) -> str:
    """The name of the CSI driver that works for a provisioner: its own name, unless it is a plugin."""
    return DRIVERS.get(provisioner, provisioner)


def migrated_plugin(volume: Mapping[str, Any]) -> str:
    """The plugin of a volume whose source is that of a plugin with a driver, else ""."""
    return next((plugin for field, plugin in _SOURCES.items() if volume["spec"].get(field)), "")


def with_migration(obj: Mapping[str, Any], *provisioned_by: str) -> Mapping[str, Any]:
    """The object with the annotation of the driver that works for its provisioner, or without it.

    `provisioned_by`: the annotations that can name the provisioner. Source: updateMigrationAnnotations.
    """
    present = annotations_of(obj)
    provisioner = next((present[name] for name in provisioned_by if name in present), None)
    if provisioner is None:
        return obj
    driver = DRIVERS.get(provisioner)
    if (present.get(MIGRATED_TO) or None) == driver:
        return obj
    return with_annotations(obj, {MIGRATED_TO: driver})
