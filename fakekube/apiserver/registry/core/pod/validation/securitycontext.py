"""As whom a pod and its containers run, and what they may do."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from fakekube.apiserver.registry.core.pod.validation.podoptions import PodOptions, containers
from fakekube.apiserver.registry.core.pod.validation.sysctls import check_sysctls
from fakekube.apiserver.registry.generic.validation import content
from fakekube.apiserver.registry.generic.validation.content import Errors
from fakekube.apiserver.registry.generic.validation.gostructs import invalid_struct
from fakekube.apiserver.wire.status import field_forbidden, field_invalid, field_required, field_too_long

Object = dict[str, Any]

PROFILE_TYPES = ("Localhost", "RuntimeDefault", "Unconfined")

_GMSA_KIB = 64
_WINDOWS = "windows options cannot be set for a linux pod"
_NOT_WINDOWS = "cannot be set for a windows pod"


# --- of a pod ------------------------------------------------------------------------------------------------------


def check_pod_context(spec: Object, path: str, errors: Errors, options: PodOptions) -> None:
    """`validatePodSpecSecurityContext`."""
    context: Object = spec.get("securityContext") or {}
    if not context and not spec.get("shareProcessNamespace"):
        return
    for field in ("fsGroup", "runAsUser", "runAsGroup"):
        content.check_id(context.get(field), f"{path}.{field}", errors)
    for i, group in enumerate(context.get("supplementalGroups") or ()):
        content.check_id(group, f"{path}.supplementalGroups[{i}]", errors)
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        why = "ShareProcessNamespace and HostPID cannot both be enabled"
        errors.append(field_invalid(f"{path}.shareProcessNamespace", True, why))
    if context.get("sysctls"):
        check_sysctls(spec, f"{path}.sysctls", errors, shared=options.any_sysctls)
    if context.get("fsGroupChangePolicy") is not None:
        choices = ("Always", "OnRootMismatch")
        content.check_supported(context["fsGroupChangePolicy"], choices, f"{path}.fsGroupChangePolicy", errors)
    _check_profiles(context, path, errors)
    if context.get("supplementalGroupsPolicy") is not None:
        field = f"{path}.supplementalGroupsPolicy"
        content.check_supported(context["supplementalGroupsPolicy"], ("Merge", "Strict"), field, errors)
    if context.get("seLinuxChangePolicy") is not None:
        field = f"{path}.seLinuxChangePolicy"
        content.check_supported(context["seLinuxChangePolicy"], ("MountOption", "Recursive"), field, errors)


def check_host_users(spec: Object, path: str, errors: Errors, options: PodOptions) -> None:
    """A pod with users of its own shares little else with its host."""
    if spec.get("hostUsers") is not False:
        return
    why = "when `hostUsers` is false"
    if spec.get("hostNetwork") and not options.host_network_without_host_users:
        errors.append(field_forbidden(f"{path}.hostNetwork", why))
    for field in ("hostPID", "hostIPC"):
        if spec.get(field):
            errors.append(field_forbidden(f"{path}.H{field[1:]}", why))
    if not options.devices_without_host_users:
        for place, container in containers(spec):
            if container.get("volumeDevices"):
                errors.append(field_forbidden(f"{path}.{place}.volumeDevices", why))


# --- of a container ------------------------------------------------------------------------------------------------


def check_context(context: Object | None, path: str, errors: Errors, *, host_users: bool) -> None:
    """`ValidateSecurityContext`; privileged containers are allowed here."""
    if not context:
        return
    for field in ("runAsUser", "runAsGroup"):
        content.check_id(context.get(field), f"{path}.{field}", errors)
    mount = context.get("procMount")
    if mount is not None:
        content.check_supported(mount, ("Default", "Unmasked"), f"{path}.procMount", errors)
        if host_users and mount == "Unmasked":
            why = "`hostUsers` must be false to use `Unmasked`"
            errors.append(field_invalid(f"{path}.procMount", mount, why))
    _check_seccomp(context.get("seccompProfile"), f"{path}.seccompProfile", errors)
    if context.get("allowPrivilegeEscalation") is False:
        _check_no_escalation(context, path, errors)
    check_windows_options(context.get("windowsOptions"), f"{path}.windowsOptions", errors)
    check_apparmor(context.get("appArmorProfile"), f"{path}.appArmorProfile", errors)


def _check_no_escalation(context: Object, path: str, errors: Errors) -> None:
    why = "cannot set `allowPrivilegeEscalation` to false and "
    if context.get("privileged"):
        errors.append(invalid_struct(path, "SecurityContext", context, why + "`privileged` to true"))
    for capability in (context.get("capabilities") or {}).get("add") or ():
        if capability == "CAP_SYS_ADMIN":
            what = "`capabilities.Add` CAP_SYS_ADMIN"
            errors.append(invalid_struct(path, "SecurityContext", context, why + what))


# --- profiles ------------------------------------------------------------------------------------------------------


def _check_profiles(context: Object, path: str, errors: Errors) -> None:
    _check_seccomp(context.get("seccompProfile"), f"{path}.seccompProfile", errors)
    check_windows_options(context.get("windowsOptions"), f"{path}.windowsOptions", errors)
    check_apparmor(context.get("appArmorProfile"), f"{path}.appArmorProfile", errors)


def _check_seccomp(profile: Object | None, path: str, errors: Errors) -> None:
    if profile is None:
        return
    kind, local = profile.get("type") or "", profile.get("localhostProfile")
    if not kind:
        errors.append(field_required(f"{path}.type", "type is required when seccompProfile is set"))
    else:
        content.check_supported(kind, PROFILE_TYPES, f"{path}.type", errors)
    if kind == "Localhost":
        if local is None:
            why = "must be set when seccomp type is Localhost"
            errors.append(field_required(f"{path}.localhostProfile", why))
        else:
            content.check_descending_path(local, f"{path}.localhostProfile", errors)
    elif local is not None:
        why = "can only be set when seccomp type is Localhost"
        errors.append(invalid_struct(f"{path}.localhostProfile", "SeccompProfile", profile, why))


def check_apparmor(profile: Object | None, path: str, errors: Errors) -> None:
    if profile is None:
        return
    kind, local = profile.get("type") or "", profile.get("localhostProfile")
    here = f"{path}.localhostProfile"
    if kind == "Localhost":
        _check_local_apparmor(local, here, errors)
    elif not kind:
        errors.append(field_required(f"{path}.type", "type is required when appArmorProfile is set"))
    elif kind not in PROFILE_TYPES:
        content.check_supported(kind, PROFILE_TYPES, f"{path}.type", errors)
    elif local is not None:
        errors.append(field_invalid(here, local, "can only be set when AppArmor type is Localhost"))


def _check_local_apparmor(local: str | None, path: str, errors: Errors) -> None:
    if not local:
        errors.append(field_required(path, "must be set when AppArmor type is Localhost"))
        return
    if local != local.strip():
        errors.append(field_invalid(path, local, "must not be padded with whitespace"))
    if len(local.encode()) > 4095:
        errors.append(field_too_long(path, 4095))


# --- annotations that came before the fields -----------------------------------------------------------------------

SECCOMP_POD = "seccomp.security.alpha.kubernetes.io/pod"
SECCOMP_CONTAINER = "container.seccomp.security.alpha.kubernetes.io/"
APPARMOR = "container.apparmor.security.beta.kubernetes.io/"


def check_profile_annotations(annotations: Object, spec: Object, path: str, errors: Errors) -> None:
    for key, value in annotations.items():
        if key == SECCOMP_POD or key.startswith(SECCOMP_CONTAINER):
            _check_seccomp_annotation(value, f"{path}.{key}", errors)
    names = {container.get("name") or "" for _, container in containers(spec)}
    for key, value in annotations.items():
        if key.startswith(APPARMOR):
            name = key.removeprefix(APPARMOR)
            if name not in names:
                errors.append(field_invalid(f"{path}[{key}]", name, "container not found"))
            if value not in ("", "runtime/default", "unconfined") and not value.startswith("localhost/"):
                errors.append(field_invalid(f"{path}[{key}]", value, f'invalid AppArmor profile name: "{value}"'))


def _check_seccomp_annotation(value: str, path: str, errors: Errors) -> None:
    if value in ("runtime/default", "docker/default", "unconfined"):
        return
    if value.startswith("localhost/"):
        content.check_descending_path(value.removeprefix("localhost/"), path, errors)
    else:
        errors.append(field_invalid(path, value, "must be a valid seccomp profile"))


#: Profile type -> the annotations that say the same.
SECCOMP_SAME = {"Unconfined": ("unconfined",), "RuntimeDefault": ("runtime/default", "docker/default")}
APPARMOR_SAME = {"Unconfined": ("unconfined",), "RuntimeDefault": ("runtime/default",)}


def check_profiles_agree(annotations: Object, spec: Object, path: str, errors: Errors) -> None:
    """Where both an annotation and a field name a profile, they name the same one."""
    if not annotations:
        return
    pod: Object = spec.get("securityContext") or {}
    if pod.get("seccompProfile") is not None and SECCOMP_POD in annotations:
        here = f"{path}.securityContext.seccompProfile"
        errors += _difference("seccomp", annotations[SECCOMP_POD], pod["seccompProfile"], SECCOMP_SAME, here)
    for place, container in containers(spec):
        profile = (container.get("securityContext") or {}).get("seccompProfile")
        annotation = annotations.get(SECCOMP_CONTAINER + (container.get("name") or ""))
        if profile is not None and annotation is not None:
            here = f"{path}.{place}.securityContext.seccompProfile"
            errors += _difference("seccomp", annotation, profile, SECCOMP_SAME, here)
    if (spec.get("os") or {}).get("name") != "windows":
        _check_apparmor_agrees(annotations, spec, path, errors)


def _check_apparmor_agrees(annotations: Object, spec: Object, path: str, errors: Errors) -> None:
    shared = (spec.get("securityContext") or {}).get("appArmorProfile")
    for place, container in containers(spec):
        own = (container.get("securityContext") or {}).get("appArmorProfile")
        profile = own if own is not None else shared
        annotation = annotations.get(APPARMOR + (container.get("name") or ""))
        if profile is not None and annotation is not None:
            here = f"{path}.{place}.securityContext.appArmorProfile"
            errors += _difference("apparmor", annotation, profile, APPARMOR_SAME, here)


def _difference(kind: str, annotation: str, profile: Object, same: Mapping[str, tuple[str, ...]], path: str) -> Errors:
    type_differs = field_forbidden(f"{path}.type", f"{kind} type in annotation and field must match")
    if profile.get("type") in same:
        return [] if annotation in same[profile["type"]] else [type_differs]
    if profile.get("type") != "Localhost":
        return []
    if not annotation.startswith("localhost/"):
        return [type_differs]
    if profile.get("localhostProfile") == annotation.removeprefix("localhost/"):
        return []
    return [field_forbidden(f"{path}.localhostProfile", f"{kind} profile in annotation and field must match")]


# --- Windows -------------------------------------------------------------------------------------------------------

_control = re.compile(r"[\x00-\x1f\x7f]")
_netbios = re.compile(r'[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}')
_DNS = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_domain = re.compile(rf"{_DNS}(?:\.{_DNS})*")
_bad_user = re.compile(r'["/\\:;|=,+*?<>@\[\]]')
_dots_or_spaces = re.compile(r"[. ]+")


def check_windows_options(options: Object | None, path: str, errors: Errors) -> None:
    if not options:
        return
    name, spec, user = (options.get(key) for key in ("gmsaCredentialSpecName", "gmsaCredentialSpec", "runAsUserName"))
    if name is not None:
        content.check_dns_subdomain(name, f"{path}.gmsaCredentialSpecName", errors)
    if spec is not None:
        here = f"{path}.gmsaCredentialSpec"
        if not spec:
            errors.append(field_invalid(here, spec, "gmsaCredentialSpec cannot be an empty string"))
        elif len(spec.encode()) > _GMSA_KIB * 1024:
            errors.append(field_invalid(here, spec, f"gmsaCredentialSpec size must be under {_GMSA_KIB} KiB"))
    if user is not None:
        content.add(errors, f"{path}.runAsUserName", user, [f"runAsUserName{one}" for one in _user_problems(user)])


def _user_problems(name: str) -> list[str]:
    if not name:
        return [" cannot be an empty string"]
    if _control.search(name):
        return [" cannot contain control characters"]
    if name.count("\\") > 1:
        return [" cannot contain more than one backslash"]
    domain, backslash, user = name.rpartition("\\")
    problems = []
    if len(domain) >= 256:
        problems.append("'s Domain length must be under 256 characters")
    if backslash and not (_netbios.fullmatch(domain) or _domain.fullmatch(domain)):
        problems.append("'s Domain doesn't match the NetBios nor the DNS format")
    if not user:
        problems.append("'s User cannot be empty")
    elif len(user) > 104:
        problems.append("'s User length must not be longer than 104 characters")
    if _dots_or_spaces.fullmatch(user):
        problems.append("'s User cannot contain only periods or spaces")
    if _bad_user.search(user):
        problems.append("'s User cannot contain the following characters: \"/\\:;|=,+*?<>@[]")
    return problems


def check_host_process(spec: Object, path: str, errors: Errors) -> None:
    """Host process containers are all of a pod or none, and on the host's network (`validateWindowsHostProcessPod`)."""
    shared = _host_process(spec)
    count = hosted = 0
    for place, container in containers(spec):
        own = _host_process(container)
        count += 1
        if shared is not None and own is not None and shared != own:
            text = "true" if shared else "false"
            why = f"pod hostProcess value must be identical if both are specified, was {text}"
            field = f"{path}.{place}.securityContext.windowsOptions.hostProcess"
            errors.append(field_invalid(field, own, why))
        hosted += bool(own if own is not None else shared)
    if not hosted:
        return
    if hosted != count:
        why = "If pod contains any hostProcess containers then all containers must be HostProcess containers"
        errors.append(field_invalid(path, "", why))
    if not spec.get("hostNetwork"):
        why = "hostNetwork must be true if pod contains any hostProcess containers"
        errors.append(field_invalid(f"{path}.hostNetwork", False, why))


