"""Warnings about valid pods whose spec probably has a mistake (`pkg/api/pod.GetWarningsForPod`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from fakekube.apiserver.features import since
from fakekube.apiserver.names import dns_label_problems
from fakekube.apiserver.registry.core.pod.validation.affinity import POD_AFFINITIES, PREFERRED, REQUIRED
from fakekube.apiserver.registry.core.pod.validation.podoptions import all_containers
from fakekube.apiserver.registry.core.pod.validation.securitycontext import APPARMOR, SECCOMP_CONTAINER, SECCOMP_POD
from fakekube.apiserver.registry.generic.validation import content
from fakekube.apiserver.registry.generic.validation.field import Field, Object
from fakekube.apiserver.registry.generic.validation.ip import ip_warnings
from fakekube.apiserver.schema.quantity import is_whole
from fakekube.apiserver.wire.goprint import go_quote

Warnings = list[str]

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
SECCOMP = 'non-functional in v1.27+; use the "seccompProfile" field instead'
APPARMOR_SINCE = 'deprecated since v1.30; use the "appArmorProfile" field instead'
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
#: Sources of files: how warnings name them, and the member that holds the object's name.
FILE_SOURCES = {
    "configMap": ("ConfigMap", "name"), "secret": ("Secret", "secretName"), "downwardAPI": ("DownwardAPI", ""),
    "projected": ("Projected", ""),
}  # fmt: skip
FRACTIONAL = ("memory", "ephemeral-storage")


def host_name_warnings(obj: Object, where: str) -> Warnings:
    """Warns about a name that is not a DNS label although it is used in host names; `where` names them."""
    problems = dns_label_problems(obj["metadata"].get("name") or "")  # a name comes once, so it is not remembered
    if not problems:
        return []
    used = f"metadata.name: this is used in {where}, which can result in surprising behavior"
    return [f"{used}; a DNS label is recommended: [{' '.join(problems)}]"]


def pod_warnings(pod: Object) -> Warnings:
    found = host_name_warnings(pod, "the Pod's hostname")
    _spec_warnings(Field(pod, "", found))
    return found


def template_warnings(template: Object, path: str) -> Warnings:
    found: Warnings = []
    _spec_warnings(Field(template, path, found), of_template=True)
    return found


def _spec_warnings(holder: Field, *, of_template: bool = False) -> None:
    """`holder` is a pod or a template."""
    spec, annotations = holder["spec"], holder["metadata"]["annotations"]
    spec = spec if spec.value else spec.with_value({})
    containers, volumes = all_containers(spec), list(spec.each("volumes"))
    _key_warnings(spec["nodeSelector"], spec.value.get("nodeSelector") or (), DEPRECATED_LABELS)
    _scheduling_warnings(spec)
    _key_warnings(annotations, DEPRECATED_ANNOTATIONS, DEPRECATED_ANNOTATIONS)
    for volume in volumes:
        _volume_warnings(volume)
    for volume in volumes:
        _overlap_warnings(volume)
    _reference_warnings(spec)
    for name in FRACTIONAL:
        _fractional_warning(spec, "overhead", name)
    if annotations.value:
        _profile_warnings(spec, containers, annotations, of_template)
    for container in containers:
        _container_warnings(container)
    _port_warnings(containers)
    _other_warnings(spec)


def _key_warnings(found: Field, keys: Iterable[str], deprecated: Mapping[str, str]) -> None:
    for key in keys if found.value else ():
        if key in found.value and key in deprecated:
            found.entry(key).warn(deprecated[key])


def _scheduling_warnings(spec: Field) -> None:
    if spec.value.get("affinity"):
        node = spec["affinity"]["nodeAffinity"]
        for term in node[REQUIRED]["nodeSelectorTerms"]:
            _node_term_warnings(term)
        for preferred in node[PREFERRED]:
            _node_term_warnings(preferred["preference"], values=True)
    for constraint in spec.each("topologySpreadConstraints"):
        _deprecated_key_warning(constraint["topologyKey"])
        _selector_warning(constraint)


def _deprecated_key_warning(key: Field) -> None:
    if key.value in DEPRECATED_LABELS:
        key.warn(f"{key.value} is {DEPRECATED_LABELS[key.value]}")


def _selector_warning(holder: Field) -> None:
    if holder["labelSelector"].value is None:
        holder["labelSelector"].warn("a null labelSelector results in matching no pod")


def _node_term_warnings(term: Field, *, values: bool = False) -> None:
    for expression in term["matchExpressions"]:
        _deprecated_key_warning(expression["key"])
        for value in expression["values"] if values else ():
            for problem in content.label_value_problems(value.value):
                value.warn(f"{value.value} is invalid, {problem}")


def _volume_warnings(volume: Field) -> None:
    if not DEPRECATED_VOLUMES.keys().isdisjoint(volume.value):
        for source in volume.members(DEPRECATED_VOLUMES):
            source.warn(DEPRECATED_VOLUMES[source.key])
    if "ephemeral" in volume.value:
        claim = volume["ephemeral"]["volumeClaimTemplate"]["spec"]
        claim_warnings(claim.value or {}, claim.path, claim.errors)


def claim_warnings(spec: Object, path: str, found: Warnings) -> None:
    size = Field(spec, path, found)["resources"]["requests"].entry("storage")
    if size.value is not None and not is_whole(size.value):
        size.warn(_not_whole(size.value))


def _not_whole(quantity: str) -> str:
    return f"fractional byte value {go_quote(quantity)} is invalid, must be an integer"


def _overlap_warnings(volume: Field) -> None:
    """Warns about files of one volume whose paths overlap."""
    if FILE_SOURCES.keys().isdisjoint(volume.value) or not since(32):
        return
    for source in volume.members(FILE_SOURCES):
        placed = [(path.rstrip("/"), go_quote(path.rstrip("/"))) for path in _paths(source)]
        if len(placed) < 2 and source.key != "projected":
            continue
        kind, named = FILE_SOURCES[source.key]
        shown_source = f"{kind} {go_quote(source[named].text)}" if named else kind
        what = f"volume {go_quote(volume['name'].text)} ({shown_source})"
        files: list[tuple[str, str]] = []
        for projection in source.each("sources"):
            if not projection:
                volume.errors.append(f"{what} has no sources provided")
                continue
            files = _projected(projection) or ([] if since(34) else files)  # before 1.34 the last files stayed
            placed += files
        for i, (path, shown) in enumerate(placed):
            for other, other_shown in placed[:i]:
                inside = f"{path}/".startswith(f"{other}/") or f"{other}/".startswith(f"{path}/")
                if path and other and inside:
                    volume.errors.append(f"{what}: overlapping paths: {shown} with {other_shown}")


def _paths(source: Field) -> list[str]:
    return [item["path"].text for item in source.each("items")]


def _projected(projection: Field) -> list[tuple[str, str]]:
    """The files of the first source that is set: the path, and how a warning shows the path and the source."""
    for source in projection.members(("configMap", "secret", "downwardAPI", "serviceAccountToken")):
        paths, shown = _paths(source), FILE_SOURCES.get(source.key, ("ServiceAccountToken", ""))[0]
        if source.key == "serviceAccountToken":
            paths = [source["path"].text]
        elif source.key != "downwardAPI":
            shown = f"{shown} {go_quote(source['name'].text)}"
        return [(path.rstrip("/"), f"{go_quote(path.rstrip('/'))} ({shown})") for path in paths]
    return []


def _reference_warnings(spec: Field) -> None:
    for ip in _repeated([alias["ip"] for alias in spec.each("hostAliases")]):
        ip.warn(f"duplicate ip {go_quote(ip.text)}")
    names = [secret["name"] for secret in spec.each("imagePullSecrets")]
    for name in _repeated(names):
        name.warn(f"duplicate name {go_quote(name.text)}")
    for name in names:
        if not name:
            name.warn('invalid empty name ""')


def _repeated(fields: Iterable[Field]) -> Iterator[Field]:
    """Those fields whose text an earlier field has."""
    seen: set[str] = set()
    for field in fields:
        if field.text in seen:
            yield field
        seen.add(field.text)


def _fractional_warning(holder: Field, quantities: str, name: str) -> None:
    value = (holder.value.get(quantities) or {}).get(name)
    if value is not None and not is_whole(value):
        holder[quantities].entry(name).warn(_not_whole(value))


def _profile_warnings(spec: Field, containers: Sequence[Field], annotations: Field, of_template: bool) -> None:
    """Warns about annotations whose field is not set; in a pod, the server sets the AppArmor field from them."""
    pod = spec["securityContext"]
    if pod["seccompProfile"].value is None and SECCOMP_POD in annotations:
        annotations.entry(SECCOMP_POD).warn(SECCOMP)
    for container in containers:
        own, name = container["securityContext"], container["name"].text
        seccomp, apparmor = annotations.entry(SECCOMP_CONTAINER + name), annotations.entry(APPARMOR + name)
        if own["seccompProfile"].value is None and seccomp.value is not None:
            seccomp.warn(SECCOMP)
        armed = any(one["appArmorProfile"].value is not None for one in (pod, own))
        if not (of_template and armed) and apparmor.value is not None:
            apparmor.warn(APPARMOR_SINCE)


def _container_warnings(container: Field) -> None:
    if container.value.get("resources"):
        resources = container["resources"]
        for name in FRACTIONAL:
            _fractional_warning(resources, "limits", name)
            _fractional_warning(resources, "requests", name)
    names = [variable.get("name") for variable in container.value.get("env") or ()]
    if len({*names}) < len(names):
        for repeated in _repeated(variable["name"] for variable in container["env"]):
            variable, reference = repeated.parent, f"$({repeated.text})"
            value = variable["value"].text
            if variable["valueFrom"].value is not None or value == reference or reference not in value:
                shown = go_quote(repeated.text)
                variable.warn(f"hides previous definition of {shown}, which may be dropped when using apply")


def _port_warnings(containers: Sequence[Field]) -> None:
    if not _may_conflict([port for container in containers for port in container.value.get("ports") or ()]):
        return
    known: dict[tuple[int, str], list[Field]] = {}
    named: list[Field] = []
    for container in containers:
        init = container.parent.key == "initContainers" and container["restartPolicy"].value != "Always"
        for port in container["ports"]:
            if port.value.get("hostIP") and not port.value.get("hostPort"):
                port.warn(f"hostIP set without hostPort: {_go_port(port.value)}")
            same = known.setdefault((port["containerPort"].number, port["protocol"].text), [])
            for other in same:
                _conflict_warning(port, other)
            same.append(port)
            if not init and port.value.get("name"):
                named.append(port)
    first: dict[str, Field] = {}
    for port in named:
        name = port.value["name"]
        other = first.setdefault(name, port)
        if other is not port:
            why = f"services and probes that select ports by name will use {other.path}"
            port.warn(f"duplicate port name {go_quote(name)} with {other.path}, {why}")


def _may_conflict(ports: Sequence[Object]) -> bool:
    numbers = {port.get("containerPort") for port in ports}
    names = {port.get("name") or number for number, port in enumerate(ports)}
    return min(len(numbers), len(names)) < len(ports) or any(port.get("hostIP") for port in ports)


def _conflict_warning(port: Field, other: Field) -> None:
    (address, number), (other_address, other_number) = ((p["hostIP"].text, p["hostPort"].number) for p in (port, other))
    if (address, number) == (other_address, other_number):
        what = "duplicate"
    elif not number or not other_number:
        what = "overlapping"
    elif number == other_number and bool(address) != bool(other_address):
        what = "dangerously ambiguous"
    else:
        return
    port.warn(f"{what} port definition with {other.path}")


def _go_port(port: Object) -> str:
    fields = ("name", "hostPort", "containerPort", "protocol", "hostIP")
    zeros = {"hostPort": 0, "containerPort": 0}
    shown = [f"{name[0].upper()}{name[1:]}:{port.get(name) or zeros.get(name, '')}" for name in fields]
    return "{" + " ".join(shown) + "}"


def _other_warnings(spec: Field) -> None:
    if (spec.value.get("terminationGracePeriodSeconds") or 0) < 0:
        why = "must be >= 0; negative values are invalid and will be treated as 1"
        spec["terminationGracePeriodSeconds"].warn(why)
    for kind in spec["affinity"].members(POD_AFFINITIES) if spec.value.get("affinity") else ():
        for term in kind[REQUIRED]:
            _selector_warning(term)
        for preferred in kind[PREFERRED]:
            _selector_warning(preferred["podAffinityTerm"])
    servers = spec["dnsConfig"]["nameservers"] if spec.value.get("dnsConfig") else ()
    for ip in (*servers, *[alias["ip"] for alias in spec.each("hostAliases")]):
        ip.errors.extend(ip_warnings(ip.text, ip.path))
