"""The pod security standards that a namespace asks for (PodSecurity; `pod-security-admission`)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fakekube.core.call import Call
from fakekube.core.status import FieldError, field_invalid, forbidden, go_quote, invalid

Object = dict[str, Any]

PREFIX = "pod-security.kubernetes.io/"
LEVELS = ("privileged", "baseline", "restricted")
_VERSION = re.compile(r"latest|v1\.(0|[1-9][0-9]*)")

#: Collections whose objects hold a pod template: a namespace's standards warn of it.
TEMPLATES = (
    "replicationcontrollers", "podtemplates", "deployments.apps", "replicasets.apps", "statefulsets.apps",
    "daemonsets.apps", "jobs.batch", "cronjobs.batch",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Violation:
    """One rule of a standard that a pod breaks."""

    reason: str
    detail: str

    def __str__(self) -> str:
        return f"{self.reason} ({self.detail})" if self.detail else self.reason


# --- plugins ---------------------------------------------------------------------------------------------------------


def validate_pod(call: Call, obj: Object, old: Object | None) -> None:
    """Raises 403 for a pod that breaks what its namespace enforces; warns of what it only warns of."""
    labels = _labels(call)
    if not labels or (old is not None and not _significant(obj, old)):
        return
    level, version = asked(labels, "enforce")
    broken = violations(level, obj["metadata"], obj["spec"])
    if broken:
        why = f'violates PodSecurity "{level}:{version}": {_shown(broken)}'
        raise forbidden(call.resource.qualified, obj["metadata"].get("name") or "", why)
    if old is None:
        _warn(call, labels, obj["metadata"], obj["spec"])


def warn_of_template(call: Call, obj: Object, old: Object | None) -> None:
    """Warns of pods that a workload would make and the namespace would refuse."""
    labels = _labels(call)
    template = _template(obj) if labels else None
    if template is not None and (old is None or template != _template(old)):
        _warn(call, labels, template.get("metadata") or {}, template.get("spec") or {})


def validate_namespace(call: Call, obj: Object, old: Object | None) -> None:
    """The labels name standards and versions that exist. Raises 422."""
    labels = obj["metadata"].get("labels") or {}
    errors: list[FieldError] = []
    for mode in ("enforce", "audit", "warn"):
        level, version = labels.get(PREFIX + mode), labels.get(f"{PREFIX}{mode}-version")
        if level is not None and level not in LEVELS:
            where = f"metadata.labels[{PREFIX}{mode}]"
            errors.append(field_invalid(where, level, f"must be one of {', '.join(LEVELS)}"))
        if version is not None and not _VERSION.fullmatch(version):
            where = f"metadata.labels[{PREFIX}{mode}-version]"
            errors.append(field_invalid(where, version, 'must be "latest" or "v1.x"'))
    if errors:
        raise invalid("", "Namespace", obj["metadata"].get("name") or "", errors)


def _labels(call: Call) -> Mapping[str, str]:
    """The namespace's labels that ask for a standard."""
    entry = call.server.store.get("namespaces", call.namespace)
    labels = (entry.object["metadata"].get("labels") or {}) if entry is not None else {}
    return {key: value for key, value in labels.items() if key.startswith(PREFIX)}


def asked(labels: Mapping[str, str], mode: str) -> tuple[str, str]:
    """Level and version of a mode: enforce, audit or warn."""
    return labels.get(PREFIX + mode, "privileged"), labels.get(f"{PREFIX}{mode}-version", "latest")


def _warn(call: Call, labels: Mapping[str, str], meta: Object, spec: Object) -> None:
    level, version = asked(labels, "warn")
    enforced = asked(labels, "enforce")
    if PREFIX + "warn" not in labels:
        if call.resource.collection == "pods":
            return
        level, version = enforced
    broken = violations(level, meta, spec)
    if broken:
        call.warnings.append(f'would violate PodSecurity "{level}:{version}": {_shown(broken)}')


def _template(obj: Object) -> Object | None:
    if "template" in obj:
        return obj["template"] or {}
    spec = obj.get("spec") or {}
    found: Object | None = ((spec.get("jobTemplate") or {}).get("spec") or spec).get("template")
    return found


def _significant(new: Object, old: Object) -> bool:
    """Whether an update could change the verdict: only images and the like are mutable, and they do not."""
    return bool(new["spec"] != old["spec"] and _judged(new) != _judged(old))


def _judged(pod: Object) -> Any:
    spec = pod["spec"]
    containers = [{k: v for k, v in one.items() if k != "image"} for one in _containers(spec)]
    return containers, {k: v for k, v in spec.items() if k not in ("tolerations", "containers", "initContainers")}


