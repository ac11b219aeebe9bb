"""The containers of a pod: what all kinds of them must have, and what each kind may not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fakekube.apiserver.registry.core.pod.validation import environment
from fakekube.apiserver.registry.core.pod.validation.podoptions import PodOptions
from fakekube.apiserver.registry.core.pod.validation.probes import check_lifecycle, check_probes
from fakekube.apiserver.registry.core.pod.validation.resources import Rules, check_requirements
from fakekube.apiserver.registry.core.pod.validation.securitycontext import check_context
from fakekube.apiserver.registry.core.pod.validation.volumes import PULL_POLICIES
from fakekube.apiserver.registry.core.resourcenames import check_container_resource
from fakekube.apiserver.registry.generic.validation import content
from fakekube.apiserver.registry.generic.validation.content import Errors
from fakekube.apiserver.wire.status import (
    field_duplicate,
    field_forbidden,
    field_invalid,
    field_not_found,
    field_not_supported,
    field_required,
    field_too_many,
)

Object = dict[str, Any]

PROTOCOLS = ("SCTP", "TCP", "UDP")
MESSAGE_POLICIES = ("File", "FallbackToLogsOnError")
PROPAGATIONS = ("Bidirectional", "HostToContainer", "None")
RESTART_POLICIES = ("Always", "Never", "OnFailure")
RESTART_ACTIONS = ("Restart", "RestartAllContainers")
EPHEMERAL = "cannot be set for an Ephemeral Container"

#: Fields that ephemeral containers do not have, in the order of their declaration.
NOT_EPHEMERAL = (
    "ports", "resources", "resizePolicy", "restartPolicy", "restartPolicyRules", "livenessProbe", "readinessProbe",
    "startupProbe", "lifecycle",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Pod:
    """What containers are checked against: the volumes that can be mounted, those of them that are claims, the names
    of the claims of resources, the seconds that the pod has to end, its restart policy, whether it has the host's
    users, and the rules."""

    volumes: frozenset[str]
    claims: frozenset[str]
    rules: Rules
    grace: int | None
    restart_policy: str
    host_users: bool
    options: PodOptions


def check_containers(containers: Sequence[Object], path: str, errors: Errors, pod: Pod) -> None:
    if not containers:
        errors.append(field_required(path))
        return
    names: set[str] = set()
    for i, container in enumerate(containers):
        here, name = f"{path}[{i}]", container.get("name") or ""
        _check_common(container, here, errors, pod)
        if name in names:
            errors.append(field_duplicate(f"{here}.name", name))
        names.add(name)
        if container.get("lifecycle") is not None:
            check_lifecycle(container["lifecycle"], f"{here}.lifecycle", errors, pod.grace)
        check_probes(container, here, errors, pod.grace)
        _check_restart(container, here, errors)
    _check_host_ports(containers, path, errors)


def check_init_containers(
    containers: Sequence[Object], regular: Sequence[Object], path: str, errors: Errors, pod: Pod
) -> None:
    names = {container.get("name") or "" for container in regular}
    for i, container in enumerate(containers):
        here, name = f"{path}[{i}]", container.get("name") or ""
        _check_common(container, here, errors, pod)
        _check_restart(container, here, errors, init=True)
        if name in names:
            errors.append(field_duplicate(f"{here}.name", name))
        elif name:
            names.add(name)
        _check_host_ports((container,), path, errors)
        if container.get("restartPolicy") == "Always":
            if container.get("lifecycle") is not None:
                check_lifecycle(container["lifecycle"], f"{here}.lifecycle", errors, pod.grace)
            check_probes(container, here, errors, pod.grace)
        else:
            _check_not_running(container, here, errors, pod)


def _check_not_running(container: Object, path: str, errors: Errors, pod: Pod) -> None:
    """What an init container has only where it goes on running beside the others."""
    for field in ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe"):
        if container.get(field) is not None:
            why = "may not be set for init containers without restartPolicy=Always"
            errors.append(field_forbidden(f"{path}.{field}", why))
    if pod.options.restarting_init_containers:
        return
    for n, policy in enumerate(container.get("resizePolicy") or ()):
        if policy.get("restartPolicy") == "RestartContainer":
            why = "must not be set to 'RestartContainer' for non-sidecar initContainers"
            errors.append(field_invalid(f"{path}.resizePolicy[{n}].restartPolicy", "RestartContainer", why))


def check_ephemeral_containers(spec: Object, path: str, errors: Errors, pod: Pod) -> None:
    containers = spec.get("ephemeralContainers") or ()
    targets = {c.get("name") or "" for key in ("containers", "initContainers") for c in spec.get(key) or ()}
    names = set(targets)
    for i, container in enumerate(containers):
        here, name = f"{path}[{i}]", container.get("name") or ""
        _check_common(container, here, errors, pod)
        check_image_spaces(container, here, errors)
        if name in names:
            errors.append(field_duplicate(f"{here}.name", name))
        names.add(name)
        target = container.get("targetContainerName") or ""
        if target and target not in targets:
            errors.append(field_not_found(f"{here}.targetContainerName", target))
        errors += [
            field_forbidden(f"{here}.{f}", EPHEMERAL) for f in NOT_EPHEMERAL if container.get(f) not in (None, {})
        ]
        for n, mount in enumerate(container.get("volumeMounts") or ()):
            for field in ("subPath", "subPathExpr"):
                if mount.get(field):
                    errors.append(field_forbidden(f"{here}.volumeMounts[{n}].{field}", EPHEMERAL))


def check_image_spaces(container: Object, path: str, errors: Errors) -> None:
    """Of a pod's own containers; a template may have an image that is filled in later."""
    image = container.get("image") or ""
    if image != image.strip():
        errors.append(field_invalid(f"{path}.image", image, "must not have leading or trailing whitespace"))


