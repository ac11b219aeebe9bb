"""A pod's status, as kubelets report it (`ValidatePodStatusUpdate`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from fakekube.apiserver.registry.core.resourcenames import is_native, number_of
from fakekube.apiserver.registry.generic.validation import content
from fakekube.apiserver.registry.generic.validation.content import Errors
from fakekube.apiserver.registry.generic.validation.gostructs import invalid_struct
from fakekube.apiserver.wire.status import (
    field_duplicate,
    field_forbidden,
    field_invalid,
    field_not_supported,
    field_required,
    field_too_long,
)

Object = dict[str, Any]

#: Conditions whose types need not look like qualified names: they are the server's.
SYSTEM_CONDITIONS = ("PodScheduled", "Ready", "Initialized")
NOT_NEGATIVE = "must be a non-negative integer"
STATUSES = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")
HEALTH = ("Healthy", "Unhealthy", "Unknown")
HEALTH_MESSAGE = 1024


def check_status_update(new: Object, old: Object, errors: Errors) -> None:
    spec: Object = old.get("spec") or {}
    after: Object = new.get("status") or {}
    before: Object = old.get("status") or {}
    _check_conditions(after.get("conditions") or (), "status.conditions", errors)
    _check_nomination(after, before, spec, errors)
    if (after.get("observedGeneration") or 0) < 0:
        errors.append(field_invalid("status.observedGeneration", after["observedGeneration"], NOT_NEGATIVE))
    if after.get("qosClass") != before.get("qosClass"):
        errors.append(field_invalid("status.qosClass", after.get("qosClass") or "", content.IMMUTABLE))
    _check_transitions(after, before, spec, errors)
    _check_claims(after.get("resourceClaimStatuses") or (), spec, "status.resourceClaimStatuses", errors)
    _check_extended_claim(after.get("extendedResourceClaimStatus"), spec, errors)
    _check_node_claims(after, spec, "status.nodeAllocatableResourceClaimStatuses", errors)
    _check_addresses(after, before, "podIPs", errors)
    if after.get("hostIPs"):
        first = after["hostIPs"][0].get("ip") or ""
        if (after.get("hostIP") or "") != first:
            errors.append(field_invalid("status.hostIPs[0].ip", first, "must be equal to `hostIP`"))
        _check_addresses(after, before, "hostIPs", errors)
    for kind in STATUSES:
        _check_users(after.get(kind) or (), spec, f"status.{kind}", errors)
    for kind, held in zip(STATUSES[:2], ("containers", "initContainers"), strict=True):
        _check_allocated(after.get(kind) or (), spec.get(held) or (), f"status.{kind}", errors)
    for i, status in enumerate(after.get(STATUSES[2]) or ()):
        if status.get("allocatedResourcesStatus"):
            path = f"status.{STATUSES[2]}[{i}].allocatedResourcesStatus"
            errors.append(field_forbidden(path, "must not be specified in container status"))


def _check_conditions(conditions: Sequence[Object], path: str, errors: Errors) -> None:
    for i, condition in enumerate(conditions):
        generation = condition.get("observedGeneration") or 0
        if generation < 0:
            errors.append(field_invalid(f"{path}[{i}].observedGeneration", generation, NOT_NEGATIVE))
        if condition.get("type") not in SYSTEM_CONDITIONS:
            content.check_qualified_name(condition.get("type") or "", f"{path}[{i}].Type", errors)


def _check_nomination(after: Object, before: Object, spec: Object, errors: Errors) -> None:
    node = after.get("nominatedNodeName") or ""
    if not node or node == before.get("nominatedNodeName"):
        return
    content.check_dns_subdomain(node, "status.nominatedNodeName", errors)
    if spec.get("nodeName"):
        why = "may not be set on pods that are already bound to a node"
        errors.append(field_forbidden("status.nominatedNodeName", why))


# --- containers that ended -----------------------------------------------------------------------------------------


def _check_transitions(after: Object, before: Object, spec: Object, errors: Errors) -> None:
    """A container that ended comes back only where its policy lets it."""
    restart_all = _may_restart_all(spec)
    for kind, held in zip(STATUSES, ("containers", "initContainers", ""), strict=True):
        if restart_all and held:
            continue
        found = {container.get("name"): container for container in spec.get(held) or ()} if held else {}
        for i, name, exit_code in _revived(after.get(kind) or (), before.get(kind) or ()):
            if name not in found or not _restarts(found[name], spec, exit_code):
                why = "may not be transitioned to non-terminated state"
                errors.append(field_forbidden(f"status.{kind}[{i}].state", why))


def _revived(after: Sequence[Object], before: Sequence[Object]) -> Iterator[tuple[int, str, int]]:
    running = {s.get("name") for s in after if (s.get("state") or {}).get("terminated") is None}
    for i, status in enumerate(before):
        ended = (status.get("state") or {}).get("terminated")
        if ended is not None and status.get("name") in running:
            yield i, status.get("name") or "", ended.get("exitCode") or 0


def _may_restart_all(spec: Object) -> bool:
    """Some container's end can be the start of all (`AllContainersCouldRestart`)."""
    return any(
        rule.get("action") == "RestartAllContainers"
        for kind in ("initContainers", "containers")
        for container in spec.get(kind) or ()
        for rule in container.get("restartPolicyRules") or ()
    )


