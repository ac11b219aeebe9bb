"""Service."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.names import service_name_problems
from fakekube.apiserver.registry.core.service import validation
from fakekube.apiserver.registry.core.service.assignment import allocate
from fakekube.apiserver.registry.core.service.defaults import default_service
from fakekube.apiserver.registry.core.service.spec import (
    externally_accessible,
    is_load_balancer,
    needs_cluster_address,
    needs_health_check,
    needs_node_port,
    node_ports,
    spec_of,
)
from fakekube.apiserver.registry.core.service.table import PRINTER
from fakekube.apiserver.registry.core.service.warnings import service_warnings
from fakekube.apiserver.registry.generic.gatedfields import GatedFields
from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.selectablefields import string_at
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.validation.rules import update_validator, validator

Object = dict[str, Any]

#: Fields that a change of type drops if the new type does not have them and the update does not change them.
DEPENDENT_FIELDS = (
    (needs_cluster_address, ("ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy")),
    (needs_health_check, ("healthCheckNodePort",)),
    (is_load_balancer, ("allocateLoadBalancerNodePorts", "loadBalancerClass")),
    (externally_accessible, ("externalTrafficPolicy",)),
)


def drop_dependent(new: Object, old: Object) -> Object:
    """Drops the fields that the new type does not have (`dropTypeDependentFields`)."""
    spec, before = dict(spec_of(new)), spec_of(old)
    gone = needs_cluster_address(old) and not needs_cluster_address(new)
    if gone and all(spec.get(key) == before.get(key) for key in ("clusterIP", "clusterIPs")):
        spec.pop("clusterIP", None)
        spec.pop("clusterIPs", None)
    for has, fields in DEPENDENT_FIELDS:
        if has(old) and not has(new):
            for field in fields:
                if spec.get(field) == before.get(field):
                    spec.pop(field, None)
    if needs_node_port(old) and not needs_node_port(new) and node_ports(new) <= node_ports(old):
        spec["ports"] = [{k: v for k, v in port.items() if k != "nodePort"} for port in spec.get("ports") or ()]
    if not spec.get("ports"):
        spec.pop("ports", None)
    dropped = {**new, "spec": spec}
    status = dropped.get("status")
    if status is not None and not is_load_balancer(new):
        dropped["status"] = {**status, "loadBalancer": {}}
    return dropped


_GATED = GatedFields(
    ("ServiceTrafficDistribution", ("spec.trafficDistribution",)),
    ("LoadBalancerIPMode", ("status.loadBalancer.ingress[].ipMode",)),
)


KIND = Kind(
    "services",
    Strategy(
        default=default_service,
        name_check=service_name_problems,
        create_on_update=True,
        returns_deleted=True,
        fields={"spec.clusterIP": string_at("spec", "clusterIP"), "spec.type": string_at("spec", "type")},
        fields_message="label",
        allocate=allocate,
        drop_disabled=_GATED.drop_disabled,
        prepare_update=drop_dependent,
        validate=validator(validation.validate),
        validate_update=update_validator(validation.validate_update),
        validate_status_update=update_validator(validation.validate_status_update),
        warnings=service_warnings,
    ),
    printer=PRINTER,
    before={31: {"fields": {}}},
)
