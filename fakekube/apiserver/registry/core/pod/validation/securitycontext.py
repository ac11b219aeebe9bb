"""Validates the security contexts of a pod and its containers, and what the pod may share with its host."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from fakekube.apiserver.registry.core.pod.validation.podoptions import CONTAINERS, Pod, PodOptions, all_containers
from fakekube.apiserver.registry.core.pod.validation.sysctls import validate_sysctls
from fakekube.apiserver.registry.generic.validation import content
from fakekube.apiserver.registry.generic.validation.content import MAX_INT32
from fakekube.apiserver.registry.generic.validation.field import Field

PROFILE_TYPES = ("Localhost", "RuntimeDefault", "Unconfined")
LOCAL = "localhost/"


def validate_pod_security_context(spec: Field, options: PodOptions) -> None:
    """`validatePodSpecSecurityContext`."""
    shared = spec.value.get("shareProcessNamespace")
    if not spec.value.get("securityContext") and not shared:
        return
    context = spec["securityContext"]
    _validate_ids(context, "fsGroup", "runAsUser", "runAsGroup")
    for group in context.each("supplementalGroups"):
        group.between(0, MAX_INT32)
    if shared and spec["hostPID"]:
        context["shareProcessNamespace"].invalid("ShareProcessNamespace and HostPID cannot both be enabled", True)
    if context["sysctls"]:
        validate_sysctls(context["sysctls"], spec, shared=options.any_sysctls)
    context.choice("fsGroupChangePolicy", ("Always", "OnRootMismatch"))
    context.check_members(_SECCOMP)
    context.check_members(_WINDOWS_AND_APPARMOR)
    context.choice("supplementalGroupsPolicy", ("Merge", "Strict"))
    context.choice("seLinuxChangePolicy", ("Recursive",))  # MountOption needs the feature gate SELinuxMount


def _validate_ids(context: Field, *names: str) -> None:
    """IDs of users and groups."""
    for id in context.members(names):
        id.between(0, MAX_INT32)


def validate_host_users(spec: Field, options: PodOptions) -> None:
    """A pod with its own user namespace shares neither other namespaces nor devices with its host."""
    why = "when `hostUsers` is false"
    if spec["hostNetwork"] and not options.host_network_without_host_users:
        spec["hostNetwork"].forbidden(why)
    for name in ("hostPID", "hostIPC"):
        spec.at(f"H{name[1:]}", spec[name].value).optional().forbidden(why)
    if not options.devices_without_host_users:
        for container in all_containers(spec):
            container["volumeDevices"].optional().forbidden(why)


def validate_security_context(context: Field, pod: Pod) -> None:
    """`ValidateSecurityContext`; the server is configured to allow privileged containers."""
    _validate_ids(context, "runAsUser", "runAsGroup")
    context.choice("procMount", ("Default", "Unmasked"))
    if context.value.get("procMount") == "Unmasked" and pod.spec["hostUsers"].value is not False:
        context["procMount"].invalid("`hostUsers` must be false to use `Unmasked`")
    context.check_members(_SECCOMP)
    if context.value.get("allowPrivilegeEscalation") is False:
        _validate_no_escalation(context)
    context.check_members(_WINDOWS_AND_APPARMOR)


def _validate_no_escalation(context: Field) -> None:
    why = "cannot set `allowPrivilegeEscalation` to false and "
    if context.value.get("privileged"):
        context.invalid_struct("SecurityContext", why + "`privileged` to true")
    for capability in context.find("capabilities.add").value or ():
        if capability == "CAP_SYS_ADMIN":
            context.invalid_struct("SecurityContext", why + "`capabilities.Add` CAP_SYS_ADMIN")


def _validate_seccomp(profile: Field) -> None:
    kind, local = profile["type"], profile["localhostProfile"]
    kind.required("type is required when seccompProfile is set").one_of(PROFILE_TYPES)
    if kind.value == "Localhost":
        local.specified("must be set when seccomp type is Localhost").check(content.descending_path_problems)
    elif local.value is not None:
        shown = local.with_value(profile.value)
        shown.invalid_struct("SeccompProfile", "can only be set when seccomp type is Localhost")


def validate_apparmor(profile: Field) -> None:
    kind, local = profile["type"], profile["localhostProfile"]
    if kind.value == "Localhost":
        if local.required("must be set when AppArmor type is Localhost"):
            if local.value != local.value.strip():
                local.invalid("must not be padded with whitespace")
            local.max_bytes(4095)
    elif kind.value not in PROFILE_TYPES:
        kind.required("type is required when appArmorProfile is set").one_of(PROFILE_TYPES)
    elif local.value is not None:
        local.invalid("can only be set when AppArmor type is Localhost")


SECCOMP_POD = "seccomp.security.alpha.kubernetes.io/pod"
SECCOMP_CONTAINER = "container.seccomp.security.alpha.kubernetes.io/"
APPARMOR = "container.apparmor.security.beta.kubernetes.io/"


def validate_profile_annotations(annotations: Field, spec: Field) -> None:
    for key, value in annotations.value.items():
        if key == SECCOMP_POD or key.startswith(SECCOMP_CONTAINER):
            _validate_seccomp_annotation(annotations.at(key, value))
    if not any(key.startswith(APPARMOR) for key in annotations.value):
        return
    names = {container["name"].text for container in all_containers(spec)}
    for annotation in annotations.entries():
        if annotation.key.startswith(APPARMOR):
            name, value = annotation.key.removeprefix(APPARMOR), annotation.value
            if name not in names:
                annotation.invalid("container not found", name)
            if value not in ("", "runtime/default", "unconfined") and not value.startswith(LOCAL):
                annotation.invalid(f'invalid AppArmor profile name: "{value}"')


def _validate_seccomp_annotation(annotation: Field) -> None:
    if annotation.value.startswith(LOCAL):
        local = annotation.with_value(annotation.value.removeprefix(LOCAL))
        local.check(content.descending_path_problems)
    elif annotation.value not in ("runtime/default", "docker/default", "unconfined"):
        annotation.invalid("must be a valid seccomp profile")


#: Profile type -> the annotations with the same meaning.
SECCOMP_SAME: dict[str, tuple[str, ...]] = {
    "Unconfined": ("unconfined",),
    "RuntimeDefault": ("runtime/default", "docker/default"),
}
APPARMOR_SAME = {"Unconfined": ("unconfined",), "RuntimeDefault": ("runtime/default",)}


def validate_profiles_agree(annotations: Mapping[str, str], spec: Field) -> None:
    """An annotation and a field that both name a profile name the same one."""
    if not annotations:
        return
    pod, containers = spec["securityContext"], all_containers(spec)
    _compare("seccomp", annotations.get(SECCOMP_POD), pod["seccompProfile"], SECCOMP_SAME)
    for container in containers:
        annotation = annotations.get(SECCOMP_CONTAINER + container["name"].text)
        _compare("seccomp", annotation, container["securityContext"]["seccompProfile"], SECCOMP_SAME)
    if spec.find("os.name").value == "windows":
        return
    shared = pod["appArmorProfile"].value
    for container in containers:
        annotation = annotations.get(APPARMOR + container["name"].text)
        own = container["securityContext"]["appArmorProfile"]
        _compare("apparmor", annotation, own.with_value(shared) if own.value is None else own, APPARMOR_SAME)


def _compare(kind: str, annotation: str | None, profile: Field, same: Mapping[str, tuple[str, ...]]) -> None:
    if annotation is None or profile.value is None:
        return
    type = profile["type"]
    is_local = type.value == "Localhost"
    if (type.value in same and annotation not in same[type.value]) or (is_local and not annotation.startswith(LOCAL)):
        type.forbidden(f"{kind} type in annotation and field must match")
    elif is_local and profile["localhostProfile"].value != annotation.removeprefix(LOCAL):
        profile["localhostProfile"].forbidden(f"{kind} profile in annotation and field must match")


HOST_PROCESS = "securityContext.windowsOptions.hostProcess"

_netbios = re.compile(r'[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}')
_DNS = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_domain = re.compile(rf"{_DNS}(?:\.{_DNS})*")


def validate_windows_options(options: Field) -> None:
    options.get("gmsaCredentialSpecName").dns_subdomain()
    spec = options["gmsaCredentialSpec"]
    if spec.value == "":
        spec.invalid("gmsaCredentialSpec cannot be an empty string")
    elif len(spec.text.encode()) > 64 * 1024:
        spec.invalid("gmsaCredentialSpec size must be under 64 KiB")
    options.get("runAsUserName").check(_user_name_problems)


def _user_name_problems(name: str) -> list[str]:
    domain, backslash, user = name.rpartition("\\")
    alone = {
        " cannot be an empty string": not name,
        " cannot contain control characters": re.search(r"[\x00-\x1f\x7f]", name),
        " cannot contain more than one backslash": "\\" in domain,
    }
    together = {
        "'s Domain length must be under 256 characters": len(domain) >= 256,
        "'s Domain doesn't match the NetBios nor the DNS format": (
            backslash and not _netbios.fullmatch(domain) and not _domain.fullmatch(domain)
        ),
        "'s User cannot be empty": not user,
        "'s User length must not be longer than 104 characters": len(user) > 104,
        "'s User cannot contain only periods or spaces": re.fullmatch("[. ]+", user),
        "'s User cannot contain the following characters: \"/\\:;|=,+*?<>@[]": re.search(
            r'["/\\:;|=,+*?<>@\[\]]', user
        ),
    }
    found = [problem for problem, failed in alone.items() if failed][:1]
    return [f"runAsUserName{one}" for one in found or [problem for problem, failed in together.items() if failed]]


_SECCOMP = {"seccompProfile": _validate_seccomp}
_WINDOWS_AND_APPARMOR = {"windowsOptions": validate_windows_options, "appArmorProfile": validate_apparmor}


def validate_host_process(spec: Field) -> None:
    """Either all containers are host process containers, on the host's network, or none is
    (`validateWindowsHostProcessPod`)."""
    holders = [spec.value, *[one for kind in CONTAINERS for one in spec.value.get(kind) or ()]]
    if not any("windowsOptions" in (one.get("securityContext") or ()) for one in holders):
        return
    shared, containers, hosted = spec.find(HOST_PROCESS).value, all_containers(spec), 0
    for container in containers:
        own = container.find(HOST_PROCESS)
        if shared is not None and own.value is not None and shared != own.value:
            why = "pod hostProcess value must be identical if both are specified, was"
            own.invalid(f"{why} {str(shared).lower()}")
        hosted += bool(own.value if own.value is not None else shared)
    if hosted and hosted != len(containers):
        why = "If pod contains any hostProcess containers then all containers must be HostProcess containers"
        spec.invalid(why, "")
    if hosted and not spec["hostNetwork"]:
        spec["hostNetwork"].invalid("hostNetwork must be true if pod contains any hostProcess containers", False)


_POD_ONLY_LINUX = (
    "securityContext.appArmorProfile", "securityContext.seLinuxOptions", "hostUsers", "hostPID", "hostIPC",
    "securityContext.seccompProfile", "securityContext.fsGroup", "securityContext.fsGroupChangePolicy",
    "securityContext.sysctls", "shareProcessNamespace", "securityContext.runAsUser", "securityContext.runAsGroup",
    "securityContext.supplementalGroups", "securityContext.supplementalGroupsPolicy",
    "securityContext.seLinuxChangePolicy",
)  # fmt: skip
_CONTAINER_ONLY_LINUX = (
    "appArmorProfile", "seLinuxOptions", "seccompProfile", "capabilities", "readOnlyRootFilesystem", "privileged",
    "allowPrivilegeEscalation", "procMount", "runAsUser", "runAsGroup",
)  # fmt: skip


def validate_operating_system(spec: Field) -> None:
    name, containers = spec["os"]["name"], all_containers(spec)
    match name.value or "":
        case "":
            name.missing("cannot be empty")
        case "linux":
            for holder in (spec, *containers):
                for options in holder["securityContext"].members(("windowsOptions",)):
                    options.forbidden("windows options cannot be set for a linux pod")
        case "windows":
            _validate_windows(spec, containers)
        case other:
            spec["os"].with_value(other).not_supported(("linux", "windows"))


def _validate_windows(spec: Field, containers: Sequence[Field]) -> None:
    why = "cannot be set for a windows pod"
    for path in _POD_ONLY_LINUX:
        field = spec.find(path)
        if field.value is not None and (field.value or path not in ("hostPID", "hostIPC")):
            field.forbidden(why)
    for container in containers:
        for member in container["securityContext"].members(_CONTAINER_ONLY_LINUX):
            member.forbidden(why)