def _shown(broken: Iterable[Violation]) -> str:
    return ", ".join(map(str, broken))


# --- the standards ---------------------------------------------------------------------------------------------------

Check = Callable[[Object, Object], Violation | None]


def violations(level: str, meta: Object, spec: Object) -> list[Violation]:
    """What of a standard a pod breaks."""
    return [found for check in STANDARDS.get(level, ()) if (found := check(meta, spec)) is not None]


def _containers(spec: Object) -> Iterator[Object]:
    for field in ("initContainers", "containers", "ephemeralContainers"):
        yield from spec.get(field) or ()


def _context(one: Object) -> Object:
    found: Object = one.get("securityContext") or {}
    return found


def _names(values: Iterable[str]) -> str:
    return ", ".join(map(go_quote, values))


def _counted(word: str, values: Iterable[str], plural: str = "") -> str:
    listed = list(values)
    return f"{word if len(listed) == 1 else plural or word + 's'} {_names(listed)}"


def _of_containers(spec: Object, is_bad: Callable[[Object], object]) -> list[str]:
    return [one.get("name") or "" for one in _containers(spec) if is_bad(one)]


def _setters(pod: bool, containers: list[str]) -> str:
    """`pod and containers "a", "b"`."""
    return " and ".join([*(["pod"] if pod else []), *([_counted("container", containers)] if containers else [])])


def _windows(spec: Object) -> bool:
    return bool((spec.get("os") or {}).get("name") == "windows")


def _own_users(spec: Object) -> bool:
    """A pod in a user namespace of its own: some rules do not matter there."""
    return spec.get("hostUsers") is False


def _bad_type(one: Object, field: str, allowed: Iterable[str]) -> str:
    """The type of a profile in a security context, where it is none of these."""
    profile = _context(one).get(field)
    found: str = (profile or {}).get("type") or ""
    return found if profile is not None and found not in allowed else ""


PROFILES = ("RuntimeDefault", "Localhost")
APPARMOR = "container.apparmor.security.beta.kubernetes.io/"


def _apparmor(meta: Object, spec: Object) -> Violation | None:
    pod = _bad_type(spec, "appArmorProfile", PROFILES)
    containers = {
        c.get("name") or "": bad for c in _containers(spec) if (bad := _bad_type(c, "appArmorProfile", PROFILES))
    }
    annotations = sorted(
        f"{key}={go_quote(value)}"
        for key, value in (meta.get("annotations") or {}).items()
        if key.startswith(APPARMOR) and value and value != "runtime/default" and not value.startswith("localhost/")
    )
    setters = _setters(bool(pod), list(containers))
    if annotations:
        setters = " and ".join(filter(None, [setters, "annotation" if len(annotations) == 1 else "annotations"]))
    if not setters:
        return None
    values = [*sorted({*containers.values(), *([pod] if pod else [])}), *annotations]
    reason = "forbidden AppArmor profile" + ("" if len(values) == 1 else "s")
    return Violation(reason, f"{setters} must not set AppArmor profile type to {_names(values)}")


DEFAULT_CAPABILITIES = frozenset(
    {
        "AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE", "SETFCAP",
        "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT",
    }
)  # fmt: skip


def _added(container: Object, allowed: frozenset[str]) -> list[str]:
    return [one for one in (_context(container).get("capabilities") or {}).get("add") or () if one not in allowed]


def _default_capabilities(meta: Object, spec: Object) -> Violation | None:
    bad = {c.get("name") or "": added for c in _containers(spec) if (added := _added(c, DEFAULT_CAPABILITIES))}
    if not bad:
        return None
    every = sorted({one for added in bad.values() for one in added})
    detail = f"{_counted('container', bad)} must not include {_names(every)} in securityContext.capabilities.add"
    return Violation("non-default capabilities", detail)


def _restricted_capabilities(meta: Object, spec: Object) -> Violation | None:
    if _windows(spec):
        return None
    allowed = frozenset({"NET_BIND_SERVICE"})
    undropped = _of_containers(spec, lambda c: "ALL" not in ((_context(c).get("capabilities") or {}).get("drop") or ()))
    adding = {c.get("name") or "": added for c in _containers(spec) if (added := _added(c, allowed))}
    details = []
    if undropped:
        details.append(f'{_counted("container", undropped)} must set securityContext.capabilities.drop=["ALL"]')
    if adding:
        every = sorted({one for added in adding.values() for one in added})
        details.append(
            f"{_counted('container', adding)} must not include {_names(every)} in securityContext.capabilities.add"
        )
    return Violation("unrestricted capabilities", "; ".join(details)) if details else None


