"""Validates the containers of a pod: what every container needs, and what each kind of container may not have."""

from __future__ import annotations

from fakekube.apiserver.features import enabled, since
from fakekube.apiserver.registry.core.pod.validation import envvars
from fakekube.apiserver.registry.core.pod.validation.podoptions import Pod
from fakekube.apiserver.registry.core.pod.validation.probes import PROBES, validate_lifecycle, validate_probes
from fakekube.apiserver.registry.core.pod.validation.resourcerequirements import validate_resources
from fakekube.apiserver.registry.core.pod.validation.securitycontext import validate_security_context
from fakekube.apiserver.registry.core.pod.validation.volumes import PULL_POLICIES
from fakekube.apiserver.registry.generic.validation import content
from fakekube.apiserver.registry.generic.validation.field import Field
from fakekube.apiserver.registry.generic.validation.rules import memoized

MOUNT_OPTIONS = frozenset(("subPath", "subPathExpr", "mountPropagation", "recursiveReadOnly"))
RESTARTING = frozenset(("restartPolicy", "restartPolicyRules"))
EPHEMERAL = "cannot be set for an Ephemeral Container"

#: Fields that ephemeral containers do not have, in the order of their declaration.
NOT_EPHEMERAL = (
    "ports", "resources", "resizePolicy", "restartPolicy", "restartPolicyRules", "livenessProbe", "readinessProbe",
    "startupProbe", "lifecycle",
)  # fmt: skip


def validate_containers(containers: Field, pod: Pod) -> None:
    names: set[str] = set()
    for container in containers.required():
        _validate_common(container, pod)
        if (container.value.get("name") or "") in names:
            container["name"].duplicate()
        names.add(container.value.get("name") or "")
        _validate_running(container, pod)
        _validate_restart(container)
    _validate_host_ports(containers)


def validate_init_containers(containers: Field, regular: Field, pod: Pod) -> None:
    names = {container["name"].text for container in regular}
    for container in containers:
        _validate_common(container, pod)
        _validate_restart(container, init=True)
        if container["name"].value or "" in names:
            container["name"].unique(names)
        _validate_host_ports(containers.with_value([container.value]))
        if container.value.get("restartPolicy") == "Always":
            _validate_running(container, pod)
        else:
            _validate_not_running(container, pod)


def _validate_running(container: Field, pod: Pod) -> None:
    grace = pod.spec.value.get("terminationGracePeriodSeconds")
    if container.value.get("lifecycle"):
        validate_lifecycle(container["lifecycle"], grace)
    validate_probes(container, grace)


def _validate_not_running(container: Field, pod: Pod) -> None:
    """An init container without restartPolicy Always ends before the other containers start."""
    for member in container.members(("lifecycle", *PROBES)):
        member.forbidden("may not be set for init containers without restartPolicy=Always")
    for policy in container["resizePolicy"] if since(36) and not pod.options.restarting_init_containers else ():
        if policy["restartPolicy"].value == "RestartContainer":
            policy["restartPolicy"].invalid("must not be set to 'RestartContainer' for non-sidecar initContainers")


def validate_ephemeral_containers(spec: Field, pod: Pod) -> None:
    targets = {container["name"].text for kind in ("containers", "initContainers") for container in spec[kind]}
    names = set(targets)
    for container in spec["ephemeralContainers"]:
        _validate_common(container, pod)
        validate_image_spaces(container)
        container["name"].unique(names)
        target = container["targetContainerName"]
        if target and target.value not in targets:
            target.not_found()
        for member in container.members(NOT_EPHEMERAL):
            if member.value != {}:
                member.forbidden(EPHEMERAL)
        for mount in container["volumeMounts"]:
            for name in ("subPath", "subPathExpr"):
                mount[name].optional().forbidden(EPHEMERAL)


