"""The names of the controllers, and the syntax that selects them (`cmd/kube-controller-manager/names`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from fakekube.struct import Struct

if TYPE_CHECKING:
    from fakekube.controllers.context import ControllerContext


class Descriptor(Struct, frozen=True):
    """A controller: its name in kube-controller-manager, its alias, and the module whose `add` builds it.

    `module` is "" for a controller that does not run here. `by_default`: whether `*` selects it.
    """

    name: str
    alias: str = ""
    module: str = ""
    by_default: bool = True

    def add(self, context: ControllerContext) -> None:
        """Add the controller to the manager of `context`."""
        build: Callable[[ControllerContext], None] = import_module(f"fakekube.controllers.{self.module}").add
        build(context)


#: The controllers of kube-controller-manager 1.36 in its order; then the scheduler, the kubelet and those of storage
#: drivers, which are programs of their own in a cluster, so that `*` does not select them.
CONTROLLERS: Sequence[Descriptor] = (
    Descriptor("serviceaccount-token-controller", "serviceaccount-token", "core.tokensecrets"),
    Descriptor("endpoints-controller", "endpoint", "serviceendpoints.endpointscontroller"),
    Descriptor("endpointslice-controller", "endpointslice", "serviceendpoints.endpointslice"),
    Descriptor("endpointslice-mirroring-controller", "endpointslicemirroring", "serviceendpoints.mirroring"),
    Descriptor("replicationcontroller-controller", "replicationcontroller", "apps.replicationcontroller"),
    Descriptor("pod-garbage-collector-controller", "podgc", "nodelifecycle.podgarbagecollector"),
    Descriptor("resourcequota-controller", "resourcequota", "core.resourcequotas"),
    Descriptor("namespace-controller", "namespace", "core.namespace"),
    Descriptor("serviceaccount-controller", "serviceaccount", "core.defaultaccounts"),
    Descriptor("garbage-collector-controller", "garbagecollector", "garbagecollector.collector"),
    Descriptor("daemonset-controller", "daemonset", "apps.daemonset"),
    Descriptor("job-controller", "job", "batch.job.job"),
    Descriptor("deployment-controller", "deployment", "apps.deployment"),
    Descriptor("replicaset-controller", "replicaset", "apps.replicaset"),
    Descriptor("horizontal-pod-autoscaler-controller", "horizontalpodautoscaling", "autoscaling.autoscaler"),
    Descriptor("disruption-controller", "disruption", "policy.disruption"),
    Descriptor("statefulset-controller", "statefulset", "apps.statefulset"),
    Descriptor("cronjob-controller", "cronjob", "batch.cronjob.cronjob"),
    Descriptor("certificatesigningrequest-signing-controller", "csrsigning", "signingrequests.signing"),
    Descriptor("certificatesigningrequest-approving-controller", "csrapproving", "signingrequests.approving"),
    Descriptor("certificatesigningrequest-cleaner-controller", "csrcleaner", "signingrequests.cleaning"),
    Descriptor("podcertificaterequest-cleaner-controller"),
    Descriptor("ttl-controller", "ttl", "nodelifecycle.nodettl"),
    Descriptor("bootstrap-signer-controller", "bootstrapsigner", by_default=False),
    Descriptor("token-cleaner-controller", "tokencleaner", by_default=False),
    Descriptor("node-ipam-controller", "nodeipam"),
    Descriptor("node-lifecycle-controller", "nodelifecycle", "nodelifecycle.nodelifecyclecontroller"),
    Descriptor("taint-eviction-controller", "", "nodelifecycle.tainteviction"),
    Descriptor("device-taint-eviction-controller"),
    Descriptor("persistentvolume-binder-controller", "persistentvolume-binder", "persistentvolumes.volumebinder"),
    Descriptor("persistentvolume-attach-detach-controller", "attachdetach", "persistentvolumes.attachdetach"),
    Descriptor(
        "persistentvolume-expander-controller", "persistentvolume-expander", "persistentvolumes.volumeexpansion"
    ),
    Descriptor("clusterrole-aggregation-controller", "clusterrole-aggregation", "core.roleaggregation"),
    Descriptor("persistentvolumeclaim-protection-controller", "pvc-protection", "persistentvolumes.claimprotection"),
    Descriptor("persistentvolume-protection-controller", "pv-protection", "persistentvolumes.volumeprotection"),
    Descriptor("podgroup-protection-controller"),
    Descriptor("ttl-after-finished-controller", "ttl-after-finished", "batch.ttlafterfinished"),
    Descriptor("root-ca-certificate-publisher-controller", "root-ca-cert-publisher", "core.rootcapublisher"),
    Descriptor("service-ca-certificate-publisher-controller"),
    Descriptor("kube-apiserver-serving-clustertrustbundle-publisher-controller"),
    Descriptor("ephemeral-volume-controller", "ephemeral-volume", "persistentvolumes.ephemeralvolume"),
    Descriptor("storageversion-garbage-collector-controller", "storage-version-gc"),
    Descriptor("resourceclaim-controller", "resource-claim-controller", "dynamicresources.resourceclaimcontroller"),
    Descriptor("resourcepoolstatusrequest-controller"),
    Descriptor(
        "legacy-serviceaccount-token-cleaner-controller", "legacy-service-account-token-cleaner", "core.legacytokens"
    ),
    Descriptor("validatingadmissionpolicy-status-controller", "validatingadmissionpolicy-status", "core.policystatus"),
    Descriptor("volumeattributesclass-protection-controller", "", "persistentvolumes.attributesclassprotection"),
    Descriptor("service-cidr-controller", "", "core.servicecidrs"),
    Descriptor("storage-version-migrator-controller"),
    Descriptor("selinux-warning-controller", by_default=False),
    Descriptor("kube-scheduler", "scheduler", "scheduler.scheduler", by_default=False),
    Descriptor("kubelet", "", "kubelet.kubelet", by_default=False),
    Descriptor("external-provisioner", "", "persistentvolumes.storagedriver.externalprovisioner", by_default=False),
    Descriptor("external-attacher", "", "persistentvolumes.storagedriver.externalattacher", by_default=False),
    Descriptor("external-resizer", "", "persistentvolumes.storagedriver.externalresizer", by_default=False),
)

#: The controllers that nodes need to run pods.
NODE_PROGRAMS = ("kube-scheduler", "kubelet")

#: The programs of simulated storage drivers, without which claims get no volumes.
STORAGE_PROGRAMS = ("external-provisioner", "external-attacher", "external-resizer")

BY_NAME: Mapping[str, Descriptor] = {
    name: descriptor for descriptor in CONTROLLERS for name in (descriptor.name, descriptor.alias) if name
}


def select(names: Iterable[str]) -> Sequence[Descriptor]:
    """The controllers that `names` select, in the order of CONTROLLERS.

    A name or an alias selects a controller, `-name` leaves it out, `*` selects those that are on by default and run
    here. Raises ValueError for an unknown name, and for one that does not run here.

    Source: kube-controller-manager, option --controllers.
    """
    chosen: set[str] = set()
    left_out: set[str] = set()
    every = False
    for name in names:
        if name == "*":
            every = True
        else:
            found = named(name.removeprefix("-"))
            (left_out if name.startswith("-") else chosen).add(found.name)
    if not chosen and not every:
        return []
    default = {one.name for one in CONTROLLERS if every and one.by_default and one.module}
    return [one for one in CONTROLLERS if one.name in chosen or one.name in default - left_out]


def named(name: str) -> Descriptor:
    """The controller of a name or an alias. Raises ValueError."""
    found = BY_NAME.get(name)
    if found is None:
        known = ", ".join(one.alias or one.name for one in CONTROLLERS if one.module)
        raise ValueError(f"there is no controller {name!r} (known: {known})")
    if not found.module:
        raise ValueError(f"the controller {name!r} of kube-controller-manager does not run here")
    return found


def selection(names: Iterable[str], nodes: int | None) -> Sequence[Descriptor]:
    """The controllers that `names` select, and those that this number of nodes needs. Raises ValueError.

    With a kubelet, the storage of pods is simulated too, if claims are bound here. `-name` leaves out a program of
    nodes or of storage.
    """
    names = list(names)
    left_out = {named(name[1:]).name for name in names if name.startswith("-")}
    wanted = [*names, *(name for name in NODE_PROGRAMS if nodes and name not in left_out)]
    chosen = {one.name for one in select(wanted)}
    if {"kubelet", "persistentvolume-binder-controller"} <= chosen:
        wanted += [name for name in STORAGE_PROGRAMS if name not in left_out]
    return select(wanted)


#: Admission plugins that are on if a controller is selected by its name, not by `*`.
_PLUGINS: Mapping[str, str] = {"serviceaccount-controller": "ServiceAccount"}


def admission_plugins(names: Iterable[str]) -> Sequence[str]:
    """The admission plugins that go with the controllers which are selected by name."""
    chosen = [named(name).name for name in names if name != "*" and not name.startswith("-")]
    return [plugin for controller, plugin in _PLUGINS.items() if controller in chosen]