def _host_namespaces(meta: Object, spec: Object) -> Violation | None:
    found = [f"{field}=true" for field in ("hostNetwork", "hostPID", "hostIPC") if spec.get(field)]
    return Violation("host namespaces", ", ".join(found)) if found else None


def _host_paths(meta: Object, spec: Object) -> Violation | None:
    found = [one.get("name") or "" for one in spec.get("volumes") or () if one.get("hostPath") is not None]
    return Violation("hostPath volumes", _counted("volume", found)) if found else None


def _host_ports(meta: Object, spec: Object) -> Violation | None:
    bad = {
        c.get("name") or "": ports
        for c in _containers(spec)
        if (ports := [str(port["hostPort"]) for port in c.get("ports") or () if port.get("hostPort")])
    }
    if not bad:
        return None
    every = sorted({port for ports in bad.values() for port in ports})
    use = "uses" if len(bad) == 1 else "use"
    word = "hostPort" if len(every) == 1 else "hostPorts"
    return Violation("hostPort", f"{_counted('container', bad)} {use} {word} {', '.join(every)}")


_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")


def _hosts(container: Object) -> set[str]:
    """The hosts that probes and hooks of a container name."""
    handlers = [container.get(probe) or {} for probe in _PROBES]
    handlers += [(container.get("lifecycle") or {}).get(hook) or {} for hook in ("postStart", "preStop")]
    return {
        action["host"]
        for handler in handlers
        for action in (handler.get("httpGet") or {}, handler.get("tcpSocket") or {})
        if action.get("host")
    }


def _probe_hosts(meta: Object, spec: Object) -> Violation | None:
    bad = {c.get("name") or "": hosts for c in _containers(spec) if (hosts := _hosts(c))}
    if not bad:
        return None
    every = sorted(set().union(*bad.values()))
    use = "uses" if len(bad) == 1 else "use"
    detail = f"{_counted('container', sorted(bad))} {use} {_counted('probe or lifecycle host', every)}"
    return Violation("probe or lifecycle host", detail)


def _privileged(meta: Object, spec: Object) -> Violation | None:
    bad = _of_containers(spec, lambda c: _context(c).get("privileged"))
    detail = f"{_counted('container', bad)} must not set securityContext.privileged=true"
    return Violation("privileged", detail) if bad else None


def _proc_mount(meta: Object, spec: Object) -> Violation | None:
    if _own_users(spec):
        return None
    bad = {
        c.get("name") or "": mount
        for c in _containers(spec)
        if (mount := _context(c).get("procMount")) not in (None, "Default")
    }
    if not bad:
        return None
    values = _names(sorted(set(bad.values())))
    return Violation("procMount", f"{_counted('container', bad)} must not set securityContext.procMount to {values}")


SELINUX_TYPES = frozenset({"", "container_t", "container_init_t", "container_kvm_t", "container_engine_t"})


def _selinux(meta: Object, spec: Object) -> Violation | None:
    def is_bad(options: Object) -> bool:
        return options.get("type", "") not in SELINUX_TYPES or bool(options.get("user") or options.get("role"))

    every = [_context(one).get("seLinuxOptions") or {} for one in (spec, *_containers(spec))]
    containers = _of_containers(spec, lambda c: is_bad(_context(c).get("seLinuxOptions") or {}))
    setters = _setters(is_bad(every[0]), containers)
    if not setters:
        return None
    types = sorted({one.get("type", "") for one in every} - SELINUX_TYPES)
    data = [_counted("type", types)] if types else []
    data += ["user may not be set"] if any(one.get("user") for one in every) else []
    data += ["role may not be set"] if any(one.get("role") for one in every) else []
    return Violation("seLinuxOptions", f"{setters} set forbidden securityContext.seLinuxOptions: {'; '.join(data)}")


def _explicit_seccomp(spec: Object) -> Violation | None:
    pod = _bad_type(spec, "seccompProfile", PROFILES)
    bad = {c.get("name") or "": kind for c in _containers(spec) if (kind := _bad_type(c, "seccompProfile", PROFILES))}
    setters = _setters(bool(pod), list(bad))
    if not setters:
        return None
    values = _names(sorted({*bad.values(), *([pod] if pod else [])}))
    return Violation("seccompProfile", f"{setters} must not set securityContext.seccompProfile.type to {values}")


def _baseline_seccomp(meta: Object, spec: Object) -> Violation | None:
    return _explicit_seccomp(spec)


def _restricted_seccomp(meta: Object, spec: Object) -> Violation | None:
    if _windows(spec):
        return None
    explicit = _explicit_seccomp(spec)
    if explicit is not None or _context(spec).get("seccompProfile") is not None:
        return explicit
    bad = _of_containers(spec, lambda c: _context(c).get("seccompProfile") is None)
    what = 'must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"'
    return Violation("seccompProfile", f"pod or {_counted('container', bad)} {what}") if bad else None