def validate_image_spaces(container: Field) -> None:
    """Only for pods: the image of a template may be filled in later."""
    image = container.value.get("image") or ""
    if image != image.strip():
        container["image"].invalid("must not have leading or trailing whitespace")


def _validate_common(container: Field, pod: Pod) -> None:
    """`validateContainerCommon`."""
    container.require_text("name", content.dns_label_problems)
    container.require("image")
    container.require_choice("terminationMessagePolicy", ("File", "FallbackToLogsOnError"))
    container.apply(_LISTS, pod)
    container.require_choice("imagePullPolicy", PULL_POLICIES)
    container.apply(_SETTINGS, pod)


def _validate_ports(ports: Field, pod: Pod) -> None:
    names: set[str] = set()
    for port in ports:
        name = port.value.get("name")
        if name and content.port_name_problems(name):
            port["name"].check(content.port_name_problems)
        elif name:
            port["name"].unique(names)
        _validate_port_numbers(port)


@memoized("containerPort", "hostPort", "protocol")
def _validate_port_numbers(port: Field) -> None:
    port["containerPort"].required().port_number()
    port["hostPort"].optional().port_number()
    port.require_choice("protocol", ("SCTP", "TCP", "UDP"))


def _validate_host_ports(containers: Field) -> None:
    """No two containers have the same port of the host."""
    ports = [port for container in containers.value or () for port in container.get("ports") or ()]
    if not any(port.get("hostPort") for port in ports):
        return
    taken: set[str] = set()
    for container in containers:
        for port in container["ports"]:
            if port["hostPort"]:
                address = f"{port['protocol'].text}/{port['hostIP'].text}/{port['hostPort'].value}"
                port["hostPort"].unique(taken, address)


def _names_and_paths(items: Field, path: str) -> dict[str, str]:
    return {item.get("name") or "": item.get(path) or "" for item in items.value or ()}


def _validate_mounts(mounts: Field, pod: Pod) -> None:
    container = mounts.parent
    devices = _names_and_paths(container["volumeDevices"], "devicePath")
    places: set[str] = set()
    for mount in mounts:
        name, place = mount.value.get("name") or "", mount.value.get("mountPath") or ""
        mount.require("name")
        if name not in pod.volumes:
            mount["name"].not_found()
        mount.require("mountPath")
        if place in places:
            mount["mountPath"].invalid("must be unique")
        places.add(place)
        if devices and name in devices:
            mount["name"].invalid("must not already exist in volumeDevices")
        if devices and place in devices.values():
            mount["mountPath"].invalid("must not already exist as a path in volumeDevices")
        if not MOUNT_OPTIONS.isdisjoint(mount.value):
            _validate_mount_options(mount, mounts)


def _validate_mount_options(mount: Field, mounts: Field) -> None:
    """Some of the errors have the path of the list."""
    below, expression, propagation = mount["subPath"], mount["subPathExpr"], mount["mountPropagation"].value
    if below:
        mounts.at("subPath", below.value).check(content.descending_path_problems)
    if expression:
        if below:
            expression.invalid("subPathExpr and subPath are mutually exclusive")
        mounts.at("subPathExpr", expression.value).check(content.descending_path_problems)
    if propagation is not None:
        field = mounts.at("mountPropagation", propagation).one_of(("Bidirectional", "HostToContainer", "None"))
        if propagation == "Bidirectional" and not mounts.parent.find("securityContext.privileged"):
            field.forbidden("Bidirectional mount propagation is available only to privileged containers")
    if mount.value.get("recursiveReadOnly") is not None:
        _validate_recursive(mounts.at("recursiveReadOnly", mount.value["recursiveReadOnly"]), mount)


def _validate_recursive(recursive: Field, mount: Field) -> None:
    recursive.one_of(("Disabled", "Enabled", "IfPossible"))
    if recursive.value in ("Enabled", "IfPossible"):
        if not mount["readOnly"]:
            recursive.forbidden("may only be specified when readOnly is true")
        if mount["mountPropagation"].value not in (None, "None"):
            recursive.forbidden("may only be specified when mountPropagation is None or not specified")