def _host_process(holder: Object) -> bool | None:
    context = holder.get("securityContext")
    options = context.get("windowsOptions") if context else None
    return options.get("hostProcess") if options else None


# --- operating systems ---------------------------------------------------------------------------------------------

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


def check_operating_system(spec: Object, path: str, errors: Errors) -> None:
    system = spec.get("os")
    if system is None:
        return
    name = system.get("name") or ""
    if not name:
        errors.append(field_required(f"{path}.os.name", "cannot be empty"))
    elif name not in ("linux", "windows"):
        content.check_supported(name, ("linux", "windows"), f"{path}.os", errors)
    elif name == "linux":
        _check_linux(spec, path, errors)
    else:
        _check_windows(spec, path, errors)


def _check_linux(spec: Object, path: str, errors: Errors) -> None:
    if (spec.get("securityContext") or {}).get("windowsOptions") is not None:
        errors.append(field_forbidden(f"{path}.securityContext.windowsOptions", _WINDOWS))
    for place, container in containers(spec):
        if (container.get("securityContext") or {}).get("windowsOptions") is not None:
            errors.append(field_forbidden(f"{path}.{place}.securityContext.windowsOptions", _WINDOWS))


def _check_windows(spec: Object, path: str, errors: Errors) -> None:
    context = spec.get("securityContext") or {}
    for field in _POD_ONLY_LINUX:
        inside = field.removeprefix("securityContext.")
        value = spec.get(field) if inside == field else context.get(inside)
        if value is not None and (value or field not in ("hostPID", "hostIPC")):
            errors.append(field_forbidden(f"{path}.{field}", _NOT_WINDOWS))
    for place, container in containers(spec):
        own = container.get("securityContext") or {}
        here = f"{path}.{place}.securityContext"
        errors += [
            field_forbidden(f"{here}.{f}", _NOT_WINDOWS) for f in _CONTAINER_ONLY_LINUX if own.get(f) is not None
        ]
