"""What a pod failure policy says of a failed pod (`pkg/controller/job/pod_failure_policy.go`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from fakekube.controllers.workload.podstate import Pod
from fakekube.struct import Struct


class Verdict(Struct, frozen=True):
    """`counts`: the failure counts towards the limits. `message`: the Job fails with it, if it is set."""

    action: str = ""
    counts: bool = True
    message: str = ""


_NONE = Verdict()


def match(policy: Mapping[str, Any] | None, pod: Pod) -> Verdict:
    """The verdict of the first rule that matches the pod."""
    for index, rule in enumerate((policy or {}).get("rules") or ()):
        reason = _matched(rule, pod)
        if not reason:
            continue
        action = rule.get("action") or ""
        if action == "FailJob":
            return Verdict(action, message=f"{reason} matching FailJob rule at index {index}")
        if action in ("Ignore", "FailIndex", "Count"):
            return Verdict(action, counts=action != "Ignore")
    return _NONE


def _matched(rule: Mapping[str, Any], pod: Pod) -> str:
    """What of the pod matches the rule; "" if nothing does."""
    status = pod.get("status") or {}
    where = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
    if rule.get("onExitCodes") is not None:
        found = _container(status.get("containerStatuses") or (), rule["onExitCodes"])
        if found is None:
            found = _container(status.get("initContainerStatuses") or (), rule["onExitCodes"])
        if found is None:
            return ""
        code = found["state"]["terminated"]["exitCode"]
        return f"Container {found['name']} for pod {where} failed with exit code {code}"
    patterns = rule.get("onPodConditions") or ()
    for condition in status.get("conditions") or ():
        if any(
            condition.get("type") == one.get("type") and condition.get("status") == one.get("status")
            for one in patterns
        ):
            return f"Pod {where} has condition {condition['type']}"
    return ""


def _container(statuses: Iterable[Mapping[str, Any]], wanted: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The first container that ended with a matching exit code other than 0."""
    for one in statuses:
        ended = (one.get("state") or {}).get("terminated")
        code = (ended or {}).get("exitCode") or 0
        if ended is None or code == 0 or wanted.get("containerName") not in (None, one.get("name")):
            continue
        listed = code in (wanted.get("values") or ())
        if (wanted.get("operator") == "In" and listed) or (wanted.get("operator") == "NotIn" and not listed):
            return one
    return None
