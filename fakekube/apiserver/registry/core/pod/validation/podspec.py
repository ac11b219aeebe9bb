"""Validates a pod's spec, of a pod or in a template (`ValidatePodSpec`, `ValidatePodTemplateSpec`)."""

from __future__ import annotations

from collections.abc import Callable

from fakekube.apiserver.registry.core.pod.resources import spelled, total
from fakekube.apiserver.registry.core.pod.validation import affinity, containers, envvars, podoptions, securitycontext
from fakekube.apiserver.registry.core.pod.validation.podoptions import DELETION_COST, TEMPLATE, Pod, PodOptions
from fakekube.apiserver.registry.core.pod.validation.resourcerequirements import (
    validate_pod_resource_name,
    validate_requirements,
)
from fakekube.apiserver.registry.core.pod.validation.volumes import validate_volumes
from fakekube.apiserver.registry.core.resourcenames import HUGE_PAGES, number_of
from fakekube.apiserver.registry.generic.validation import content
from fakekube.apiserver.registry.generic.validation.content import MAX_INT32
from fakekube.apiserver.registry.generic.validation.field import Field, Object
from fakekube.apiserver.registry.generic.validation.labelselectors import validate_annotations, validate_labels
from fakekube.apiserver.resultsbytext import Remembered

RESTART_POLICIES = ("Always", "OnFailure", "Never")
DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
PREEMPTION_POLICIES = ("PreemptLowerPriority", "Never")

MIRROR = "kubernetes.io/config.mirror"


def validate_template(template: Field, options: PodOptions = TEMPLATE) -> None:
    spec = template.at("spec", template["spec"].value or {})
    validate_template_metadata(template, options)
    if options is not TEMPLATE or not _is_valid(spec.value):
        validate_spec(spec, options)
    annotations = template.at("annotations", (template["metadata"].value or {}).get("annotations"))
    securitycontext.validate_profiles_agree(annotations.value, spec)
    if spec.value.get("ephemeralContainers"):
        spec["ephemeralContainers"].forbidden("ephemeral containers not allowed in pod template")


@Remembered
def _is_valid(spec: Object) -> bool:
    """Whether the pod spec of a template has no errors."""
    alone = Field(spec)
    validate_spec(alone, TEMPLATE)
    return not alone.errors


def validate_template_metadata(template: Field, options: PodOptions) -> None:
    """The errors of labels and annotations have paths without `metadata`."""
    meta, spec = template["metadata"].value or {}, template.at("spec", template["spec"].value or {})
    annotations = template.at("annotations", meta.get("annotations"))
    validate_labels(template.at("labels", meta.get("labels")))
    if annotations.value:
        validate_annotations(annotations)
        validate_pod_annotations(annotations, spec, options)


def validate_pod_annotations(annotations: Field, spec: Field, options: PodOptions) -> None:
    """Annotations that the server interprets (`ValidatePodSpecificAnnotations`)."""
    if not annotations.value:
        return
    mirror, cost = annotations.entry(MIRROR), annotations.entry(DELETION_COST)
    if mirror.value is not None and not spec["nodeName"]:
        mirror.invalid("must set spec.nodeName if mirror pod annotation is set")
    if cost.value is not None and not options.any_deletion_cost and not podoptions.is_deletion_cost(cost.value):
        cost.invalid("must be a 32bit integer")
    securitycontext.validate_profile_annotations(annotations, spec)


def validate_spec(spec: Field, options: PodOptions, meta: Object | None = None) -> None:
    """`meta` is the metadata of the pod; a template has none."""
    if spec.value.get("terminationGracePeriodSeconds") is None:
        spec["terminationGracePeriodSeconds"].missing()
    _validate_parts(spec, options, meta or {})
    validate_policies(spec)
    if spec.value.get("nodeSelector"):
        validate_labels(spec["nodeSelector"])
    securitycontext.validate_pod_security_context(spec, options)
    spec.apply(_SCHEDULING, options)
    securitycontext.validate_host_process(spec)
    if spec.value.get("hostUsers") is False:
        securitycontext.validate_host_users(spec, options)
    spec.check_members(_NAMES)
    if spec.value.get("os") is not None:
        securitycontext.validate_operating_system(spec)
    envvars.validate_file_volumes(spec)


def _validate_parts(spec: Field, options: PodOptions, meta: Object) -> None:
    """Volumes, claims, containers, and the resources and ports of the pod as a whole."""
    get = spec.value.get
    pod = Pod(spec, meta.get("name") or "", options)
    if get("volumes"):
        pod.volumes = validate_volumes(spec["volumes"], pod)
    if get("resourceClaims"):
        _validate_resource_claims(spec["resourceClaims"], mirror=MIRROR in (meta.get("annotations") or {}))
    regular = spec["containers"]
    containers.validate_containers(regular, pod)
    if get("initContainers"):
        containers.validate_init_containers(spec["initContainers"], regular, pod)
    if get("ephemeralContainers"):
        containers.validate_ephemeral_containers(spec, pod)
    if get("resources") is not None:
        _validate_pod_resources(pod)
    if get("hostNetwork"):
        _validate_host_network_ports(regular, options)


def validate_policies(spec: Field) -> None:
    spec.require_choice("restartPolicy", RESTART_POLICIES)
    spec.require_choice("dnsPolicy", DNS_POLICIES)


