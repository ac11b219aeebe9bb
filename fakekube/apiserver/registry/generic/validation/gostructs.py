"""How Go shows a struct in an error: as JSON, in the order of its declaration.

The internal types that validation sees have no JSON names, so that their fields show as Go spells them, and what is
not set shows as null or as its zero. Where an error shows a whole struct, its fields are in STRUCTS.
"""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

from fakekube.apiserver.wire.status import FieldError

Object = dict[str, Any]

#: Struct -> its fields in order, each `Name=zero~json:Struct`: what shows where it is not set (null, if not said), its
#: name in JSON where that is not the same with a small first letter, and the struct that it holds, or a list of it.
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
    """Go's name, the name in JSON, what shows where it is not set, the struct in it."""
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
    """metav1's types do have JSON names."""
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
    """`json.Marshal`: no spaces, and nothing that HTML could take for a tag."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    for char in "<>&\u2028\u2029":
        if char in text:
            text = text.replace(char, f"\\u{ord(char):04x}")
    return text


def invalid_struct(path: str, struct: str, value: Any, detail: str) -> FieldError:
    """An "Invalid value" that shows a struct."""
    message = f"Invalid value: {shown(struct, value)}"
    return FieldError(path, "FieldValueInvalid", f"{message}: {detail}" if detail else message)


def invalid_selector(path: str, selector: Object | None, detail: str) -> FieldError:
    return invalid_struct(path, "LabelSelector", selector, detail)


def without_value(path: str, detail: str) -> FieldError:
    """An "Invalid value" that does not show it (`field.OmitValueType`)."""
    return FieldError(path, "FieldValueInvalid", f"Invalid value: {detail}")


def unsupported_struct(path: str, struct: str, value: Any, supported: tuple[str, ...]) -> FieldError:
    choices = ", ".join(f'"{one}"' for one in supported)
    message = f"Unsupported value: {shown(struct, value)}: supported values: {choices}"
    return FieldError(path, "FieldValueNotSupported", message)
