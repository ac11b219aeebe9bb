"""What a pod's spec is let through with, though it is hardly meant (`pkg/api/pod.GetWarningsForPod`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from fakekube.apiserver.registry.core.pod.validation.podoptions import containers
from fakekube.apiserver.registry.core.resourcenames import number_of
from fakekube.apiserver.registry.generic.validation import content, labelselectors
from fakekube.apiserver.registry.generic.validation.ip import ip_warnings
from fakekube.apiserver.wire.goprint import go_quote

Object = dict[str, Any]
Warnings = list[str]

REQUIRED, PREFERRED = (f"{how}DuringSchedulingIgnoredDuringExecution" for how in ("required", "preferred"))

DEPRECATED_LABELS = {
    f"{old}": f'deprecated since {since}; use "{new}" instead'
    for old, since, new in (
        ("beta.kubernetes.io/arch", "v1.14", "kubernetes.io/arch"),
        ("beta.kubernetes.io/os", "v1.14", "kubernetes.io/os"),
        ("failure-domain.beta.kubernetes.io/region", "v1.17", "topology.kubernetes.io/region"),
        ("failure-domain.beta.kubernetes.io/zone", "v1.17", "topology.kubernetes.io/zone"),
        ("beta.kubernetes.io/instance-type", "v1.17", "node.kubernetes.io/instance-type"),
    )
}

DEPRECATED_ANNOTATIONS = {
    "scheduler.alpha.kubernetes.io/critical-pod": 'non-functional in v1.16+; use the "priorityClassName" field instead',
    "security.alpha.kubernetes.io/sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
    "security.alpha.kubernetes.io/unsafe-sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
}
SECCOMP_OF_POD = "seccomp.security.alpha.kubernetes.io/pod"
SECCOMP_OF_CONTAINER = "container.seccomp.security.alpha.kubernetes.io/"
SECCOMP = 'non-functional in v1.27+; use the "seccompProfile" field instead'
APPARMOR_OF_CONTAINER = "container.apparmor.security.beta.kubernetes.io/"
APPARMOR = 'deprecated since v1.30; use the "appArmorProfile" field instead'

DEPRECATED_VOLUMES = {
    "photonPersistentDisk": "deprecated in v1.11, non-functional in v1.16+",
    "gitRepo": "deprecated in v1.11, and disabled by default in v1.33+",
    "scaleIO": "deprecated in v1.16, non-functional in v1.22+",
    "flocker": "deprecated in v1.22, non-functional in v1.25+",
    "storageos": "deprecated in v1.22, non-functional in v1.25+",
    "quobyte": "deprecated in v1.22, non-functional in v1.25+",
    "glusterfs": "deprecated in v1.25, non-functional in v1.26+",
    "cephfs": "deprecated in v1.28, non-functional in v1.31+",
    "rbd": "deprecated in v1.28, non-functional in v1.31+",
}
VOLUME_FIELDS = frozenset((*DEPRECATED_VOLUMES, "ephemeral", "configMap", "secret", "downwardAPI", "projected"))

NO_SELECTOR = "a null labelSelector results in matching no pod"


def host_name_warnings(obj: Object, where: str) -> Warnings:
    """Of a name that is used in the names of hosts. `where` it is."""
    problems = content.dns_label_problems(obj["metadata"].get("name") or "")
    if not problems:
        return []
    used = f"metadata.name: this is used in {where}, which can result in surprising behavior"
    return [f"{used}; a DNS label is recommended: [{' '.join(problems)}]"]


def pod_warnings(pod: Object) -> Warnings:
    warnings = host_name_warnings(pod, "the Pod's hostname")
    return warnings + spec_warnings(pod.get("spec") or {}, pod["metadata"], "")


def template_warnings(template: Object, path: str) -> Warnings:
    meta = template.get("metadata") or {}
    return spec_warnings(template.get("spec") or {}, meta, f"{path}.")


def spec_warnings(spec: Object, meta: Object, path: str) -> Warnings:
    """`path`: that of what holds the spec, with a dot; nothing for a pod itself."""
    found: Warnings = []
    here = f"{path}spec"
    _selectors(spec, here, found)
    annotations: Object = meta.get("annotations") or {}
    if annotations:
        for key, message in DEPRECATED_ANNOTATIONS.items():
            if key in annotations:
                found.append(f"{path}metadata.annotations[{key}]: {message}")
    for i, volume in enumerate(spec.get("volumes") or ()):
        if not VOLUME_FIELDS.isdisjoint(volume):
            _volume(volume, f"{here}.volumes[{i}]", found)
    for volume in spec.get("volumes") or ():
        _overlaps(volume, found)
    _references(spec, here, found)
    fractional(spec.get("overhead") or {}, f"{here}.overhead", found)
    if annotations:
        _profiles(spec, annotations, path, found)
    for name, container in containers(spec):
        _container(container, f"{here}.{name}", found)
    _ports(spec, here, found)
    _rest(spec, here, found)
    return found


# --- where it goes -------------------------------------------------------------------------------------------------


def _selectors(spec: Object, here: str, found: Warnings) -> None:
    for key in spec.get("nodeSelector") or ():
        if key in DEPRECATED_LABELS:
            found.append(f"{here}.nodeSelector[{key}]: {DEPRECATED_LABELS[key]}")
    node: Object = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    path = f"{here}.affinity.nodeAffinity"
    for i, term in enumerate((node.get(REQUIRED) or {}).get("nodeSelectorTerms") or ()):
        _node_term(term, f"{path}.{REQUIRED}.nodeSelectorTerms[{i}]", found)
    for i, preferred in enumerate(node.get(PREFERRED) or ()):
        _node_term(preferred.get("preference") or {}, f"{path}.{PREFERRED}[{i}].preference", found, values=True)
    for i, constraint in enumerate(spec.get("topologySpreadConstraints") or ()):
        path, key = f"{here}.topologySpreadConstraints[{i}]", constraint.get("topologyKey") or ""
        if key in DEPRECATED_LABELS:
            found.append(f"{path}.topologyKey: {key} is {DEPRECATED_LABELS[key]}")
        if constraint.get("labelSelector") is None:
            found.append(f"{path}.labelSelector: {NO_SELECTOR}")


def _node_term(term: Object, path: str, found: Warnings, *, values: bool = False) -> None:
    for i, expression in enumerate(term.get("matchExpressions") or ()):
        key = expression.get("key") or ""
        if key in DEPRECATED_LABELS:
            found.append(f"{path}.matchExpressions[{i}].key: {key} is {DEPRECATED_LABELS[key]}")
        for n, value in enumerate(expression.get("values") or () if values else ()):
            for problem in labelselectors.value_problems(value):
                found.append(f"{path}.matchExpressions[{i}].values[{n}]: {value} is invalid, {problem}")


# --- volumes -------------------------------------------------------------------------------------------------------


def _volume(volume: Object, path: str, found: Warnings) -> None:
    for field, message in DEPRECATED_VOLUMES.items():
        if volume.get(field) is not None:
            found.append(f"{path}.{field}: {message}")
    claim = (volume.get("ephemeral") or {}).get("volumeClaimTemplate")
    if claim is not None:
        claim_warnings(claim.get("spec") or {}, f"{path}.ephemeral.volumeClaimTemplate.spec", found)


def claim_warnings(spec: Object, path: str, found: Warnings) -> None:
    size = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    if size is not None and number_of(size) % 1:
        why = f"fractional byte value {go_quote(size)} is invalid, must be an integer"
        found.append(f"{path}.resources.requests[storage]: {why}")


Placed = tuple[str, str]
"""A path in a volume, and what puts a file there."""


def _overlaps(volume: Object, found: Warnings) -> None:
    """Files of one volume that are in each other's way."""
    name = go_quote(volume.get("name") or "")
    for field, kind, named in (("configMap", "ConfigMap", "name"), ("secret", "Secret", "secretName")):
        if volume.get(field) is not None:
            source = f"{kind} {go_quote(volume[field].get(named) or '')}"
            _collide([(path, "") for path in _paths(volume[field])], f"volume {name} ({source})", found)
    if volume.get("downwardAPI") is not None:
        _collide([(path, "") for path in _paths(volume["downwardAPI"])], f"volume {name} (DownwardAPI)", found)
    if volume.get("projected") is not None:
        placed: list[Placed] = []
        for source in volume["projected"].get("sources") or ():
            if source:
                placed += _projected(source)
            else:
                found.append(f"volume {name} (Projected) has no sources provided")
        _collide(placed, f"volume {name} (Projected)", found)


