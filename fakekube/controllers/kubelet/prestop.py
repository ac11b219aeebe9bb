"""The preStop hook of a container, as far as it only sleeps (pkg/kubelet/kuberuntime: executePreStopHook).

Hooks that run a command or send a request take no time, because no container runs.
"""

from __future__ import annotations

from fakekube.controllers.kubelet.podrun import Container

#: Seconds that a container has after its hook, whatever the grace period (minimumGracePeriodInSeconds).
LEAST_GRACE = 2.0


def pre_stop(one: Container, grace: float) -> float:
    """The seconds that the preStop hook of a container sleeps, at most the grace period (executePreStopHook)."""
    hook = (one.spec.get("lifecycle") or {}).get("preStop") or {}
    return min(float((hook.get("sleep") or {}).get("seconds") or 0), grace)