def _restarts(container: Object, spec: Object, exit_code: int) -> bool:
    """`podutil.ContainerShouldRestart`."""
    policy = container.get("restartPolicy")
    if policy is not None and any(_applies(rule, exit_code) for rule in container.get("restartPolicyRules") or ()):
        return True
    policy = policy or spec.get("restartPolicy")
    if policy == "OnFailure":
        return exit_code != 0
    return policy != "Never"


def _applies(rule: Object, exit_code: int) -> bool:
    codes = rule.get("exitCodes") or {}
    listed = exit_code in (codes.get("values") or ())
    return listed if codes.get("operator") == "In" else not listed and codes.get("operator") == "NotIn"


# --- claims --------------------------------------------------------------------------------------------------------


def _check_claims(statuses: Sequence[Object], spec: Object, path: str, errors: Errors) -> None:
    known = {claim.get("name") for claim in spec.get("resourceClaims") or ()}
    seen: set[str] = set()
    for i, status in enumerate(statuses):
        name, here = status.get("name") or "", f"{path}[{i}]"
        if name not in known:
            why = "must match the name of an entry in `spec.resourceClaims`"
            errors.append(field_invalid(f"{here}.name", name, why))
        if name in seen:
            errors.append(field_duplicate(f"{here}.name", name))
        seen.add(name)
        if status.get("resourceClaimName") is not None:
            content.check_dns_subdomain(status["resourceClaimName"], f"{here}.resourceClaimName", errors)


def _check_extended_claim(status: Object | None, spec: Object, errors: Errors) -> None:
    if status is None:
        return
    path = "status.extendedResourceClaimStatus"
    found = {c.get("name"): c for kind in ("initContainers", "containers") for c in spec.get(kind) or ()}
    mappings = status.get("requestMappings") or ()
    if not mappings:
        errors.append(field_required(f"{path}.requestMappings", "at least one request mapping is required"))
    seen: set[tuple[str, ...]] = set()
    fields = ("containerName", "resourceName", "requestName")
    for i, mapping in enumerate(mappings):
        here = f"{path}.requestMappings[{i}]"
        key = tuple(mapping.get(field) or "" for field in fields)
        _check_mapping(key[0], key[1], found, here, errors)
        content.check_dns_label(key[2], f"{path}.requestName", errors)
        if key in seen:
            errors += [field_duplicate(f"{here}.{field}", value) for field, value in zip(fields, key, strict=True)]
        seen.add(key)
    if not status.get("resourceClaimName"):
        errors.append(field_required(f"{path}.resourceClaimName"))
    else:
        content.check_dns_subdomain(status["resourceClaimName"], f"{path}.resourceClaimName", errors)


def _check_mapping(name: str, resource: str, found: dict[Any, Object], path: str, errors: Errors) -> None:
    if name not in found:
        why = "must match the name of an entry in spec.initContainers.name or spec.containers.name"
        errors.append(field_invalid(f"{path}.containerName", name, why))
    elif resource not in ((found[name].get("resources") or {}).get("requests") or {}):
        why = (
            "must match the extended resource name of an entry in spec.initContainers.resources.requests or "
            "spec.containers.resources.requests"
        )
        errors.append(field_invalid(f"{path}.resourceName", resource, why))


