"""Having the volume of a claim made by the provisioner of its class (`pv_controller.go`: provisionClaim)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controllerlib import ApiError, Client
from controllerlib.record import CoreEventRecorder
from fakekube.controllers.lister import CachedKind
from fakekube.controllers.persistentvolumes.csimigration import DRIVERS, driver_of, with_migration
from fakekube.controllers.persistentvolumes.volumebinder.bindingwrites import BindingWrites
from fakekube.controllers.persistentvolumes.volumebinder.volumeplugins import HOST_PATH, PluginProblem, plugin_named
from fakekube.controllers.persistentvolumes.volumeclaims import (
    BETA_STORAGE_PROVISIONER,
    STORAGE_PROVISIONER,
    annotations_of,
    claim_class,
    with_annotations,
)

Object = Mapping[str, Any]


class ClaimProvisioning:
    """Requests volumes from provisioners outside of the controller. No plugin of the controller makes volumes."""

    def __init__(self, client: Client, recorder: CoreEventRecorder, writes: BindingWrites, classes: CachedKind) -> None:
        self._client, self._recorder, self._writes, self._classes = client, recorder, writes, classes

    async def provision(self, claim: Object) -> None:
        """Name the provisioner in the annotations of a claim, with an Event; problems are Events too."""
        name = claim_class(claim)
        found = self._classes.get("", name)
        if found is None:
            return self._failed(claim, f'storageclass.storage.k8s.io "{name}" not found')
        provisioner = found["provisioner"]
        if provisioner.startswith("kubernetes.io/") and provisioner not in DRIVERS:
            try:
                plugin_named(provisioner, HOST_PATH, "provisionable")
            except PluginProblem as problem:
                return self._failed(claim, str(problem))
            return await self._by_host_path(claim, found)
        return await self._by_another(claim, driver_of(provisioner))

    def _failed(self, claim: Object, message: str) -> None:
        self._recorder.event(claim, "Warning", "ProvisioningFailed", message)

    async def _by_another(self, claim: Object, provisioner: str) -> None:
        """A program outside of the controller makes the volume (provisionClaimOperationExternal)."""
        try:
            claim = await self._name_provisioner(claim, provisioner)
        except ApiError as error:
            return self._failed(claim, f"Error saving claim: {error.message}")
        message = (
            f"Waiting for a volume to be created either by the external provisioner '{provisioner}' or manually by the "
            "system administrator. If volume creation is delayed, please verify that the provisioner is running and "
            "correctly registered."
        )
        self._recorder.event(claim, "Normal", "ExternalProvisioning", message)
        return None

    async def _by_host_path(self, claim: Object, storage_class: Object) -> None:
        """The plugin of host paths, which refuses (--enable-hostpath-provisioner=false)."""
        if claim["spec"].get("dataSource"):
            text = f'plugin "{HOST_PATH}" is not a CSI plugin. Only CSI plugin can provision a claim with a datasource'
            return self._failed(claim, text)
        try:
            claim = await self._name_provisioner(claim, HOST_PATH)
            await self._client.get("v1", "PersistentVolume", f"pvc-{claim['metadata']['uid']}")
        except ApiError as error:
            if error.reason != "NotFound":
                return None
        else:
            return None
        options = storage_class.get("mountOptions")
        if options:
            self._failed(
                claim,
                "Mount options are not supported by the provisioner but StorageClass "
                f'"{storage_class["metadata"]["name"]}" has mount options [{" ".join(options)}]',
            )
        else:
            disabled = f'provisioning in volume plugin "{HOST_PATH}" is disabled'
            self._failed(claim, f"Failed to create provisioner: {disabled}")
        return None

    async def _name_provisioner(self, claim: Object, provisioner: str) -> Object:
        """Write the annotations that name the provisioner (setClaimProvisioner). Raises ApiError."""
        if annotations_of(claim).get(STORAGE_PROVISIONER) == provisioner:
            return claim
        named = {BETA_STORAGE_PROVISIONER: provisioner, STORAGE_PROVISIONER: provisioner}
        changed = with_migration(with_annotations(claim, named), STORAGE_PROVISIONER)
        return await self._writes.claim(changed)
