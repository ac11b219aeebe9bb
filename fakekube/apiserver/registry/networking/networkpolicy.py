"""TODO"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import AGE, NAME, Printer, age_of, columns, get, name_of
from fakekube.apiserver.registry.generic.table.labels import selector_cell
from fakekube.apiserver.registry.generic.validation.content import Errors, add, check_port_number, port_name_problems
from fakekube.apiserver.registry.generic.validation.ip import check_cidr, cidr_warnings, parse_cidr
from fakekube.apiserver.registry.generic.validation.labelselectors import check_label_selector, has_invalid_values
from fakekube.apiserver.wire.status import (
    FieldError,
    field_forbidden,
    field_invalid,
    field_not_supported,
    field_required,
)

Object = dict[str, Any]


def default_network_policy(obj: Object) -> None:
    spec = obj.setdefault("spec", {})
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]
    for rule in (*(spec.get("ingress") or ()), *(spec.get("egress") or ())):
        for port in rule.get("ports") or ():
            port.setdefault("protocol", "TCP")


PROTOCOLS = ("TCP", "UDP", "SCTP")


POLICY_TYPES = ("Ingress", "Egress")


#: Direction -> where its rules name their peers.
PEERS = {"ingress": "from", "egress": "to"}


def validate_network_policy(policy: Object) -> list[FieldError]:
    errors: Errors = []
    _check_spec(policy.get("spec") or {}, errors, any_values=False, known=())
    return errors


def validate_network_policy_update(new: Object, old: Object) -> list[FieldError]:
    errors: Errors = []
    before = old.get("spec") or {}
    known = [cidr for _, block in _blocks(before) for cidr in (block.get("cidr") or "", *(block.get("except") or ()))]
    any_values = has_invalid_values(before.get("podSelector"))
    _check_spec(new.get("spec") or {}, errors, any_values=any_values, known=known)
    return errors


def _blocks(spec: Object) -> Iterator[tuple[str, Object]]:
    """Every ipBlock with its path."""
    for direction, peers in PEERS.items():
        for i, rule in enumerate(spec.get(direction) or ()):
            for j, peer in enumerate(rule.get(peers) or ()):
                if peer.get("ipBlock") is not None:
                    yield f"spec.{direction}[{i}].{peers}[{j}].ipBlock", peer["ipBlock"]


def _check_spec(spec: Object, errors: Errors, *, any_values: bool, known: Any) -> None:
    check_label_selector(spec.get("podSelector"), "spec.podSelector", errors, any_values=any_values)
    for direction, peers in PEERS.items():
        for i, rule in enumerate(spec.get(direction) or ()):
            path = f"spec.{direction}[{i}]"
            for j, port in enumerate(rule.get("ports") or ()):
                _check_port(port, f"{path}.ports[{j}]", errors)
            for j, peer in enumerate(rule.get(peers) or ()):
                _check_peer(peer, f"{path}.{peers}[{j}]", errors, any_values, known)
    types = spec.get("policyTypes") or ()
    if len(types) > len(POLICY_TYPES):
        errors.append(field_invalid("spec.policyTypes", list(types), "may not specify more than two policyTypes"))
        return
    for i, one in enumerate(types):
        if one not in POLICY_TYPES:
            errors.append(field_not_supported(f"spec.policyTypes[{i}]", one, POLICY_TYPES))


def _check_port(port: Object, path: str, errors: Errors) -> None:
    protocol, number, end = port.get("protocol"), port.get("port"), port.get("endPort")
    if protocol is not None and protocol not in PROTOCOLS:
        errors.append(field_not_supported(f"{path}.protocol", protocol, PROTOCOLS))
    if number is None:
        if end is not None:
            errors.append(field_invalid(f"{path}.endPort", end, "may not be specified when `port` is not specified"))
    elif isinstance(number, str):
        if end is not None:
            errors.append(field_invalid(f"{path}.endPort", end, "may not be specified when `port` is non-numeric"))
        add(errors, f"{path}.port", number, port_name_problems(number))
    else:
        check_port_number(number, f"{path}.port", errors)
        if end is not None and end < number:
            errors.append(field_invalid(f"{path}.endPort", end, "must be greater than or equal to `port`"))
        if end is not None:
            check_port_number(end, f"{path}.endPort", errors)


def _check_peer(peer: Object, path: str, errors: Errors, any_values: bool, known: Any) -> None:
    named = [field for field in ("podSelector", "namespaceSelector", "ipBlock") if peer.get(field) is not None]
    for field in named:
        if field == "ipBlock":
            _check_block(peer[field], f"{path}.ipBlock", errors, known)
        else:
            check_label_selector(peer[field], f"{path}.{field}", errors, any_values=any_values)
    if not named:
        errors.append(field_required(path, "must specify a peer"))
    elif len(named) > 1 and "ipBlock" in named:
        errors.append(field_forbidden(path, "may not specify both ipBlock and another peer"))


def _check_block(block: Object, path: str, errors: Errors, known: Any) -> None:
    cidr = block.get("cidr") or ""
    if not cidr:
        errors.append(field_required(f"{path}.cidr"))
        return
    check_cidr(cidr, f"{path}.cidr", errors, known)
    outer = parse_cidr(cidr)
    if outer is None:
        return
    for i, one in enumerate(block.get("except") or ()):
        here = f"{path}.except[{i}]"
        check_cidr(one, here, errors, known)
        inner = parse_cidr(one)
        if inner is None:
            continue
        if inner[0] not in outer[1] or outer[1].prefixlen >= inner[1].prefixlen:
            errors.append(field_invalid(here, one, "must be a strict subset of `cidr`"))


def network_policy_warnings(policy: Object) -> list[str]:
    warnings = []
    for path, block in _blocks(policy.get("spec") or {}):
        warnings += cidr_warnings(block.get("cidr") or "", f"{path}.cidr")
        for i, one in enumerate(block.get("except") or ()):
            warnings += cidr_warnings(one, f"{path}.except[{i}]")
    return warnings


def _network_policy(obj: Object, ages: Ages) -> list[Any]:
    return [name_of(obj), selector_cell(get(obj, "spec.podSelector", {})), age_of(obj, ages)]


KIND = Kind(
    "networkpolicies.networking.k8s.io",
    Strategy(
        default=default_network_policy,
        generation=("spec",),
        validate=validate_network_policy,
        validate_update=validate_network_policy_update,
        warnings=network_policy_warnings,
    ),
    printer=Printer(columns(NAME, "Pod-Selector", AGE), _network_policy),
)