def _validate_devices(devices: Field, pod: Pod) -> None:
    mounts = _names_and_paths(devices.parent["volumeMounts"], "mountPath")
    names: set[str] = set()
    places: set[str] = set()
    for device in devices:
        name, place = device["name"], device["devicePath"]
        name.required()
        _validate_device_name(name, pod, names)
        place.required()
        if place.text in places:
            place.invalid("must be unique")
        if ".." in place.text.split("/"):
            place.invalid("can not contain backsteps ('..')")
        else:
            places.add(place.text)
        if name.text in mounts:
            name.invalid("must not already exist in volumeMounts")
        if place.text in mounts.values():
            place.invalid("must not already exist as a path in volumeMounts")


def _validate_device_name(name: Field, pod: Pod, names: set[str]) -> None:
    if name.text in names:
        name.invalid("must be unique")
    if name.text not in pod.volumes:
        name.not_found()
    elif name.text not in pod.block_volumes:
        name.invalid("can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode")
    if name:
        names.add(name.text)


def _validate_resize_policies(policies: Field, pod: Pod) -> None:
    """Most of the errors have the path of the list."""
    seen: set[str] = set()
    for policy in policies:
        resource, restart = policy["resourceName"].text, policy["restartPolicy"].text
        policy.unique(seen, resource)
        policies.with_value(resource).required().one_of(("cpu", "memory"))
        shown = policies.with_value(restart)
        shown.required().one_of(("NotRequired", "RestartContainer"))
        if pod.spec.value.get("restartPolicy") == "Never" and restart != "NotRequired":
            shown.invalid(f"must be 'NotRequired' when {'pod ' if since(36) else ''}`restartPolicy` is 'Never'")


def _validate_restart(container: Field, *, init: bool = False) -> None:
    """The restart policy of a container and its rules for exit codes (`validateContainerRestartPolicy`)."""
    if RESTARTING.isdisjoint(container.value):
        return
    policy, rules = container["restartPolicy"], container["restartPolicyRules"]
    if policy.value is None and init:
        if rules and since(35):
            policy.missing(_NO_POLICY)
    elif not enabled("ContainerRestartRules"):
        if init:
            policy.one_of(("Always",))
        elif policy.value is not None:
            policy.forbidden("may not be set for non-init containers")
    elif init and policy.value == "Always" and not enabled(_RESTART_ALL):
        rules.optional().forbidden("restartPolicyRules are not allowed for init containers with restart policy Always")
    else:
        _validate_restart_rules(policy, rules)


_NO_POLICY = "must specify restartPolicy when restart rules are used"

_RESTART_ALL = "RestartAllContainersOnContainerExits"


def _validate_restart_rules(policy: Field, rules: Field) -> None:
    if policy.value is not None:
        policy.one_of(("Always", "Never", "OnFailure"))
    elif rules:
        policy.missing(_NO_POLICY)
    _validate_length(rules, 20)
    for rule in rules:
        rule["action"].one_of(("Restart", "RestartAllContainers") if enabled(_RESTART_ALL) else ("Restart",))
        codes = rule["exitCodes"].specified("must be specified")
        codes["operator"].one_of(("In", "NotIn"))
        _validate_length(codes["values"], 255)


def _validate_length(items: Field, most: int) -> None:
    if since(36):
        items.max_items(most)
    elif len(items) > most:
        items.too_long(most)


_LISTS = {
    "ports": _validate_ports,
    "env": envvars.validate_variables,
    "envFrom": envvars.validate_sources,
    "volumeMounts": _validate_mounts,
    "volumeDevices": _validate_devices,
}
_SETTINGS = {
    "resources": validate_resources,
    "resizePolicy": _validate_resize_policies,
    "securityContext": validate_security_context,
}
