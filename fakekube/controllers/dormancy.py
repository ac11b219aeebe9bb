"""Controllers that sleep until there is an object that concerns them.

kube-controller-manager starts all of its controllers, each of which lists and watches its kinds. In a test most have
nothing to do. As a controller reconciles what there is, however it came to be, one that starts with the first object
that concerns it does the same: at the same virtual time, and without the requests of those that never start.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from controllerlib import Client, Manager
from controllerlib.client import Transport
from controllerlib.controller import Controller
from controllerlib.tasks import OnceEvent

Object = Mapping[str, Any]

#: Whether an object that is stored concerns a controller.
Concern = Callable[[Object], bool]

#: Finds the owner that an ownerReference of an object in a namespace names, if it exists.
FindOwner = Callable[[Object, str], Object | None]

#: The finalizers by which the garbage collector deletes or orphans dependents.
_OF_COLLECTOR = frozenset({"foregroundDeletion", "orphan"})

COLLECTOR = "garbage-collector-controller"


def _any(obj: Object) -> bool:
    return True


def _is_no_address_of_the_server(obj: Object) -> bool:
    return (obj["metadata"].get("namespace"), obj["metadata"]["name"]) != ("default", "kubernetes")


def _has_finalizers(obj: Object) -> bool:
    return bool(obj["metadata"].get("finalizers"))


def _is_ending(obj: Object) -> bool:
    return "deletionTimestamp" in obj["metadata"]


def _may_be_aggregated(role: Object) -> bool:
    """Whether a ClusterRole has parts, or may be one: it is none of those that the server creates."""
    labels = role["metadata"].get("labels") or {}
    return bool(role.get("aggregationRule")) or labels.get("kubernetes.io/bootstrapping") != "rbac-defaults"


def _is_disrupted(pod: Object) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(one.get("type") == "DisruptionTarget" for one in conditions)


def _has_ephemeral_volumes(pod: Object) -> bool:
    return any("ephemeral" in volume for volume in _spec(pod).get("volumes") or ())


def _claims_devices(pod: Object) -> bool:
    return bool(_spec(pod).get("resourceClaims"))


def _spec(pod: Object) -> Object:
    """The spec, which a pod that a test has forced into the store may lack."""
    return pod.get("spec") or {}


_CLAIMS: Mapping[str, Concern] = {"persistentvolumeclaims": _any}
_VOLUMES: Mapping[str, Concern] = {"persistentvolumes": _any}
_NODES: Mapping[str, Concern] = {"nodes": _any}
_REQUESTS: Mapping[str, Concern] = {"certificatesigningrequests.certificates.k8s.io": _any}
_SERVICES: Mapping[str, Concern] = {"services": _is_no_address_of_the_server}

#: By the name of a queue: the collections, and which of their objects concern the controller. Those that are not here
#: have something to do in every cluster (accounts, certificates, ranges, a StorageClass), look at objects at times that
#: count from the start, or treat in another way what was there at the start: they delete Endpoints without a Service,
#: and attachments of volumes. The full resync of quotas counts from the first quota.
CONCERNS: Mapping[str, Mapping[str, Concern]] = {
    "serviceaccount-token-controller": {"secrets": _any},
    "endpointslice-controller": {**_SERVICES, "endpointslices.discovery.k8s.io": _is_no_address_of_the_server},
    "endpointslice-mirroring-controller": {"endpoints": _is_no_address_of_the_server},
    "replicationcontroller-controller": {"replicationcontrollers": _any},
    "resourcequota-controller": {"resourcequotas": _any},
    "namespace-controller": {"namespaces": _is_ending},
    "daemonset-controller": {"daemonsets.apps": _any},
    "job-controller": {"jobs.batch": _any},
    "job-controller-orphan-pods": {"jobs.batch": _any, "pods": _has_finalizers},
    "deployment-controller": {"deployments.apps": _any},
    "replicaset-controller": {"replicasets.apps": _any},
    "horizontal-pod-autoscaler-controller": {"horizontalpodautoscalers.autoscaling": _any},
    "disruption-controller": {"poddisruptionbudgets.policy": _any},
    "disruption-controller-stale-pods": {"pods": _is_disrupted},
    "statefulset-controller": {"statefulsets.apps": _any},
    "cronjob-controller": {"cronjobs.batch": _any},
    "certificatesigningrequest-signing-controller": _REQUESTS,
    "certificatesigningrequest-approving-controller": _REQUESTS,
    "ttl-controller": _NODES,
    "taint-eviction-controller": _NODES,
    "persistentvolume-expander-controller": _CLAIMS,
    "clusterrole-aggregation-controller": {"clusterroles.rbac.authorization.k8s.io": _may_be_aggregated},
    "persistentvolumeclaim-protection-controller": _CLAIMS,
    "persistentvolume-protection-controller": _VOLUMES,
    "ttl-after-finished-controller": {"jobs.batch": _any},
    "ephemeral-volume-controller": {"pods": _has_ephemeral_volumes},
    "resourceclaim-controller": {"resourceclaims.resource.k8s.io": _any, "pods": _claims_devices},
    "validatingadmissionpolicy-status-controller": {"validatingadmissionpolicies.admissionregistration.k8s.io": _any},
    "volumeattributesclass-protection-controller": {"volumeattributesclasses.storage.k8s.io": _any},
    "external-attacher": {"volumeattachments.storage.k8s.io": _any},
    "external-resizer": _CLAIMS,
}


class Dependents:
    """Whether there is something to do for the garbage collector, which watches the objects of all kinds.

    There is as soon as an owner is deleted or absent, or an object waits for its dependents to be deleted or orphaned.
    """

    def __init__(self, find: FindOwner) -> None:
        self._find = find
        #: the uids of owners that have been found
        self._owners: set[str] = set()

    def concern(self, obj: Object, *, is_gone: bool) -> bool:
        """Whether an object that was stored, or deleted, concerns the garbage collector."""
        meta = obj["metadata"]
        is_ending = is_gone or "deletionTimestamp" in meta
        if is_ending and (
            meta.get("uid") in self._owners or not _OF_COLLECTOR.isdisjoint(meta.get("finalizers") or ())
        ):
            return True
        return not is_gone and any(
            not self._exists(reference, meta.get("namespace") or "") for reference in meta.get("ownerReferences") or ()
        )

    def _exists(self, reference: Object, namespace: str) -> bool:
        uid = reference.get("uid", "")
        if uid not in self._owners:
            owner = self._find(reference, namespace)
            if owner is None or owner["metadata"]["uid"] != uid or "deletionTimestamp" in owner["metadata"]:
                return False
            self._owners.add(uid)
        return True


class Alarm:
    """Wakes controllers: the objects that there are, and each change, must be shown to it.

    `dependents` judges for the garbage collector.
    """

    def __init__(self, dependents: Dependents) -> None:
        self._dependents = dependents
        self._asleep: dict[str, OnceEvent] = {}
        #: by collection: the controllers that sleep
        self._listening: dict[str, list[str]] = {}

    def sleep(self, name: str) -> OnceEvent | None:
        """What is set when the controller is to start; None if it must not sleep."""
        if name != COLLECTOR and name not in CONCERNS:
            return None
        self._asleep[name] = OnceEvent()
        for collection in CONCERNS.get(name, ()):
            self._listening.setdefault(collection, []).append(name)
        return self._asleep[name]

    def is_asleep(self, name: str) -> bool:
        """Whether the controller has not been woken."""
        return name in self._asleep

    def look(self, collection: str, obj: Object, *, is_gone: bool = False) -> None:
        """Wake those that an object concerns which is stored, or was deleted."""
        listening = self._listening.get(collection)
        if listening:
            for name in [one for one in listening if CONCERNS[one][collection](obj)]:
                self.wake(name)
        if COLLECTOR in self._asleep and self._dependents.concern(obj, is_gone=is_gone):
            self.wake(COLLECTOR)

    def wake(self, name: str) -> bool:
        """Start a controller, if it sleeps; returns whether it has slept."""
        event = self._asleep.pop(name, None)
        if event is None:
            return False
        for collection in CONCERNS.get(name, ()):
            self._listening[collection].remove(name)
        event.set()
        return True


class SleepingController:
    """A runnable that starts a controller when it is woken."""

    def __init__(self, controller: Controller, woken: OnceEvent) -> None:
        self.name: str = controller.name
        self.need_leader_election: bool = controller.need_leader_election
        self._controller, self._woken = controller, woken

    async def start(self) -> None:
        await self._woken.wait()
        await self._controller.start()


class DormantManager(Manager):
    """A manager whose controllers sleep until an alarm wakes them."""

    alarm: Alarm

    def __init__(self, alarm: Alarm, transport: Transport | Client, **options: Any) -> None:
        """`options` are those of `Manager`."""
        super().__init__(transport, **options)
        self.alarm = alarm

    def add(self, runnable: Any) -> None:
        woken = self.alarm.sleep(runnable.name) if isinstance(runnable, Controller) else None
        super().add(runnable if woken is None else SleepingController(runnable, woken))

    async def wait_started(self) -> None:
        """Wait until all controllers that do not sleep have started."""
        await self.elected.wait()
        for name, controller in list(self.controllers.items()):
            if not self.alarm.is_asleep(name):
                await controller.started.wait()
