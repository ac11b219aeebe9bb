"""A pod's spec, of a pod or in a template (`ValidatePodSpec`, `ValidatePodTemplateSpec`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fakekube.apiserver.registry.core.pod.resources import spelled, total
from fakekube.apiserver.registry.core.pod.validation import (
    affinity,
    containers,
    environment,
    resources,
    securitycontext,
)
from fakekube.apiserver.registry.core.pod.validation.podoptions import (
    DELETION_COST,
    TEMPLATE,
    PodOptions,
    is_deletion_cost,
)
from fakekube.apiserver.registry.core.pod.validation.volumes import check_volumes
from fakekube.apiserver.registry.core.resourcenames import HUGE_PAGES, check_container_resource, number_of
from fakekube.apiserver.registry.generic.validation import content, labelselectors
from fakekube.apiserver.registry.generic.validation.content import MAX_INT32, Errors
from fakekube.apiserver.registry.generic.validation.field import Field
from fakekube.apiserver.registry.generic.validation.gostructs import invalid_struct
from fakekube.apiserver.wire.status import (
    field_duplicate,
    field_forbidden,
    field_invalid,
    field_required,
    field_too_long,
)

Object = dict[str, Any]

RESTART_POLICIES = ("Always", "OnFailure", "Never")
DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
PREEMPTION_POLICIES = ("PreemptLowerPriority", "Never")

MIRROR = "kubernetes.io/config.mirror"

NAMESERVERS, SEARCHES, SEARCH_CHARACTERS = 3, 32, 2048


def check_template(template: Object, path: str, errors: Errors, options: PodOptions = TEMPLATE) -> None:
    meta: Object = template.get("metadata") or {}
    spec: Object = template.get("spec") or {}
    annotations = meta.get("annotations") or {}
    labelselectors.check_labels(meta.get("labels"), f"{path}.labels", errors)
    labelselectors.check_annotations(annotations, f"{path}.annotations", errors)
    check_annotations(annotations, spec, f"{path}.annotations", errors, options)
    check_spec(spec, f"{path}.spec", errors, options)
    securitycontext.check_profiles_agree(annotations, spec, f"{path}.spec", errors)
    if spec.get("ephemeralContainers"):
        why = "ephemeral containers not allowed in pod template"
        errors.append(field_forbidden(f"{path}.spec.ephemeralContainers", why))


def validate_template(template: Field, options: PodOptions = TEMPLATE) -> None:
    """`ValidatePodTemplateSpec`."""
    check_template(template.value or {}, template.path, template.errors, options)


def validate_policies(spec: Field) -> None:
    """The policies that a workload may restrict further."""
    check_policies(spec.value, spec.path, spec.errors)


def check_annotations(annotations: Object, spec: Object, path: str, errors: Errors, options: PodOptions) -> None:
    """Annotations that mean something to the server (`ValidatePodSpecificAnnotations`)."""
    if not annotations:
        return
    if MIRROR in annotations and not spec.get("nodeName"):
        why = "must set spec.nodeName if mirror pod annotation is set"
        errors.append(field_invalid(f"{path}[{MIRROR}]", annotations[MIRROR], why))
    cost = annotations.get(DELETION_COST)
    if cost is not None and not options.any_deletion_cost and not is_deletion_cost(cost):
        errors.append(field_invalid(f"{path}[{DELETION_COST}]", cost, "must be a 32bit integer"))
    securitycontext.check_profile_annotations(annotations, spec, path, errors)


def check_spec(spec: Object, path: str, errors: Errors, options: PodOptions, pod: Object | None = None) -> None:
    """`pod`: the metadata of the pod that it is the spec of."""
    grace = spec.get("terminationGracePeriodSeconds")
    if grace is None:
        errors.append(field_required(f"{path}.terminationGracePeriodSeconds"))
    _check_parts(spec, path, errors, options, pod, grace)
    check_policies(spec, path, errors)
    if spec.get("nodeSelector"):
        labelselectors.check_labels(spec["nodeSelector"], f"{path}.nodeSelector", errors)
    securitycontext.check_pod_context(spec, f"{path}.securityContext", errors, options)
    if spec.get("affinity"):
        affinity.check_affinity(spec["affinity"], f"{path}.affinity", errors, options)
    _check_dns(spec, f"{path}.dnsConfig", errors)
    _check_gates(spec, path, errors)
    if spec.get("topologySpreadConstraints"):
        here = f"{path}.topologySpreadConstraints"
        affinity.check_spreading(spec["topologySpreadConstraints"], here, errors, options)
    securitycontext.check_host_process(spec, path, errors)
    securitycontext.check_host_users(spec, path, errors, options)
    if spec.get("hostnameOverride") is not None:
        _check_hostname_override(spec, f"{path}.hostnameOverride", errors)
    _check_names(spec, path, errors)
    securitycontext.check_operating_system(spec, path, errors)
    environment.check_files(spec, path, errors)


def _check_parts(
    spec: Object, path: str, errors: Errors, options: PodOptions, meta: Object | None, grace: int | None
) -> None:
    """Volumes, claims, containers, and what the pod as a whole may use."""
    volumes: Sequence[Object] = spec.get("volumes") or ()
    name = (meta or {}).get("name") or ""
    known = check_volumes(volumes, f"{path}.volumes", errors, name, options) if volumes else ()
    of_resources: Sequence[Object] = spec.get("resourceClaims") or ()
    if of_resources:
        _check_resource_claims(of_resources, f"{path}.resourceClaims", errors, meta)
    rules = containers.container_rules(tuple(one["name"] for one in of_resources if one.get("name")), options)
    pod = containers.Pod(
        volumes=frozenset(known),
        claims=frozenset(v.get("name") or "" for v in volumes if "persistentVolumeClaim" in v or "ephemeral" in v),
        rules=rules,
        grace=grace,
        restart_policy=spec.get("restartPolicy") or "",
        host_users=spec.get("hostUsers") is not False,
        options=options,
    )
    regular: Sequence[Object] = spec.get("containers") or ()
    containers.check_containers(regular, f"{path}.containers", errors, pod)
    if spec.get("initContainers"):
        containers.check_init_containers(spec["initContainers"], regular, f"{path}.initContainers", errors, pod)
    if spec.get("ephemeralContainers"):
        containers.check_ephemeral_containers(spec, f"{path}.ephemeralContainers", errors, pod)
    if spec.get("resources") is not None:
        _check_pod_resources(spec, f"{path}.resources", errors, rules)
    if spec.get("hostNetwork"):
        _check_host_ports(regular, f"{path}.containers", errors, options)


def check_policies(spec: Object, path: str, errors: Errors) -> None:
    content.check_choice(spec.get("restartPolicy"), RESTART_POLICIES, f"{path}.restartPolicy", errors)
    content.check_choice(spec.get("dnsPolicy"), DNS_POLICIES, f"{path}.dnsPolicy", errors)


def _check_resource_claims(claims: Sequence[Object], path: str, errors: Errors, meta: Object | None) -> None:
    names: set[str] = set()
    for i, claim in enumerate(claims):
        if MIRROR in ((meta or {}).get("annotations") or {}):
            errors.append(field_forbidden("", "static pods do not support resource claims"))
            continue
        here, name = f"{path}[{i}]", claim.get("name") or ""
        if not name:
            errors.append(field_required(f"{here}.name"))
        elif name in names:
            errors.append(field_duplicate(f"{here}.name", name))
        else:
            content.check_dns_label(name, f"{here}.name", errors)
            names.add(name)
        found = [key for key in ("resourceClaimName", "resourceClaimTemplateName") if claim.get(key) is not None]
        if len(found) == 2:
            why = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
            errors.append(invalid_struct(here, "PodResourceClaim", claim, why))
        if not found:
            why = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
            errors.append(invalid_struct(here, "PodResourceClaim", claim, why))
        for key in found:
            content.check_dns_subdomain(claim[key], f"{here}.{key}", errors)


def _check_pod_resources(spec: Object, path: str, errors: Errors, rules: resources.Rules) -> None:
    """What the pod as a whole asks for must do for its containers (`validatePodResources`)."""
    if (spec.get("os") or {}).get("name") == "windows":
        errors.append(field_forbidden(path, "may not be set for a windows pod"))
        return
    asked: Object = spec["resources"]
    if asked.get("claims"):
        errors.append(field_forbidden(f"{path}.claims", "claims may not be set for Resources at pod-level"))
    rules = resources.Rules(resources.check_pod_resource, rules.claims, rules.whole_pages)
    resources.check_requirements(asked, path, errors, rules)
    requests, limits = asked.get("requests") or {}, asked.get("limits") or {}
    for name, needed in total(spec, "requests").items():
        if name in requests and needed > number_of(requests[name]):
            shown = spelled(needed, requests[name])
            why = f"must be greater than or equal to aggregate container requests of {shown}"
            errors.append(field_invalid(f"{path}.requests[{name}]", requests[name], why))
    for name, needed in total(spec, "limits").items():
        huge = name.startswith(HUGE_PAGES) and name in limits
        if huge and needed > number_of(limits[name]):
            shown = spelled(needed, limits[name])
            why = f"must be greater than or equal to aggregate container limits of {shown}"
            errors.append(field_invalid(f"{path}.limits[{name}]", limits[name], why))
    for i, container in enumerate(spec.get("containers") or ()):
        for name, limit in ((container.get("resources") or {}).get("limits") or {}).items():
            if name in limits and number_of(limit) > number_of(limits[name]):
                why = f"must be less than or equal to pod limits of {limits[name]}"
                errors.append(field_invalid(f"{path}.containers[{i}][{name}].limits", limit, why))


def _check_host_ports(regular: Sequence[Object], path: str, errors: Errors, options: PodOptions) -> None:
    """On the host's network, a container's port is the host's."""
    for i, container in enumerate(regular):
        for n, port in enumerate(container.get("ports") or ()):
            host = port.get("hostPort") or 0
            if (options.is_pod or host) and host != (port.get("containerPort") or 0):
                why = "must match `containerPort` when `hostNetwork` is true"
                errors.append(field_invalid(f"{path}[{i}].ports[{n}].hostPort", host, why))