def _check_common(container: Object, path: str, errors: Errors, pod: Pod) -> None:
    """`validateContainerCommon`."""
    get = container.get
    name = get("name") or ""
    if not name:
        errors.append(field_required(f"{path}.name"))
    else:
        content.check_dns_label(name, f"{path}.name", errors)
    if not get("image"):
        errors.append(field_required(f"{path}.image"))
    policy = get("terminationMessagePolicy")
    content.check_choice(policy, MESSAGE_POLICIES, f"{path}.terminationMessagePolicy", errors)
    if get("ports"):
        _check_ports(container["ports"], f"{path}.ports", errors)
    if get("env"):
        environment.check_variables(container["env"], f"{path}.env", errors)
    if get("envFrom"):
        environment.check_sources(container["envFrom"], f"{path}.envFrom", errors)
    if get("volumeMounts"):
        _check_mounts(container, f"{path}.volumeMounts", errors, pod)
    if get("volumeDevices"):
        _check_devices(container, f"{path}.volumeDevices", errors, pod)
    content.check_choice(get("imagePullPolicy"), PULL_POLICIES, f"{path}.imagePullPolicy", errors)
    if get("resources"):
        check_requirements(container["resources"], f"{path}.resources", errors, pod.rules)
    if get("resizePolicy"):
        _check_resizing(container["resizePolicy"], f"{path}.resizePolicy", errors, pod)
    if get("securityContext"):
        check_context(container["securityContext"], f"{path}.securityContext", errors, host_users=pod.host_users)


def container_rules(claims: tuple[str, ...], options: PodOptions) -> Rules:
    return Rules(check_container_resource, claims, not options.partial_pages)


# --- ports ---------------------------------------------------------------------------------------------------------