def _paths(source: Object) -> list[str]:
    return [item.get("path") or "" for item in source.get("items") or ()]


def _projected(source: Object) -> list[Placed]:
    for field, kind in (("configMap", "ConfigMap"), ("secret", "Secret")):
        if source.get(field) is not None:
            shown = f"{kind} {go_quote(source[field].get('name') or '')}"
            return [(path, shown) for path in _paths(source[field])]
    if source.get("downwardAPI") is not None:
        return [(path, "DownwardAPI") for path in _paths(source["downwardAPI"])]
    if source.get("serviceAccountToken") is not None:
        return [(source["serviceAccountToken"].get("path") or "", "ServiceAccountToken")]
    return []


def _collide(placed: Sequence[Placed], what: str, found: Warnings) -> None:
    seen: list[Placed] = []
    for path, source in placed:
        path = path.rstrip("/")
        for other, other_source in seen:
            inside = f"{path}/".startswith(f"{other}/") or f"{other}/".startswith(f"{path}/")
            if path and other and inside:
                shown = f"{_placed(path, source)} with {_placed(other, other_source)}"
                found.append(f"{what}: overlapping paths: {shown}")
        seen.append((path, source))


def _placed(path: str, source: str) -> str:
    return f"{go_quote(path)} ({source})" if source else go_quote(path)