def _check_node_claims(status: Object, spec: Object, path: str, errors: Errors) -> None:
    known = {claim.get("resourceClaimName") for claim in spec.get("resourceClaims") or ()}
    known |= {claim.get("resourceClaimName") for claim in status.get("resourceClaimStatuses") or ()}
    for i, claim in enumerate(status.get("nodeAllocatableResourceClaimStatuses") or ()):
        here, name = f"{path}[{i}]", claim.get("resourceClaimName") or ""
        if not name:
            errors.append(field_required(f"{here}.resourceClaimName", "must not be empty"))
        if name not in known:
            errors.append(field_invalid(f"{here}.resourceClaimName", name, "no mapping found in pod reference"))
        for field in ("containers", "resources"):
            if not claim.get(field):
                errors.append(field_required(f"{here}.{field}", "must not be empty"))
        for resource, value in (claim.get("resources") or {}).items():
            if not is_native(resource):
                why = "must be a node allocatable resource name"
                errors.append(field_invalid(f"{here}.resources[{resource}]", resource, why))
            if number_of(value) < 0:
                errors.append(field_invalid(f"{here}.resources[{resource}]", value, "must be non-negative"))


# --- the rest ------------------------------------------------------------------------------------------------------


def _check_addresses(after: Object, before: Object, field: str, errors: Errors) -> None:
    """Addresses, at most one of each family."""
    path = f"status.{field}"
    known = [one.get("ip") or "" for one in before.get(field) or ()]
    found = [one.get("ip") or "" for one in after.get(field) or ()]
    for i, address in enumerate(found):
        content.check_ip(address, f"{path}[{i}]", errors, known)
    if len(found) > 1:
        versions = [parsed.version for one in found if (parsed := content.parse_ip(one)) is not None]
        if len(found) > 2 or set(versions) != {4, 6}:
            why = "may specify no more than one IP for each IP family"
            errors.append(invalid_struct(path, "PodIP", after[field], why))


def _check_users(statuses: Sequence[Object], spec: Object, path: str, errors: Errors) -> None:
    system = (spec.get("os") or {}).get("name") or "linux"
    for i, status in enumerate(statuses):
        linux = (status.get("user") or {}).get("linux")
        if linux is None:
            continue
        here = f"{path}[{i}].user.linux"
        if system == "windows":
            errors.append(field_forbidden(here, "cannot be set for a windows pod"))
            continue
        for field in ("uid", "gid"):
            content.check_id(linux.get(field), f"{here}.{field}", errors)
        for n, group in enumerate(linux.get("supplementalGroups") or ()):
            content.check_id(group, f"{here}.supplementalGroups[{n}]", errors)


def _check_allocated(statuses: Sequence[Object], held: Sequence[Object], path: str, errors: Errors) -> None:
    found = {container.get("name"): container for container in held}
    for i, status in enumerate(statuses):
        for j, resource in enumerate(status.get("allocatedResourcesStatus") or ()):
            here = f"{path}[{i}].allocatedResourcesStatus[{j}]"
            container = found.get(status.get("name"))
            if container is not None:
                _check_allocated_name(resource.get("name") or "", container, f"{here}.name", errors)
            _check_health(resource.get("resources") or (), f"{here}.resources", errors)


def _check_allocated_name(name: str, container: Object, path: str, errors: Errors) -> None:
    asked = container.get("resources") or {}
    if name.startswith("claim:"):
        claims = asked.get("claims") or ()
        known = {"claim:" + "/".join(filter(None, (one.get("name"), one.get("request")))) for one in claims}
        why = (
            "must match one of the container's resource claims in a format 'claim:<claimName>/<request>' or "
            "'claim:<claimName>' if request is empty"
        )
    else:
        known = set(asked.get("requests") or ())
        why = "must match one of the container's resource requests"
    if name not in known:
        errors.append(field_invalid(path, name, why))


def _check_health(units: Sequence[Object], path: str, errors: Errors) -> None:
    seen: set[str] = set()
    for k, unit in enumerate(units):
        health, message, name = unit.get("health") or "", unit.get("message"), unit.get("resourceID") or ""
        if health not in HEALTH:
            errors.append(field_not_supported(f"{path}[{k}].health", health, HEALTH))
        if message == "":
            errors.append(field_required(f"{path}[{k}].message", "must be non-empty if specified"))
        elif message is not None and len(message.encode()) > HEALTH_MESSAGE:
            errors.append(field_too_long(f"{path}[{k}].message", HEALTH_MESSAGE))
        if name in seen:
            errors.append(field_duplicate(f"{path}[{k}].resourceID", name))
        seen.add(name)