def _check_dns(spec: Object, path: str, errors: Errors) -> None:
    config: Object | None = spec.get("dnsConfig")
    if spec.get("dnsPolicy") == "None":
        if config is None:
            errors.append(field_required(path, "must provide `dnsConfig` when `dnsPolicy` is None"))
            return
        if not config.get("nameservers"):
            why = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            errors.append(field_required(f"{path}.nameservers", why))
            return
    if not config:
        return
    servers = config.get("nameservers") or []
    if len(servers) > NAMESERVERS:
        why = f"must not have more than {NAMESERVERS} nameservers"
        errors.append(field_invalid(f"{path}.nameservers", servers, why))
    for i, server in enumerate(servers):
        content.check_ip(server, f"{path}.nameservers[{i}]", errors)
    _check_searches(config.get("searches") or [], f"{path}.searches", errors)
    for i, option in enumerate(config.get("options") or ()):
        if not option.get("name"):
            errors.append(field_required(f"{path}.options[{i}]", "must not be empty"))


def _check_searches(searches: list[str], path: str, errors: Errors) -> None:
    if len(searches) > SEARCHES:
        errors.append(field_invalid(path, searches, f"must not have more than {SEARCHES} search paths"))
    if len(" ".join(searches).encode()) > SEARCH_CHARACTERS:
        why = f"must not have more than {SEARCH_CHARACTERS} characters (including spaces) in the search list"
        errors.append(field_invalid(path, searches, why))
    for i, search in enumerate(searches):
        if search != ".":
            name = search.removesuffix(".")
            content.add(errors, f"{path}[{i}]", name, content.subdomain_with_underscore_problems(name))


