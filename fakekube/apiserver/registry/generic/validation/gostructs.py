"""Prints structs in errors as Go does: as JSON, with the fields in the order of their declaration.

The internal types of the API server have no JSON names: fields have their names in Go, and a field that is not set is
null or its zero value.
"""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

from fakekube.apiserver.features import minor
from fakekube.apiserver.registry.generic.validation.internalstructs import INTERNAL
from fakekube.apiserver.wire.gojson import sorted_members

Object = dict[str, Any]

#: Struct -> its fields in order, each `Name=zero~json:Struct`: its value if it is not set (default: null), its name in
#: JSON (default: the name with a small first letter), and the struct that it holds, or holds a list of. `+Struct` is an
#: embedded struct. `@33` came with 1.33, and `@35-35` was in 1.35 alone.
STRUCTS = {
    "Capabilities": "Add Drop",
    "ContainerResizePolicy": 'ResourceName="" RestartPolicy=""',
    "DaemonSetUpdateStrategy": 'Type="" RollingUpdate:RollingUpdate',
    "DeploymentStrategy": 'Type="" RollingUpdate:RollingUpdate',
    "ExemptPriorityLevel": "NominalConcurrencyShares LendablePercent",
    "FlowDistinguisherMethod": 'Type=""',
    "FlowSchemaSpec": (
        "PriorityLevelConfiguration:NamedReference MatchingPrecedence=0 DistinguisherMethod:FlowDistinguisherMethod "
        "Rules:PolicyRulesWithSubjects"
    ),
    "FlowSubject": 'Kind="" User:NamedReference Group:NamedReference ServiceAccount:ServiceAccountSubject',
    "LimitResponse": 'Type="" Queuing:QueuingConfiguration',
    "LimitedPriorityLevel": (
        "NominalConcurrencyShares=0 LimitResponse:LimitResponse LendablePercent BorrowingLimitPercent"
    ),
    "NamedReference": 'Name=""',
    "NodeSelectorRequirement": 'Key="" Operator="" Values',
    "NodeSelectorTerm": "MatchExpressions:NodeSelectorRequirement MatchFields:NodeSelectorRequirement",
    "OnExitCodes": 'ContainerName Operator="" Values',
    "OnPodConditionsPattern": 'Type="" Status=""',
    "NonResourcePolicyRule": "Verbs NonResourceURLs~nonResourceURLs",
    "PodDisruptionBudgetSpec": "MinAvailable Selector:LabelSelector MaxUnavailable UnhealthyPodEvictionPolicy",
    "PodFailurePolicy": "Rules:PodFailurePolicyRule",
    "PodFailurePolicyRule": 'Action="" OnExitCodes:OnExitCodes OnPodConditions:OnPodConditionsPattern',
    "PodIP": 'IP=""~ip',
    "PodResourceClaim": 'Name="" ResourceClaimName ResourceClaimTemplateName',
    "PolicyRulesWithSubjects": (
        "Subjects:FlowSubject ResourceRules:ResourcePolicyRule NonResourceRules:NonResourcePolicyRule"
    ),
    "PriorityLevelConfigurationSpec": 'Type="" Limited:LimitedPriorityLevel Exempt:ExemptPriorityLevel',
    "QueuingConfiguration": "Queues=0 HandSize=0 QueueLengthLimit=0",
    "ResourcePolicyRule": "Verbs APIGroups~apiGroups Resources ClusterScope=false Namespaces",
    "RollingUpdate": "MaxUnavailable=0 MaxSurge=0",
    "RollingUpdateStatefulSetStrategy": "Partition=0 MaxUnavailable",
    "SELinuxOptions": 'User="" Role="" Type="" Level=""',
    "SeccompProfile": 'Type="" LocalhostProfile',
    "SecurityContext": (
        "Capabilities:Capabilities Privileged SELinuxOptions~seLinuxOptions:SELinuxOptions "
        "WindowsOptions:WindowsOptions RunAsUser RunAsGroup RunAsNonRoot ReadOnlyRootFilesystem "
        "AllowPrivilegeEscalation ProcMount SeccompProfile:SeccompProfile AppArmorProfile:SeccompProfile"
    ),
    "ServiceAccountSubject": 'Namespace="" Name=""',
    "StatefulSetUpdateStrategy": 'Type="" RollingUpdate:RollingUpdateStatefulSetStrategy',
    "SuccessPolicy": "Rules:SuccessPolicyRule",
    "SuccessPolicyRule": "SucceededIndexes SucceededCount",
    "UncountedTerminatedPods": "Succeeded Failed",
    "WindowsOptions": (
        "GMSACredentialSpecName~gmsaCredentialSpecName GMSACredentialSpec~gmsaCredentialSpec RunAsUserName HostProcess"
    ),
}

