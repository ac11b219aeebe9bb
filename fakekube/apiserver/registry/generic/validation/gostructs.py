"""Prints structs in errors as Go does: as JSON, with the fields in the order of their declaration.

The internal types of the API server have no JSON names: fields have their names in Go, and a field that is not set is
null or its zero value.
"""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

Object = dict[str, Any]

#: Struct -> its fields in order, each `Name=zero~json:Struct`: its value if it is not set (default: null), its name in
#: JSON (default: the name with a small first letter), and the struct that it holds, or holds a list of.
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

_FIELD = re.compile(r'(?P<name>\w+)(?:=(?P<zero>""|0|false))?(?:~(?P<json>\w+))?(?::(?P<struct>\w+))?')


@cache
def _fields(struct: str) -> tuple[tuple[str, str, Any, str], ...]:
    """The name in Go, the name in JSON, the value if it is not set, the struct that it holds."""
    found = []
    for text in STRUCTS[struct].split():
        match = _FIELD.fullmatch(text)
        assert match is not None, text
        name, zero = match["name"], match["zero"]
        json_name = match["json"] or name[0].lower() + name[1:]
        found.append((name, json_name, json.loads(zero) if zero else None, match["struct"] or ""))
    return tuple(found)


def shown(struct: str, value: Any) -> str:
    """A struct, or a list of them, as Go prints it; null for None."""
    return marshal(_struct(struct, value))


def _struct(struct: str, value: Any) -> Any:
    if value is None:
        return None
    if isinstance(value, list):
        return [_struct(struct, item) for item in value]
    if struct == "LabelSelector":
        return selector_fields(value)
    made: Object = {}
    for go_name, name, unset, inner in _fields(struct):
        found = value.get(name, unset)
        made[go_name] = _struct(inner, found) if inner else found
    return made


def selector_fields(selector: Object) -> Object:
    """A LabelSelector, which does have JSON names."""
    made: Object = {}
    if selector.get("matchLabels"):
        made["matchLabels"] = dict(sorted(selector["matchLabels"].items()))
    if selector.get("matchExpressions"):
        order = ("key", "operator", "values")
        made["matchExpressions"] = [
            {key: one.get(key, "") for key in order if key != "values" or one.get(key)}
            for one in selector["matchExpressions"]
        ]
    return made


def marshal(value: Any) -> str:
    """`json.Marshal`: without spaces, with the special characters of HTML escaped."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    for char in "<>&\u2028\u2029":
        if char in text:
            text = text.replace(char, f"\\u{ord(char):04x}")
    return text