def _check_gates(spec: Object, path: str, errors: Errors) -> None:
    for i, gate in enumerate(spec.get("readinessGates") or ()):
        content.check_qualified_name(
            gate.get("conditionType") or "", f"{path}.readinessGates[{i}].conditionType", errors
        )
    seen: set[str] = set()
    for i, gate in enumerate(spec.get("schedulingGates") or ()):
        name, here = gate.get("name") or "", f"{path}.schedulingGates[{i}]"
        content.check_qualified_name(name, here, errors)
        if name in seen:
            errors.append(field_duplicate(here, name))
        seen.add(name)


def _check_hostname_override(spec: Object, path: str, errors: Errors) -> None:
    name: str = spec["hostnameOverride"]
    for field in ("setHostnameAsFQDN", "hostNetwork"):
        if spec.get(field):
            errors.append(field_forbidden(path, f"may not be specified when {field} is true"))
    if len(name.encode()) > 64:
        errors.append(field_too_long(path, 64))
    content.check_dns_subdomain(name, path, errors)


def _check_names(spec: Object, path: str, errors: Errors) -> None:
    """What a spec refers to by name, and what it is called itself."""
    get = spec.get
    for field in ("serviceAccountName", "nodeName"):
        if get(field):
            content.check_dns_subdomain(spec[field], f"{path}.{field}", errors)
    deadline = get("activeDeadlineSeconds")
    if deadline is not None:
        content.check_range(deadline, 1, MAX_INT32, f"{path}.activeDeadlineSeconds", errors)
    for field in ("hostname", "subdomain"):
        if get(field):
            content.check_dns_label(spec[field], f"{path}.{field}", errors)
    if get("tolerations"):
        affinity.check_tolerations(spec["tolerations"], f"{path}.tolerations", errors)
    if get("hostAliases"):
        _check_aliases(spec["hostAliases"], f"{path}.hostAliases", errors)
    if get("priorityClassName"):
        content.check_dns_subdomain(spec["priorityClassName"], f"{path}.priorityClassName", errors)
    if get("runtimeClassName") is not None:
        content.check_dns_subdomain(spec["runtimeClassName"], f"{path}.runtimeClassName", errors)
    if get("preemptionPolicy") is not None:
        content.check_choice(spec["preemptionPolicy"], PREEMPTION_POLICIES, f"{path}.preemptionPolicy", errors)
    if get("overhead"):
        rules = resources.Rules(check_container_resource)
        resources.check_requirements({"limits": spec["overhead"]}, f"{path}.overhead", errors, rules)


def _check_aliases(aliases: Sequence[Object], path: str, errors: Errors) -> None:
    for i, alias in enumerate(aliases):
        content.check_ip(alias.get("ip") or "", f"{path}[{i}].ip", errors)
        for n, name in enumerate(alias.get("hostnames") or ()):
            content.check_dns_subdomain(name, f"{path}[{i}].hostnames[{n}]", errors)
