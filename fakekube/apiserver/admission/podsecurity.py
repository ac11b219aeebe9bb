"""Enforces the pod security standards of namespaces (plugin PodSecurity; `pod-security-admission/admission`)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from fakekube.apiserver.admission.podstandards import Violation, violations
from fakekube.apiserver.call import Call
from fakekube.apiserver.wire.status import FieldError, field_invalid, forbidden, invalid
from fakekube.struct import Struct

Object = dict[str, Any]

PREFIX = "pod-security.kubernetes.io/"

#: The levels, from the least to the most restrictive.
LEVELS = ("privileged", "baseline", "restricted")
_VERSION = re.compile(r"v1\.([0-9]|[1-9][0-9]*)")

#: Collections whose objects have a pod template, which is checked for warnings.
TEMPLATES = (
    "replicationcontrollers", "podtemplates", "deployments.apps", "replicasets.apps", "statefulsets.apps",
    "daemonsets.apps", "jobs.batch", "cronjobs.batch",
)  # fmt: skip

#: The maximum number of existing pods that are checked when a namespace changes its enforced standard.
PODS_CHECKED = 3000


class Standard(Struct, frozen=True):
    """A level, as defined in a version (`v1.30` or `latest`)."""

    level: str = LEVELS[0]
    version: str = "latest"

    def __str__(self) -> str:
        return f"{self.level}:{self.version}"

    def violations(self, call: Call, meta: Object, spec: Object) -> list[Violation]:
        newest = int(call.server.version["minor"].rstrip("+"))
        minor = newest if self.version == "latest" else min(int(self.version.removeprefix("v1.")), newest)
        return violations(self.level, minor, meta, spec)


class Policy(Struct, frozen=True):
    """The standards in the labels of a namespace, and the errors in these labels."""

    enforce: Standard
    warn: Standard
    errors: tuple[FieldError, ...]


def policy_of(labels: Mapping[str, str]) -> Policy:
    """The policy of a namespace's labels (`PolicyToEvaluate`). An invalid level is enforced as restricted, but does not
    warn."""
    errors: list[FieldError] = []
    levels: dict[str, str] = {}
    versions: dict[str, str] = {}
    for mode in ("enforce", "audit", "warn"):
        level, version = labels.get(PREFIX + mode), labels.get(f"{PREFIX}{mode}-version")
        if level is not None:
            levels[mode] = level if level in LEVELS else "restricted" if mode == "enforce" else "privileged"
            if level not in LEVELS:
                where = f"metadata.labels[{PREFIX}{mode}]"
                errors.append(field_invalid(where, level, f"must be one of {', '.join(LEVELS)}"))
        if version is not None:
            known = version == "latest" or _VERSION.fullmatch(version) is not None
            versions[mode] = version if known else "latest"
            if not known:
                where = f"metadata.labels[{PREFIX}{mode}-version]"
                errors.append(field_invalid(where, version, 'must be "latest" or "v1.x"'))
    enforce = Standard(levels.get("enforce", LEVELS[0]), versions.get("enforce", "latest"))
    warn = Standard(levels.get("warn", LEVELS[0]), versions.get("warn", "latest"))
    if "warn" not in levels and labels.get(PREFIX + "enforce") in LEVELS[1:]:
        warn = Standard(enforce.level, versions.get("warn", enforce.version))
    return Policy(enforce, warn, tuple(errors))


# --- plugins ---------------------------------------------------------------------------------------------------------


def validate_pod(call: Call, obj: Object, old: Object | None) -> None:
    """Raises 403 for a pod that violates the enforced standard; adds a warning if it violates the warn standard."""
    labels = _labels(call)
    if not labels or (old is not None and not _significant(obj, old)):
        return
    policy = policy_of(labels)
    broken = policy.enforce.violations(call, obj["metadata"], obj["spec"])
    if broken:
        why = f'violates PodSecurity "{policy.enforce}": {_shown(broken)}'
        raise forbidden(call.resource.qualified, obj["metadata"].get("name") or "", why)
    _warn(call, policy.warn, obj["metadata"], obj["spec"])


def warn_of_template(call: Call, obj: Object, old: Object | None) -> None:
    """Add a warning if the pod template of a workload violates the warn standard."""
    labels = _labels(call)
    template = _template(obj) if labels else None
    if template is not None:
        _warn(call, policy_of(labels).warn, template.get("metadata") or {}, template.get("spec") or {})


def validate_namespace(call: Call, obj: Object, old: Object | None) -> None:
    """Check the labels of a namespace; raises 422. Adds warnings for existing pods that violate a new standard."""
    new = policy_of(obj["metadata"].get("labels") or {})
    if old is None:
        _check_labels(obj, new)
        return
    before = policy_of(old["metadata"].get("labels") or {})
    if list(map(str, new.errors)) != list(map(str, before.errors)):
        _check_labels(obj, new)
    relaxed = new.enforce.version == before.enforce.version and (
        LEVELS.index(new.enforce.level) <= LEVELS.index(before.enforce.level)
    )
    if new.enforce != before.enforce and new.enforce.level != LEVELS[0] and not relaxed:
        call.warnings += _of_pods(call, obj["metadata"].get("name") or "", new.enforce)


def _check_labels(namespace: Object, policy: Policy) -> None:
    if policy.errors:
        raise invalid("", "Namespace", namespace["metadata"].get("name") or "", list(policy.errors))


def _labels(call: Call) -> Mapping[str, str]:
    """The pod security labels of the namespace."""
    entry = call.server.store.get("namespaces", call.namespace)
    labels = (entry.object["metadata"].get("labels") or {}) if entry is not None else {}
    return {key: value for key, value in labels.items() if key.startswith(PREFIX)}


def _warn(call: Call, standard: Standard, meta: Object, spec: Object) -> None:
    broken = standard.violations(call, meta, spec)
    if broken:
        call.warnings.append(f'would violate PodSecurity "{standard}": {_shown(broken)}')


def _template(obj: Object) -> Object | None:
    if "template" in obj:
        return obj["template"] or {}
    spec = obj.get("spec") or {}
    found: Object | None = ((spec.get("jobTemplate") or {}).get("spec") or spec).get("template")
    return found


def _significant(new: Object, old: Object) -> bool:
    """Whether an update changes images or adds ephemeral containers (`isSignificantPodUpdate`)."""
    for field in ("containers", "initContainers"):
        after, before = new["spec"].get(field) or (), old["spec"].get(field) or ()
        if [one.get("image") for one in after] != [one.get("image") for one in before]:
            return True
    known = {one.get("name"): one.get("image") for one in old["spec"].get("ephemeralContainers") or ()}
    added = new["spec"].get("ephemeralContainers") or ()
    return any(one.get("name") not in known or one.get("image") != known[one.get("name")] for one in added)


def _shown(broken: Iterable[Violation]) -> str:
    return ", ".join(map(str, broken))


# --- existing pods ----------------------------------------------------------------------------------------------------


def _of_pods(call: Call, namespace: str, standard: Standard) -> list[str]:
    """The warnings for existing pods that violate a standard, grouped by violations (`EvaluatePodsInNamespace`)."""
    scanned = call.server.store.collection("pods").scan(f"{namespace}/", "", None)
    pods = _one_of_each([entry.object for _, entry in scanned])
    names: dict[str, list[str]] = {}
    for pod in pods[:PODS_CHECKED]:
        broken = standard.violations(call, pod["metadata"], pod["spec"])
        if broken:
            names.setdefault(", ".join(one.reason for one in broken), []).append(pod["metadata"]["name"])
    found: list[str] = []
    if len(pods) > PODS_CHECKED:
        found.append(
            f"new PodSecurity enforce level only checked against the first {PODS_CHECKED} of {len(pods)} existing pods"
        )
    if names:
        found.append(f'existing pods in namespace "{namespace}" violate the new PodSecurity enforce level "{standard}"')
    return found + sorted(f"{_and_others(those)}: {reasons}" for reasons, those in names.items())


def _and_others(names: list[str]) -> str:
    others = len(names) - 1
    if not others:
        return names[0]
    return f"{min(names)} (and {others} other {'pod' if others == 1 else 'pods'})"


def _one_of_each(pods: list[Object]) -> list[Object]:
    """The pods with one of each controller first (`prioritizePods`)."""
    seen: set[str] = set()
    first: list[Object] = []
    rest: list[Object] = []
    for pod in pods:
        owners = pod["metadata"].get("ownerReferences") or ()
        controller = next((one["uid"] for one in owners if one.get("controller")), "")
        (rest if controller in seen else first).append(pod)
        if controller:
            seen.add(controller)
    return first + rest