# --- references, resources, profiles -------------------------------------------------------------------------------


def _references(spec: Object, here: str, found: Warnings) -> None:
    for i in _repeated(alias.get("ip") or "" for alias in spec.get("hostAliases") or ()):
        found.append(f"{here}.hostAliases[{i}].ip: duplicate ip {go_quote(spec['hostAliases'][i].get('ip') or '')}")
    secrets = [one.get("name") or "" for one in spec.get("imagePullSecrets") or ()]
    for i in _repeated(secrets):
        found.append(f"{here}.imagePullSecrets[{i}].name: duplicate name {go_quote(secrets[i])}")
    for i, name in enumerate(secrets):
        if not name:
            found.append(f'{here}.imagePullSecrets[{i}].name: invalid empty name ""')


def _repeated(values: Iterable[str]) -> Iterator[int]:
    seen: set[str] = set()
    for i, value in enumerate(values):
        if value in seen:
            yield i
        seen.add(value)


def fractional(quantities: Object, path: str, found: Warnings) -> None:
    for name in ("memory", "ephemeral-storage"):
        value = quantities.get(name)
        if value is not None and value[-1:] in "mun" and number_of(value) % 1:
            why = f"fractional byte value {go_quote(value)} is invalid, must be an integer"
            found.append(f"{path}[{name}]: {why}")


def _profiles(spec: Object, annotations: Object, path: str, found: Warnings) -> None:
    """Annotations without the field that they once stood for."""
    here = f"{path}metadata.annotations"
    pod: Object = spec.get("securityContext") or {}
    if pod.get("seccompProfile") is None and SECCOMP_OF_POD in annotations:
        found.append(f"{here}[{SECCOMP_OF_POD}]: {SECCOMP}")
    for _, container in containers(spec):
        own: Object = container.get("securityContext") or {}
        name = container.get("name") or ""
        if own.get("seccompProfile") is None and SECCOMP_OF_CONTAINER + name in annotations:
            found.append(f"{here}[{SECCOMP_OF_CONTAINER}{name}]: {SECCOMP}")
        armed = pod.get("appArmorProfile") is not None or own.get("appArmorProfile") is not None
        if (not path or not armed) and APPARMOR_OF_CONTAINER + name in annotations:  # a pod's own is made a field
            found.append(f"{here}[{APPARMOR_OF_CONTAINER}{name}]: {APPARMOR}")


