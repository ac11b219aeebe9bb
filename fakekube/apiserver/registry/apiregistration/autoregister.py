"""The APIServices that kube-apiserver registers for its own groups and for those of CustomResourceDefinitions
(`controlplane/apiserver/aggregator.go`, `crdregistration`, kube-aggregator `autoregister`)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Protocol

Object = dict[str, Any]

GROUP = "apiregistration.k8s.io"
COLLECTION = "apiservices.apiregistration.k8s.io"
API_VERSION = "apiregistration.k8s.io/v1"

#: The label of an APIService that the server has registered: `onstart` for its own groups, which it registers once,
#: `true` for those of CustomResourceDefinitions, which it keeps as they are.
LABEL = "kube-aggregator.kubernetes.io/automanaged"
ON_START, ALWAYS = "onstart", "true"

#: groupPriorityMinimum and versionPriority of the versions of custom resources.
CUSTOM_PRIORITY = (1000, 100)

#: The priority of apiregistration.k8s.io itself (`APIRegistrationGroupPriority`).
MOST_PRIORITY = 20000

#: Group -> its groupPriorityMinimum.
GROUP_PRIORITY = {
    "": 18000,
    "apps": 17800,
    "events.k8s.io": 17750,
    "authentication.k8s.io": 17700,
    "authorization.k8s.io": 17600,
    "autoscaling": 17500,
    "batch": 17400,
    "certificates.k8s.io": 17300,
    "networking.k8s.io": 17200,
    "policy": 17100,
    "rbac.authorization.k8s.io": 17000,
    "storage.k8s.io": 16800,
    "apiextensions.k8s.io": 16700,
    "admissionregistration.k8s.io": 16700,
    "scheduling.k8s.io": 16600,
    "coordination.k8s.io": 16500,
    "node.k8s.io": 16300,
    "discovery.k8s.io": 16200,
    "resource.k8s.io": 16200,
    "flowcontrol.apiserver.k8s.io": 16100,
    "internal.apiserver.k8s.io": 16000,
    "storagemigration.k8s.io": 15800,
}

#: Version -> the versionPriority that it has in most groups.
VERSION_PRIORITY = {"v1": 15, "v1beta1": 9, "v1alpha1": 1}

#: Group and version -> its versionPriority where it is another one.
OTHER_VERSION_PRIORITY = {
    ("", "v1"): 1,
    ("autoscaling", "v2"): 30,
    ("autoscaling", "v2beta1"): 9,
    ("autoscaling", "v2beta2"): 1,
    ("batch", "v2alpha1"): 9,
    ("events.k8s.io", "v1beta1"): 5,
    ("admissionregistration.k8s.io", "v1beta1"): 12,
    ("admissionregistration.k8s.io", "v1alpha1"): 9,
    ("coordination.k8s.io", "v1beta1"): 13,
    ("coordination.k8s.io", "v1alpha2"): 12,
    ("discovery.k8s.io", "v1beta1"): 12,
    ("scheduling.k8s.io", "v1alpha2"): 2,
    ("resource.k8s.io", "v1"): 21,
    ("resource.k8s.io", "v1beta2"): 15,
    ("resource.k8s.io", "v1alpha3"): 1,
    ("flowcontrol.apiserver.k8s.io", "v1"): 21,
    ("flowcontrol.apiserver.k8s.io", "v1beta3"): 18,
    ("flowcontrol.apiserver.k8s.io", "v1beta2"): 15,
    ("flowcontrol.apiserver.k8s.io", "v1beta1"): 12,
    ("flowcontrol.apiserver.k8s.io", "v1alpha1"): 9,
    ("internal.apiserver.k8s.io", "v1alpha1"): 9,
}

LOCAL = {
    "type": "Available",
    "status": "True",
    "reason": "Local",
    "message": "Local APIServices are always available",
}


def name_of(group: str, version: str) -> str:
    """The name of the APIService of a group and version: `v1.apps`, `v1.` for the legacy group."""
    return f"{version}.{group}"


def priority(group: str, version: str) -> tuple[int, int]:
    """groupPriorityMinimum and versionPriority of a built-in group and version."""
    return GROUP_PRIORITY.get(group, 1), OTHER_VERSION_PRIORITY.get((group, version), VERSION_PRIORITY.get(version, 1))


def spec_of(group: str, version: str, priorities: tuple[int, int]) -> Object:
    """The spec of an APIService without a Service: this server serves the group itself."""
    named = {"group": group} if group else {}
    return {**named, "version": version, "groupPriorityMinimum": priorities[0], "versionPriority": priorities[1]}


def registered(group: str, version: str, priorities: tuple[int, int], managed: str, *, uid: str, now: str) -> Object:
    """A new APIService as the server registers it."""
    spec = spec_of(group, version, priorities)
    entry = {
        "manager": "kube-apiserver",
        "operation": "Update",
        "apiVersion": API_VERSION,
        "time": now,
        "fieldsType": "FieldsV1",
        "fieldsV1": {
            "f:metadata": {"f:labels": {".": {}, f"f:{LABEL}": {}}},
            "f:spec": {f"f:{key}": {} for key in sorted(spec)},
        },
    }
    condition = {key: value for key, value in LOCAL.items() if key in ("type", "status")}
    condition |= {"lastTransitionTime": now, "reason": LOCAL["reason"], "message": LOCAL["message"]}
    return {
        "metadata": {
            "name": name_of(group, version),
            "uid": uid,
            "creationTimestamp": now,
            "labels": {LABEL: managed},
            "managedFields": [entry],
        },
        "spec": spec,
        "status": {"conditions": [condition]},
    }


class Entry(Protocol):
    """A stored APIService."""

    @property
    def object(self) -> Object: ...


class Context(Protocol):
    """The time and the randomness of the request after which groups are registered."""

    @property
    def now(self) -> str: ...

    def uid(self, key: str) -> str: ...


def corrections(
    groups: Collection[str], definitions: Iterable[Object], present: Mapping[str, Entry], context: Context
) -> list[tuple[str, Object | None]]:
    """The writes that make the APIServices of custom groups correct: the name, and the object (None: delete it).

    Every served version of a definition gets an APIService. One without the label is left as it is
    (`checkAPIService`).
    """
    wanted = {
        name_of(group, version["name"]): (group, version["name"])
        for definition in definitions
        if (group := definition["spec"]["group"]) in groups
        for version in definition["spec"]["versions"]
        if version["served"]
    }
    found: list[tuple[str, Object | None]] = []
    for name, (group, version) in wanted.items():
        entry = present.get(name)
        if entry is None:
            uid = context.uid(f"{COLLECTION}/{name}")
            obj = registered(group, version, CUSTOM_PRIORITY, ALWAYS, uid=uid, now=context.now)
            found.append((name, obj))
        elif _is_managed(entry.object) and entry.object["spec"] != (spec := spec_of(group, version, CUSTOM_PRIORITY)):
            found.append((name, {**entry.object, "spec": spec}))
    for name, entry in present.items():
        if name not in wanted and name.partition(".")[2] in groups and _is_managed(entry.object):
            found.append((name, None))
    return found


def _is_managed(api_service: Object) -> bool:
    labels = api_service["metadata"].get("labels") or {}
    return labels.get(LABEL) == ALWAYS