def _check_ports(ports: Sequence[Object], path: str, errors: Errors) -> None:
    names: set[str] = set()
    for i, port in enumerate(ports):
        here = f"{path}[{i}]"
        name, number, host = port.get("name"), port.get("containerPort") or 0, port.get("hostPort") or 0
        if name:
            problems = content.port_name_problems(name)
            content.add(errors, f"{here}.name", name, problems)
            if not problems and name in names:
                errors.append(field_duplicate(f"{here}.name", name))
            names.add(name)
        if not number:
            errors.append(field_required(f"{here}.containerPort"))
        else:
            content.check_port_number(number, f"{here}.containerPort", errors)
        if host:
            content.check_port_number(host, f"{here}.hostPort", errors)
        content.check_choice(port.get("protocol"), PROTOCOLS, f"{here}.protocol", errors)


def _check_host_ports(containers: Sequence[Object], path: str, errors: Errors) -> None:
    """Two cannot have the same port of the host."""
    taken: set[str] = set()
    for i, container in enumerate(containers):
        for n, port in enumerate(container.get("ports") or ()):
            if not port.get("hostPort"):
                continue
            key = f"{port.get('protocol') or ''}/{port.get('hostIP') or ''}/{port['hostPort']}"
            if key in taken:
                errors.append(field_duplicate(f"{path}[{i}].ports[{n}].hostPort", key))
            taken.add(key)


# --- volumes -------------------------------------------------------------------------------------------------------


def _check_mounts(container: Object, path: str, errors: Errors, pod: Pod) -> None:
    devices = {
        device.get("name") or "": device.get("devicePath") or "" for device in container.get("volumeDevices") or ()
    }
    places: set[str] = set()
    for i, mount in enumerate(container["volumeMounts"]):
        here = f"{path}[{i}]"
        name, place = mount.get("name") or "", mount.get("mountPath") or ""
        if not name:
            errors.append(field_required(f"{here}.name"))
        if name not in pod.volumes:
            errors.append(field_not_found(f"{here}.name", name))
        if not place:
            errors.append(field_required(f"{here}.mountPath"))
        if place in places:
            errors.append(field_invalid(f"{here}.mountPath", place, "must be unique"))
        places.add(place)
        if name in devices:
            errors.append(field_invalid(f"{here}.name", name, "must not already exist in volumeDevices"))
        if place in devices.values():
            why = "must not already exist as a path in volumeDevices"
            errors.append(field_invalid(f"{here}.mountPath", place, why))
        _check_mount_options(mount, container, path, here, errors)


def _check_mount_options(mount: Object, container: Object, path: str, here: str, errors: Errors) -> None:
    """Some of its errors do not say which of the mounts it is."""
    below, expression = mount.get("subPath") or "", mount.get("subPathExpr") or ""
    if below:
        content.check_descending_path(below, f"{path}.subPath", errors)
    if expression:
        if below:
            why = "subPathExpr and subPath are mutually exclusive"
            errors.append(field_invalid(f"{here}.subPathExpr", expression, why))
        content.check_descending_path(expression, f"{path}.subPathExpr", errors)
    propagation = mount.get("mountPropagation")
    if propagation is not None:
        content.check_supported(propagation, PROPAGATIONS, f"{path}.mountPropagation", errors)
        if propagation == "Bidirectional" and not (container.get("securityContext") or {}).get("privileged"):
            why = "Bidirectional mount propagation is available only to privileged containers"
            errors.append(field_forbidden(f"{path}.mountPropagation", why))
    if mount.get("recursiveReadOnly") is not None:
        _check_recursive(mount, f"{path}.recursiveReadOnly", errors)


def _check_recursive(mount: Object, path: str, errors: Errors) -> None:
    recursive = mount["recursiveReadOnly"]
    if recursive == "Disabled":
        return
    if recursive not in ("Enabled", "IfPossible"):
        errors.append(field_not_supported(path, recursive, ("Disabled", "Enabled", "IfPossible")))
        return
    if not mount.get("readOnly"):
        errors.append(field_forbidden(path, "may only be specified when readOnly is true"))
    if mount.get("mountPropagation") not in (None, "None"):
        why = "may only be specified when mountPropagation is None or not specified"
        errors.append(field_forbidden(path, why))