SYSCTLS = frozenset(
    {
        "kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.tcp_syncookies",
        "net.ipv4.ping_group_range", "net.ipv4.ip_unprivileged_port_start",
        "net.ipv4.ip_local_reserved_ports", "net.ipv4.tcp_keepalive_time",
        "net.ipv4.tcp_fin_timeout", "net.ipv4.tcp_keepalive_intvl", "net.ipv4.tcp_keepalive_probes",
        "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem",
    }
)  # fmt: skip


def _sysctls(meta: Object, spec: Object) -> Violation | None:
    found = [one.get("name") or "" for one in _context(spec).get("sysctls") or () if one.get("name") not in SYSCTLS]
    return Violation("forbidden sysctls", ", ".join(found)) if found else None


def _host_process(meta: Object, spec: Object) -> Violation | None:
    def is_bad(one: Object) -> bool:
        return bool((_context(one).get("windowsOptions") or {}).get("hostProcess"))

    setters = _setters(is_bad(spec), _of_containers(spec, is_bad))
    what = "must not set securityContext.windowsOptions.hostProcess=true"
    return Violation("hostProcess", f"{setters} {what}") if setters else None


def _escalation(meta: Object, spec: Object) -> Violation | None:
    if _windows(spec):
        return None
    bad = _of_containers(spec, lambda c: _context(c).get("allowPrivilegeEscalation") is not False)
    what = "must set securityContext.allowPrivilegeEscalation=false"
    return Violation("allowPrivilegeEscalation != false", f"{_counted('container', bad)} {what}") if bad else None


VOLUMES = (
    "configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "image", "persistentVolumeClaim", "projected", "secret",
)  # fmt: skip

OTHER_VOLUMES = (
    "hostPath", "gcePersistentDisk", "awsElasticBlockStore", "gitRepo", "nfs", "iscsi", "glusterfs", "rbd",
    "flexVolume", "cinder", "cephfs", "flocker", "fc", "azureFile", "vsphereVolume", "quobyte", "azureDisk",
    "photonPersistentDisk", "portworxVolume", "scaleIO", "storageos",
)  # fmt: skip


def _volumes(meta: Object, spec: Object) -> Violation | None:
    bad = [one for one in spec.get("volumes") or () if not any(one.get(kind) is not None for kind in VOLUMES)]
    if not bad:
        return None
    types = {next((kind for kind in OTHER_VOLUMES if one.get(kind) is not None), "unknown") for one in bad}
    use = "uses" if len(bad) == 1 else "use"
    named = _counted("volume", [one.get("name") or "" for one in bad])
    return Violation("restricted volume types", f"{named} {use} {_counted('restricted volume type', sorted(types))}")


def _non_root(meta: Object, spec: Object) -> Violation | None:
    if _own_users(spec):
        return None
    of_pod = _context(spec).get("runAsNonRoot")
    explicit = _of_containers(spec, lambda c: _context(c).get("runAsNonRoot") is False)
    setters = _setters(of_pod is False, explicit)
    if setters:
        return Violation("runAsNonRoot != true", f"{setters} must not set securityContext.runAsNonRoot=false")
    bad = [] if of_pod else _of_containers(spec, lambda c: _context(c).get("runAsNonRoot") is None)
    what = "must set securityContext.runAsNonRoot=true"
    return Violation("runAsNonRoot != true", f"pod or {_counted('container', bad)} {what}") if bad else None


def _root_user(meta: Object, spec: Object) -> Violation | None:
    if _own_users(spec):
        return None
    bad = _of_containers(spec, lambda c: _context(c).get("runAsUser") == 0)
    setters = _setters(_context(spec).get("runAsUser") == 0, bad)
    return Violation("runAsUser=0", f"{setters} must not set runAsUser=0") if setters else None


_SHARED: tuple[Check, ...] = (
    _apparmor, _host_namespaces, _host_paths, _host_ports, _probe_hosts, _privileged, _proc_mount, _selinux, _sysctls,
    _host_process,
)  # fmt: skip

#: Level -> its rules, in the order in which they are told.
STANDARDS: Mapping[str, tuple[Check, ...]] = {
    "baseline": (
        _apparmor, _default_capabilities, _host_namespaces, _host_paths, _host_ports, _probe_hosts, _privileged,
        _proc_mount, _selinux, _baseline_seccomp, _sysctls, _host_process,
    ),
    "restricted": (
        *_SHARED, _escalation, _restricted_capabilities, _volumes, _non_root, _root_user, _restricted_seccomp,
    ),
}  # fmt: skip
