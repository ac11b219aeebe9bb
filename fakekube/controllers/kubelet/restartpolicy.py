"""Whether a container that has ended is started again (`podutil.ContainerShouldRestart`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Spec = Mapping[str, Any]


def restarts_after(container: Spec, pod_spec: Spec, code: int) -> bool:
    """Whether a container restarts after it has ended with an exit code.

    A rule of the container decides, then its own policy, then that of the pod.
    """
    own = container.get("restartPolicy")
    if own:
        for rule in container.get("restartPolicyRules") or ():
            if _matches(rule.get("exitCodes") or {}, code):
                return True
    return _by_policy(own or pod_spec.get("restartPolicy") or "Always", code)


def _matches(codes: Mapping[str, Any], code: int) -> bool:
    listed = code in (codes.get("values") or ())
    return listed if codes.get("operator") == "In" else codes.get("operator") == "NotIn" and not listed


def _by_policy(policy: str, code: int) -> bool:
    return policy == "Always" or (policy == "OnFailure" and code != 0)
