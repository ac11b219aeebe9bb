"""Validates a pod's status, as kubelets report it (`ValidatePodStatusUpdate`)."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import IPv4Address, IPv6Address
from typing import Any

from fakekube.apiserver.features import enabled, since
from fakekube.apiserver.registry.core.resourcenames import is_native, number_of
from fakekube.apiserver.registry.generic.validation import content
from fakekube.apiserver.registry.generic.validation.content import MAX_INT32
from fakekube.apiserver.registry.generic.validation.field import Field

#: Conditions of the server, whose types need not be qualified names.
SYSTEM_CONDITIONS = ("PodScheduled", "Ready", "Initialized")
#: Statuses, and the containers of the spec that they belong to.
STATUSES = {"containerStatuses": "containers", "initContainerStatuses": "initContainers"}
EPHEMERAL_STATUSES = "ephemeralContainerStatuses"
BAD_GENERATION = "must be a non-negative integer"
RESTARTABLE = ("initContainers", "containers")


def validate_podstatus(status: Field, old: Field) -> None:
    spec, before = old["spec"], old["status"]
    conditions = status["conditions"]
    _validate_conditions(conditions if since(33) else Field(conditions.value, "metadata.conditions", status.errors))
    node = status["nominatedNodeName"].optional()
    if node.value != before["nominatedNodeName"].value:
        node.dns_subdomain()
        if spec["nodeName"] and enabled("ClearingNominatedNodeNameAfterBinding"):
            node.forbidden("may not be set on pods that are already bound to a node")
    status["observedGeneration"].at_least(0, BAD_GENERATION)
    if since(32) and status["qosClass"].value != before["qosClass"].value:
        status["qosClass"].invalid(content.IMMUTABLE)
    _validate_transitions(status, before, spec)
    _validate_claim_statuses(status["resourceClaimStatuses"], spec)
    if status["extendedResourceClaimStatus"].value is not None:
        _validate_extended_claim(status["extendedResourceClaimStatus"], spec)
    _validate_node_claims(status, spec)
    _validate_addresses(status["podIPs"], before["podIPs"])
    for first in list(status["hostIPs"])[:1]:
        if status["hostIP"].text != first["ip"].text:
            first["ip"].invalid("must be equal to `hostIP`")
    _validate_addresses(status["hostIPs"], before["hostIPs"])
    for kind in (*STATUSES, EPHEMERAL_STATUSES):
        _validate_users(status[kind], spec)
    for kind, held in STATUSES.items():
        if any(one["allocatedResourcesStatus"].value for one in status[kind]):
            _validate_allocated(status[kind], _by_name(spec, (held,)))
    for one in status[EPHEMERAL_STATUSES]:
        one["allocatedResourcesStatus"].optional().forbidden("must not be specified in container status")


def _by_name(spec: Field, kinds: tuple[str, ...]) -> dict[str | None, Field]:
    return {container["name"].value: container for kind in kinds for container in spec[kind]}


def _validate_conditions(conditions: Field) -> None:
    for condition in conditions:
        condition["observedGeneration"].at_least(0, BAD_GENERATION)
        if condition["type"].value not in SYSTEM_CONDITIONS:
            condition.at("Type", condition["type"].value).qualified_name()


def _validate_transitions(status: Field, before: Field, spec: Field) -> None:
    """A terminated container restarts only if its policy allows it."""
    kinds = [kind for kind in (*STATUSES, EPHEMERAL_STATUSES) if any(map(_terminated, before[kind]))]
    if not kinds:
        return
    rules = [rule for kind in RESTARTABLE for one in spec[kind] for rule in one["restartPolicyRules"]]
    restart_all = any(rule["action"].value == "RestartAllContainers" for rule in rules)
    for kind in [EPHEMERAL_STATUSES] if restart_all else kinds:
        found = _by_name(spec, (STATUSES.get(kind, ""),))
        running = {one["name"].value for one in status[kind] if _terminated(one) is None}
        for old in before[kind]:
            name, terminated = old["name"].value, old.find("state.terminated")
            if terminated.value is None or name not in running:
                continue
            if name not in found or not _restarts(found[name], spec, terminated["exitCode"].number):
                status[kind].at(old.index, None)["state"].forbidden("may not be transitioned to non-terminated state")


def _terminated(status: Field) -> Any:
    return status.find("state.terminated").value


def _restarts(container: Field, spec: Field, exit_code: int) -> bool:
    """`podutil.ContainerShouldRestart`."""
    policy = container["restartPolicy"].value
    if policy is not None and any(_applies(rule["exitCodes"], exit_code) for rule in container["restartPolicyRules"]):
        return True
    policy = policy or spec["restartPolicy"].value
    return exit_code != 0 if policy == "OnFailure" else policy != "Never"


def _applies(codes: Field, exit_code: int) -> bool:
    listed = exit_code in codes["values"]
    return listed if codes["operator"].value == "In" else not listed and codes["operator"].value == "NotIn"


def _validate_claim_statuses(statuses: Field, spec: Field) -> None:
    known = {claim["name"].value for claim in spec["resourceClaims"]}
    seen: set[str] = set()
    for status in statuses:
        name = status["name"]
        if name.value not in known:
            name.invalid("must match the name of an entry in `spec.resourceClaims`")
        name.unique(seen)
        claim = status.get("resourceClaimName")
        (claim if since(36) or claim.value is None else status.at("name", claim.value)).dns_subdomain()


def _validate_extended_claim(status: Field, spec: Field) -> None:
    found = _by_name(spec, RESTARTABLE)
    seen: set[tuple[str, ...]] = set()
    for mapping in status["requestMappings"].required("at least one request mapping is required"):
        container, resource, request = (mapping[name] for name in ("containerName", "resourceName", "requestName"))
        members = [container, resource, request] if since(35) else [container, resource]
        if container.value not in found:
            container.invalid("must match the name of an entry in spec.initContainers.name or spec.containers.name")
        elif resource.text not in found[container.value].find("resources.requests"):
            resource.invalid(
                "must match the extended resource name of an entry in spec.initContainers.resources.requests or "
                "spec.containers.resources.requests"
            )
        status.at("requestName", request.value).dns_label()
        key = tuple(member.text for member in members)
        if key in seen:
            for member in members:
                member.duplicate()
        seen.add(key)
    status["resourceClaimName"].required().dns_subdomain()


def _validate_node_claims(status: Field, spec: Field) -> None:
    known = {claim["resourceClaimName"].value for claim in (*spec["resourceClaims"], *status["resourceClaimStatuses"])}
    for claim in status["nodeAllocatableResourceClaimStatuses"]:
        name = claim["resourceClaimName"]
        name.required("must not be empty")
        if name.text not in known:
            name.invalid("no mapping found in pod reference")
        for member in (claim["containers"], claim["resources"]):
            member.required("must not be empty")
        for quantity in claim["resources"].entries():
            if not is_native(quantity.key):
                quantity.invalid("must be a node allocatable resource name", quantity.key)
            if number_of(quantity.value) < 0:
                quantity.invalid("must be non-negative")


def _version(address: IPv4Address | IPv6Address) -> int:
    """The family of an address; mapped ones are of IPv4."""
    return 4 if getattr(address, "ipv4_mapped", None) else address.version


def _validate_addresses(addresses: Field, before: Field) -> None:
    """At most one address of each family."""
    known = [address["ip"].text for address in before]
    for address in addresses:
        address.with_value(address["ip"].text).ip(known)
    if len(addresses) > 1:
        parsed = [content.parse_ip(address["ip"].text) for address in addresses]
        wrong = next((i for i, one in enumerate(parsed) if one is None), None)
        if wrong is not None:
            text = [address["ip"].text for address in addresses][wrong]
            addresses.internal(f"failed to check for dual stack with error:invalid IP[{wrong}]: {text}")
        if len(addresses) > 2 or wrong is not None or {_version(one) for one in parsed if one is not None} != {4, 6}:
            addresses.invalid_struct("PodIP", "may specify no more than one IP for each IP family")


def _validate_users(statuses: Field, spec: Field) -> None:
    for status in statuses:
        user = status["user"]["linux"]
        if user.value is not None and spec.find("os.name").value == "windows":
            user.forbidden("cannot be set for a windows pod")
            continue
        for id in (*user.members(("uid", "gid")), *user["supplementalGroups"]):
            id.between(0, MAX_INT32)


def _validate_allocated(statuses: Field, containers: Mapping[str | None, Field]) -> None:
    for status in statuses:
        container = containers.get(status["name"].value)
        for resource in status["allocatedResourcesStatus"]:
            if container is not None:
                _validate_allocated_name(resource["name"], container["resources"])
            _validate_health(resource["resources"])


def _validate_allocated_name(name: Field, resources: Field) -> None:
    if not name.text.startswith("claim:"):
        if name.text not in resources["requests"]:
            name.invalid("must match one of the container's resource requests")
        return
    claims = [(claim["name"].value, claim["request"].value) for claim in resources["claims"]]
    if name.value not in ["claim:" + "/".join(filter(None, claim)) for claim in claims]:
        name.invalid(
            "must match one of the container's resource claims in a format 'claim:<claimName>/<request>' or "
            "'claim:<claimName>' if request is empty"
        )


def _validate_health(units: Field) -> None:
    seen: set[str] = set()
    for unit in units:
        unit["health"].one_of(("Healthy", "Unhealthy", "Unknown"))
        unit.get("message").required("must be non-empty if specified").max_bytes(1024)
        unit["resourceID"].unique(seen)