def _validate_resource_claims(claims: Field, *, mirror: bool) -> None:
    names: set[str] = set()
    for claim in claims:
        if mirror:
            Field(None, "", claims.errors).forbidden("static pods do not support resource claims")
            continue
        name = claim["name"].required()
        (name if name.value in names else name.dns_label()).unique(names)
        found = claim.members(("resourceClaimName", "resourceClaimTemplateName"))
        if len(found) != 1:
            many = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
            none = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
            claim.invalid_struct("PodResourceClaim", many if found else none)
        for reference in found:
            reference.dns_subdomain()


def _validate_pod_resources(pod: Pod) -> None:
    """The resources of the pod as a whole suffice for its containers (`validatePodResources`)."""
    spec = pod.spec
    whole = spec["resources"]
    if spec.find("os.name").value == "windows":
        whole.forbidden("may not be set for a windows pod")
        return
    whole.get("claims").forbidden("claims may not be set for Resources at pod-level")
    whole_pages = not pod.options.partial_pages
    validate_requirements(whole, pod.claims, whole_pages=whole_pages, validate_name=validate_pod_resource_name)
    limits = whole["limits"].value or {}
    for kind in ("requests", "limits"):
        quantities = whole[kind].value or {}
        for name, needed in total(spec.value, kind).items():
            counts = name in quantities and (kind == "requests" or name.startswith(HUGE_PAGES))
            if counts and needed > number_of(quantities[name]):
                why = f"must be greater than or equal to aggregate container {kind} of"
                whole[kind].entry(name).invalid(f"{why} {spelled(needed, quantities[name])}")
    for container in spec["containers"]:
        for limit in container["resources"]["limits"].entries():
            if limit.key in limits and number_of(limit.value) > number_of(limits[limit.key]):
                shown = whole["containers"].at(container.index, None).entry(limit.key).at("limits", limit.value)
                shown.invalid(f"must be less than or equal to pod limits of {limits[limit.key]}")


def _validate_host_network_ports(regular: Field, options: PodOptions) -> None:
    """On the host's network, the port of a container is a port of the host."""
    for container in regular:
        for port in container["ports"]:
            host = port["hostPort"]
            if (options.is_pod or host) and host.number != port["containerPort"].number:
                host.invalid("must match `containerPort` when `hostNetwork` is true", host.number)


def _validate_dns(policy: Field, options: PodOptions) -> None:
    if policy.value != "None" and not policy.parent.value.get("dnsConfig"):
        return
    config = policy.parent["dnsConfig"]
    if policy.value == "None":
        needed = config.specified("must provide `dnsConfig` when `dnsPolicy` is None")
        needed["nameservers"].required("must provide at least one DNS nameserver when `dnsPolicy` is None")
        if not config["nameservers"]:
            return
    servers = config["nameservers"]
    if len(servers) > 3:
        servers.invalid("must not have more than 3 nameservers")
    for server in servers:
        server.ip()
    _validate_searches(config["searches"])
    for option in config["options"]:
        if not option["name"]:
            option.missing("must not be empty")


def _validate_searches(searches: Field) -> None:
    if len(searches) > 32:
        searches.invalid("must not have more than 32 search paths")
    if len(" ".join(searches.value or ()).encode()) > 2048:
        searches.invalid("must not have more than 2048 characters (including spaces) in the search list")
    for search in searches:
        if search.value != ".":
            search.with_value(search.value.removesuffix(".")).check(content.subdomain_with_underscore_problems)


def _validate_gates(gates: Field, options: PodOptions) -> None:
    seen: set[str] = set()
    for gate in gates:
        if gates.key == "readinessGates":
            gate["conditionType"].qualified_name()
        else:
            gate.with_value(gate["name"].text).qualified_name().unique(seen)


def _validate_hostname_override(name: Field) -> None:
    for other in ("setHostnameAsFQDN", "hostNetwork"):
        if name.parent[other]:
            name.forbidden(f"may not be specified when {other} is true")
    name.max_bytes(64).dns_subdomain()


def _validate_aliases(aliases: Field) -> None:
    for alias in aliases:
        alias["ip"].ip()
        for name in alias["hostnames"]:
            name.dns_subdomain()


_SCHEDULING: dict[str, Callable[[Field, PodOptions], object]] = {
    "affinity": affinity.validate_affinity,
    "dnsPolicy": _validate_dns,
    "readinessGates": _validate_gates,
    "schedulingGates": _validate_gates,
    "topologySpreadConstraints": affinity.validate_topology_spread_constraints,
}

#: Names and the like, with their rules.
_NAMES: dict[str, Callable[[Field], object]] = {
    "hostnameOverride": _validate_hostname_override,
    "serviceAccountName": lambda name: name.optional().dns_subdomain(),
    "nodeName": lambda name: name.optional().dns_subdomain(),
    "activeDeadlineSeconds": lambda seconds: seconds.between(1, MAX_INT32),
    "hostname": lambda name: name.optional().dns_label(),
    "subdomain": lambda name: name.optional().dns_label(),
    "tolerations": affinity.validate_tolerations,
    "hostAliases": _validate_aliases,
    "priorityClassName": lambda name: name.optional().dns_subdomain(),
    "runtimeClassName": Field.dns_subdomain,
    "preemptionPolicy": lambda policy: policy.required().one_of(PREEMPTION_POLICIES),
    "overhead": lambda overhead: validate_requirements(overhead.with_value({"limits": overhead.value})),
}