def _container(container: Object, path: str, found: Warnings) -> None:
    resources: Object = container.get("resources") or {}
    for name in ("memory", "ephemeral-storage"):
        for kind in ("limits", "requests"):
            value = (resources.get(kind) or {}).get(name)
            if value is not None:
                fractional({name: value}, f"{path}.resources.{kind}", found)
    variables = container.get("env") or ()
    for i in _repeated(one.get("name") or "" for one in variables):
        name, value = variables[i].get("name") or "", variables[i].get("value") or ""
        reference = f"$({name})"
        if variables[i].get("valueFrom") is not None or value == reference or reference not in value:
            why = f"hides previous definition of {go_quote(name)}, which may be dropped when using apply"
            found.append(f"{path}.env[{i}]: {why}")


# --- ports ---------------------------------------------------------------------------------------------------------


def _ports(spec: Object, here: str, found: Warnings) -> None:
    known: dict[tuple[int, str], list[tuple[str, Object]]] = {}
    names: list[tuple[str, str]] = []
    for name, container in containers(spec):
        lasting = not name.startswith("init") or container.get("restartPolicy") == "Always"
        for i, port in enumerate(container.get("ports") or ()):
            path = f"{here}.{name}.ports[{i}]"
            if port.get("hostIP") and not port.get("hostPort"):
                found.append(f"{path}: hostIP set without hostPort: {_go_port(port)}")
            same = known.setdefault((port.get("containerPort") or 0, port.get("protocol") or ""), [])
            for other_path, other in same:
                _conflict(port, path, other, other_path, found)
            same.append((path, port))
            if lasting and port.get("name"):
                names.append((port["name"], path))
    first: dict[str, str] = {}
    for name, path in names:
        other_path = first.setdefault(name, path)
        if other_path != path:
            why = f"services and probes that select ports by name will use {other_path}"
            found.append(f"{path}: duplicate port name {go_quote(name)} with {other_path}, {why}")


def _conflict(port: Object, path: str, other: Object, other_path: str, found: Warnings) -> None:
    address, other_address = port.get("hostIP") or "", other.get("hostIP") or ""
    number, other_number = port.get("hostPort") or 0, other.get("hostPort") or 0
    if (address, number) == (other_address, other_number):
        what = "duplicate"
    elif not number or not other_number:
        what = "overlapping"
    elif number == other_number and bool(address) != bool(other_address):
        what = "dangerously ambiguous"
    else:
        return
    found.append(f"{path}: {what} port definition with {other_path}")


def _go_port(port: Object) -> str:
    fields = ("name", "hostPort", "containerPort", "protocol", "hostIP")
    zeros = {"hostPort": 0, "containerPort": 0}
    shown = [f"{name[0].upper()}{name[1:]}:{port.get(name) or zeros.get(name, '')}" for name in fields]
    return "{" + " ".join(shown) + "}"


# --- the rest ------------------------------------------------------------------------------------------------------


def _rest(spec: Object, here: str, found: Warnings) -> None:
    if (spec.get("terminationGracePeriodSeconds") or 0) < 0:
        why = "must be >= 0; negative values are invalid and will be treated as 1"
        found.append(f"{here}.terminationGracePeriodSeconds: {why}")
    for kind in ("podAffinity", "podAntiAffinity"):
        affinity: Object = (spec.get("affinity") or {}).get(kind) or {}
        path = f"{here}.affinity.{kind}"
        for i, term in enumerate(affinity.get(REQUIRED) or ()):
            if term.get("labelSelector") is None:
                found.append(f"{path}.{REQUIRED}[{i}].labelSelector: {NO_SELECTOR}")
        for i, preferred in enumerate(affinity.get(PREFERRED) or ()):
            if (preferred.get("podAffinityTerm") or {}).get("labelSelector") is None:
                found.append(f"{path}.{PREFERRED}[{i}].podAffinityTerm.labelSelector: {NO_SELECTOR}")
    for i, server in enumerate((spec.get("dnsConfig") or {}).get("nameservers") or ()):
        found += ip_warnings(server, f"{here}.dnsConfig.nameservers[{i}]")
    for i, alias in enumerate(spec.get("hostAliases") or ()):
        found += ip_warnings(alias.get("ip") or "", f"{here}.hostAliases[{i}].ip")