def _check_devices(container: Object, path: str, errors: Errors, pod: Pod) -> None:
    mounts = {mount.get("name") or "": mount.get("mountPath") or "" for mount in container.get("volumeMounts") or ()}
    names: set[str] = set()
    places: set[str] = set()
    for i, device in enumerate(container["volumeDevices"]):
        here = f"{path}[{i}]"
        name, place = device.get("name") or "", device.get("devicePath") or ""
        _check_device_name(name, f"{here}.name", errors, pod, names)
        if not place:
            errors.append(field_required(f"{here}.devicePath"))
        if place in places:
            errors.append(field_invalid(f"{here}.devicePath", place, "must be unique"))
        if ".." in place.split("/"):
            errors.append(field_invalid(f"{here}.devicePath", place, "can not contain backsteps ('..')"))
        else:
            places.add(place)
        if name in mounts:
            errors.append(field_invalid(f"{here}.name", name, "must not already exist in volumeMounts"))
        if place in mounts.values():
            why = "must not already exist as a path in volumeMounts"
            errors.append(field_invalid(f"{here}.devicePath", place, why))
        if name:
            names.add(name)


def _check_device_name(name: str, path: str, errors: Errors, pod: Pod, names: set[str]) -> None:
    if not name:
        errors.append(field_required(path))
    if name in names:
        errors.append(field_invalid(path, name, "must be unique"))
    if name not in pod.volumes:
        errors.append(field_not_found(path, name))
    elif name not in pod.claims:
        why = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
        errors.append(field_invalid(path, name, why))


# --- restarting ----------------------------------------------------------------------------------------------------


def _check_resizing(policies: Sequence[Object], path: str, errors: Errors, pod: Pod) -> None:
    """Most of its errors do not say which of the policies it is."""
    seen: set[str] = set()
    for i, policy in enumerate(policies):
        resource, restart = policy.get("resourceName") or "", policy.get("restartPolicy") or ""
        if resource in seen:
            errors.append(field_duplicate(f"{path}[{i}]", resource))
        seen.add(resource)
        content.check_choice(resource, ("cpu", "memory"), path, errors)
        content.check_choice(restart, ("NotRequired", "RestartContainer"), path, errors)
        if pod.restart_policy == "Never" and restart != "NotRequired":
            why = "must be 'NotRequired' when pod `restartPolicy` is 'Never'"
            errors.append(field_invalid(path, restart, why))


def _check_restart(container: Object, path: str, errors: Errors, *, init: bool = False) -> None:
    """A container's own policy, and what it does on which exit codes (`validateContainerRestartPolicy`)."""
    policy, rules = container.get("restartPolicy"), container.get("restartPolicyRules") or ()
    if policy is None:
        if rules:
            why = "must specify restartPolicy when restart rules are used"
            errors.append(field_required(f"{path}.restartPolicy", why))
            if init:
                return
    elif policy not in RESTART_POLICIES:
        errors.append(field_not_supported(f"{path}.restartPolicy", policy, RESTART_POLICIES))
    if len(rules) > 20:
        errors.append(field_too_many(f"{path}.restartPolicyRules", len(rules), 20))
    for i, rule in enumerate(rules):
        here = f"{path}.restartPolicyRules[{i}]"
        content.check_supported(rule.get("action"), RESTART_ACTIONS, f"{here}.action", errors)
        codes = rule.get("exitCodes")
        if codes is None:
            errors.append(field_required(f"{here}.exitCodes", "must be specified"))
            continue
        content.check_supported(codes.get("operator"), ("In", "NotIn"), f"{here}.exitCodes.operator", errors)
        if len(codes.get("values") or ()) > 255:
            errors.append(field_too_many(f"{here}.exitCodes.values", len(codes["values"]), 255))
