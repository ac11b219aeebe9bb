"""The pod security standards (`pod-security-admission/policy`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from fakekube.apiserver.wire.goprint import go_quote
from fakekube.struct import Struct

Object = dict[str, Any]


class Violation(Struct, frozen=True):
    """A rule of a standard that a pod violates."""

    reason: str
    detail: str

    def __str__(self) -> str:
        return f"{self.reason} ({self.detail})" if self.detail else self.reason


Check = Callable[[Object, Object], Violation | None]
"""Checks the metadata and the spec of a pod against a rule."""


def _containers(spec: Object) -> Iterator[Object]:
    for field in ("initContainers", "containers", "ephemeralContainers"):
        yield from spec.get(field) or ()


def _context(one: Object) -> Object:
    found: Object = one.get("securityContext") or {}
    return found


def _names(values: Iterable[str]) -> str:
    return ", ".join(f'"{value}"' for value in values)


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
    """Whether the pod has its own user namespace, which exempts it from some rules."""
    return spec.get("hostUsers") is False


def _bad_type(one: Object, field: str, allowed: Iterable[str]) -> str:
    """The type of a profile in a security context if it is not allowed, else an empty string."""
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
    bad = {
        c.get("name") or "": mount
        for c in _containers(spec)
        if (mount := _context(c).get("procMount")) not in (None, "Default")
    }
    if not bad:
        return None
    values = _names(sorted(set(bad.values())))
    return Violation("procMount", f"{_counted('container', bad)} must not set securityContext.procMount to {values}")


SELINUX_TYPES = frozenset({"", "container_t", "container_init_t", "container_kvm_t"})


def _selinux(meta: Object, spec: Object, types: frozenset[str] = SELINUX_TYPES) -> Violation | None:
    def is_bad(options: Object) -> bool:
        return options.get("type", "") not in types or bool(options.get("user") or options.get("role"))

    every = [_context(one).get("seLinuxOptions") or {} for one in (spec, *_containers(spec))]
    containers = _of_containers(spec, lambda c: is_bad(_context(c).get("seLinuxOptions") or {}))
    setters = _setters(is_bad(every[0]), containers)
    if not setters:
        return None
    bad_types = sorted({one.get("type", "") for one in every} - types)
    data = [_counted("type", bad_types)] if bad_types else []
    data += ["user may not be set"] if any(one.get("user") for one in every) else []
    data += ["role may not be set"] if any(one.get("role") for one in every) else []
    return Violation("seLinuxOptions", f"{setters} set forbidden securityContext.seLinuxOptions: {'; '.join(data)}")


def _engine_selinux(meta: Object, spec: Object) -> Violation | None:
    return _selinux(meta, spec, SELINUX_TYPES | {"container_engine_t"})


SECCOMP_POD = "seccomp.security.alpha.kubernetes.io/pod"
SECCOMP_CONTAINER = "container.seccomp.security.alpha.kubernetes.io/"


def _annotated_seccomp(meta: Object, spec: Object) -> Violation | None:
    """Profiles in annotations, which preceded the fields."""
    annotations = meta.get("annotations") or {}
    keys = [SECCOMP_POD, *(f"{SECCOMP_CONTAINER}{one.get('name') or ''}" for one in _containers(spec))]
    bad = sorted(
        f"{key}={go_quote(annotations[key])}"
        for key in dict.fromkeys(keys)
        if key in annotations and not _good_seccomp_annotation(annotations[key])
    )
    word = "annotation" if len(bad) == 1 else "annotations"
    return Violation("seccompProfile", f"forbidden {word} {', '.join(bad)}") if bad else None


def _good_seccomp_annotation(value: str) -> bool:
    return value in ("runtime/default", "docker/default") or value.startswith("localhost/")


def _baseline_seccomp(meta: Object, spec: Object) -> Violation | None:
    pod = _bad_type(spec, "seccompProfile", PROFILES)
    bad = {c.get("name") or "": kind for c in _containers(spec) if (kind := _bad_type(c, "seccompProfile", PROFILES))}
    setters = _setters(bool(pod), list(bad))
    if not setters:
        return None
    values = _names(sorted({*bad.values(), *([pod] if pod else [])}))
    return Violation("seccompProfile", f"{setters} must not set securityContext.seccompProfile.type to {values}")


def _restricted_seccomp(meta: Object, spec: Object) -> Violation | None:
    explicit = _baseline_seccomp(meta, spec)
    if explicit is not None or _context(spec).get("seccompProfile") is not None:
        return explicit
    bad = _of_containers(spec, lambda c: _context(c).get("seccompProfile") is None)
    what = 'must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"'
    return Violation("seccompProfile", f"pod or {_counted('container', bad)} {what}") if bad else None


#: Minor version -> the sysctls that are safe since then.
SYSCTLS: Mapping[int, tuple[str, ...]] = {
    0: (
        "kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.tcp_syncookies",
        "net.ipv4.ping_group_range", "net.ipv4.ip_unprivileged_port_start",
    ),
    27: ("net.ipv4.ip_local_reserved_ports",),
    29: (
        "net.ipv4.tcp_keepalive_time", "net.ipv4.tcp_fin_timeout", "net.ipv4.tcp_keepalive_intvl",
        "net.ipv4.tcp_keepalive_probes",
    ),
    32: ("net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"),
    37: ("net.ipv4.tcp_slow_start_after_idle", "net.ipv4.tcp_notsent_lowat"),
}  # fmt: skip


def _sysctls(since: int) -> Check:
    safe = frozenset(name for minor, names in SYSCTLS.items() if minor <= since for name in names)

    def check(meta: Object, spec: Object) -> Violation | None:
        found = [one.get("name") or "" for one in _context(spec).get("sysctls") or () if one.get("name") not in safe]
        return Violation("forbidden sysctls", ", ".join(found)) if found else None

    return check


def _host_process(meta: Object, spec: Object) -> Violation | None:
    def is_bad(one: Object) -> bool:
        return bool((_context(one).get("windowsOptions") or {}).get("hostProcess"))

    setters = _setters(is_bad(spec), _of_containers(spec, is_bad))
    what = "must not set securityContext.windowsOptions.hostProcess=true"
    return Violation("hostProcess", f"{setters} {what}") if setters else None


def _escalation(meta: Object, spec: Object) -> Violation | None:
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
    of_pod = _context(spec).get("runAsNonRoot")
    explicit = _of_containers(spec, lambda c: _context(c).get("runAsNonRoot") is False)
    setters = _setters(of_pod is False, explicit)
    if setters:
        return Violation("runAsNonRoot != true", f"{setters} must not set securityContext.runAsNonRoot=false")
    bad = [] if of_pod else _of_containers(spec, lambda c: _context(c).get("runAsNonRoot") is None)
    what = "must set securityContext.runAsNonRoot=true"
    return Violation("runAsNonRoot != true", f"pod or {_counted('container', bad)} {what}") if bad else None


def _root_user(meta: Object, spec: Object) -> Violation | None:
    bad = _of_containers(spec, lambda c: _context(c).get("runAsUser") == 0)
    setters = _setters(_context(spec).get("runAsUser") == 0, bad)
    return Violation("runAsUser=0", f"{setters} must not set runAsUser=0") if setters else None


# --- standards -----------------------------------------------------------------------------------------------------


def _but_windows(check: Check) -> Check:
    """Exempts pods for Windows, which do not have the fields."""
    return lambda meta, spec: None if _windows(spec) else check(meta, spec)


def _but_own_users(check: Check) -> Check:
    return lambda meta, spec: None if _own_users(spec) else check(meta, spec)


class Rule(Struct, frozen=True):
    """A rule of a standard: its checks by the minor version that introduced them, and the rule of the weaker standard
    that it replaces."""

    versions: Mapping[int, Check]
    instead: str = ""

    def at(self, minor: int) -> Check | None:
        known = [since for since in self.versions if since <= minor]
        return self.versions[max(known)] if known else None


#: The rules by name; violations are reported in the order of the names.
BASELINE: Mapping[str, Rule] = {
    "appArmorProfile": Rule({0: _apparmor}),
    "capabilities_baseline": Rule({0: _default_capabilities}),
    "hostNamespaces": Rule({0: _host_namespaces}),
    "hostPathVolumes": Rule({0: _host_paths}),
    "hostPorts": Rule({0: _host_ports}),
    "hostProbesAndHostLifecycle": Rule({34: _probe_hosts}),
    "privileged": Rule({0: _privileged}),
    "procMount": Rule({0: _proc_mount, 35: _but_own_users(_proc_mount)}),
    "seLinuxOptions": Rule({0: _selinux, 31: _engine_selinux}),
    "seccompProfile_baseline": Rule({0: _annotated_seccomp, 19: _baseline_seccomp}),
    "sysctls": Rule({since: _sysctls(since) for since in SYSCTLS}),
    "windowsHostProcess": Rule({0: _host_process}),
}
RESTRICTED: Mapping[str, Rule] = {
    "allowPrivilegeEscalation": Rule({8: _escalation, 25: _but_windows(_escalation)}),
    "capabilities_restricted": Rule(
        {22: _restricted_capabilities, 25: _but_windows(_restricted_capabilities)}, instead="capabilities_baseline"
    ),
    "procMount_restricted": Rule({35: _proc_mount}, instead="procMount"),
    "restrictedVolumes": Rule({0: _volumes}, instead="hostPathVolumes"),
    "runAsNonRoot": Rule({0: _non_root, 35: _but_own_users(_non_root)}),
    "runAsUser": Rule({23: _root_user, 35: _but_own_users(_root_user)}),
    "seccompProfile_restricted": Rule(
        {19: _restricted_seccomp, 25: _but_windows(_restricted_seccomp)}, instead="seccompProfile_baseline"
    ),
}


@lru_cache(maxsize=256)
def checks(level: str, minor: int) -> tuple[Check, ...]:
    """The rules of a level in a minor version of Kubernetes."""
    if level == "privileged":
        return ()
    rules = dict(BASELINE)
    if level == "restricted":
        stricter = {name: rule for name, rule in RESTRICTED.items() if rule.at(minor) is not None}
        replaced = {rule.instead for rule in stricter.values()}
        rules = {**{name: rule for name, rule in rules.items() if name not in replaced}, **stricter}
    return tuple(check for rule in rules.values() if (check := rule.at(minor)) is not None)


def violations(level: str, minor: int, meta: Object, spec: Object) -> list[Violation]:
    """The rules of a standard, in a minor version of Kubernetes, that a pod violates."""
    return [found for check in checks(level, minor) if (found := check(meta, spec)) is not None]