_FIELD = re.compile(
    r'(?P<name>\+?\w+)(?:=(?P<zero>"0?"|0|false|{}))?(?:~(?P<json>\w+))?(?::(?P<struct>\w+))?'
    r"(?:@(?P<first>\d+)(?:-(?P<last>\d+))?)?"
)


@cache
def _fields(struct: str, minor: int) -> tuple[tuple[str, str, Any, str], ...]:
    """The name in Go, the name in JSON, the value if it is not set, the struct that it holds: in version 1.`minor`."""
    found = []
    for text in (STRUCTS.get(struct) or INTERNAL[struct]).split():
        match = _FIELD.fullmatch(text)
        assert match is not None, text
        if not int(match["first"] or 0) <= minor <= int(match["last"] or minor):
            continue
        name, zero = match["name"], match["zero"]
        json_name = match["json"] or name[0].lower() + name[1:]
        found.append((name, json_name, json.loads(zero) if zero else None, match["struct"] or ""))
    return tuple(found)


def shown(struct: str, value: Any) -> str:
    """A struct, or a list of them, as Go prints it; null for None."""
    return marshal(as_go(struct, value))


def as_go(struct: str, value: Any) -> Any:
    """The fields of a struct, or of a list of them, with their names in Go; None for None."""
    if value is None:
        return None
    if isinstance(value, list):
        return [as_go(struct, item) for item in value]
    if struct == "LabelSelector":
        return selector_fields(value)
    if struct == "ObjectMeta":
        return {key: sorted_members(value[key]) for key in METADATA if value.get(key)}
    if struct == "PodSpec":
        value = _with_host_fields(value)
    made: Object = {}
    for go_name, name, unset, inner in _fields(struct, minor()):
        if go_name == "+ObjectMeta":
            made |= as_go("ObjectMeta", value.get("metadata") or {})
        elif go_name.startswith("+"):
            made |= as_go(go_name[1:], value)
        else:
            found = value.get(name)
            found = unset if found is None else found
            made[go_name] = as_go(inner, found) if inner else sorted_members(found)
    return made


#: The fields of metadata in their order.
METADATA = (
    "name", "generateName", "namespace", "selfLink", "uid", "resourceVersion", "generation", "creationTimestamp",
    "deletionTimestamp", "deletionGracePeriodSeconds", "labels", "annotations", "ownerReferences", "finalizers",
    "managedFields",
)  # fmt: skip


#: Fields of a pod's spec that the internal type has in its security context (`Convert_v1_PodSpec_To_core_PodSpec`).
HOST_FIELDS = ("hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "hostUsers")


def _with_host_fields(spec: Object) -> Object:
    host = {key: spec[key] for key in HOST_FIELDS if key in spec}
    return {**spec, "securityContext": {**(spec.get("securityContext") or {}), **host}}


def selector_fields(selector: Object) -> Object:
    """A LabelSelector, which does have JSON names."""
    made: Object = {}
    if selector.get("matchLabels"):
        made["matchLabels"] = sorted_members(selector["matchLabels"])
    if selector.get("matchExpressions"):
        order = ("key", "operator", "values")
        made["matchExpressions"] = [
            {key: one.get(key, "") for key in order if key != "values" or one.get(key)}
            for one in selector["matchExpressions"]
        ]
    return made


def marshal(value: Any, *, indent: int | None = None) -> str:
    """`json.Marshal`: without spaces (unless indented), with the special characters of HTML escaped."""
    text = json.dumps(value, separators=(",", ":" if indent is None else ": "), indent=indent, ensure_ascii=False)
    for char in "<>&\u2028\u2029":
        if char in text:
            text = text.replace(char, f"\\u{ord(char):04x}")
    return text
