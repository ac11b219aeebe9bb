"""NetworkPolicy (`ValidateNetworkPolicy`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import AGE, NAME, Printer, age_of, columns, get, name_of
from fakekube.apiserver.registry.generic.table.labels import selector_cell
from fakekube.apiserver.registry.generic.validation.content import port_name_problems
from fakekube.apiserver.registry.generic.validation.field import Field
from fakekube.apiserver.registry.generic.validation.ip import cidr_warnings, parse_cidr, validate_cidr
from fakekube.apiserver.registry.generic.validation.labelselectors import has_invalid_values, validate_label_selector
from fakekube.apiserver.registry.generic.validation.rules import update_validator, validator

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

#: Direction -> the field for the peers of its rules.
PEERS = {"ingress": "from", "egress": "to"}


def _blocks(spec: Object) -> Iterator[tuple[str, Object]]:
    """Yields every ipBlock with its path."""
    for direction, peers in PEERS.items():
        for i, rule in enumerate(spec.get(direction) or ()):
            for j, peer in enumerate(rule.get(peers) or ()):
                if peer.get("ipBlock") is not None:
                    yield f"spec.{direction}[{i}].{peers}[{j}].ipBlock", peer["ipBlock"]


def validate(policy: Field, *, any_values: bool = False, known: Sequence[str] = ()) -> None:
    """`any_values` and `known` accept label values and ranges of addresses of the stored object."""
    spec = policy["spec"]
    validate_label_selector(spec["podSelector"], any_values=any_values)
    for direction, peers in PEERS.items():
        for rule in spec[direction]:
            for port in rule["ports"]:
                _validate_port(port)
            for peer in rule[peers]:
                _validate_peer(peer, any_values, known)
    types = spec["policyTypes"]
    if len(types) > len(POLICY_TYPES):
        types.invalid("may not specify more than two policyTypes")
        return
    for one in types:
        one.one_of(POLICY_TYPES)


def validate_update(new: Field, old: Field) -> None:
    before = old["spec"]
    blocks = (block for _, block in _blocks(before.value or {}))
    known = [cidr for block in blocks for cidr in (block.get("cidr") or "", *(block.get("except") or ()))]
    validate(new, any_values=has_invalid_values(before["podSelector"].value), known=known)


def _validate_port(port: Field) -> None:
    number, end = port["port"], port.get("endPort")
    port.get("protocol").one_of(PROTOCOLS)
    if number.value is None:
        end.invalid("may not be specified when `port` is not specified")
    elif isinstance(number.value, str):
        end.invalid("may not be specified when `port` is non-numeric")
        number.check(port_name_problems)
    else:
        number.port_number()
        if end.number < number.value:
            end.invalid("must be greater than or equal to `port`", number.value)
        end.port_number()


def _validate_peer(peer: Field, any_values: bool, known: Sequence[str]) -> None:
    named = peer.members(("podSelector", "namespaceSelector", "ipBlock"))
    for one in named:
        if one.key == "ipBlock":
            _validate_block(one, known)
        else:
            validate_label_selector(one, any_values=any_values)
    if not named:
        peer.missing("must specify a peer")
    elif len(named) > 1 and peer["ipBlock"].value is not None:
        peer.forbidden("may not specify both ipBlock and another peer")


def _validate_block(block: Field, known: Sequence[str]) -> None:
    cidr = block["cidr"].required()
    validate_cidr(cidr, known)
    outer = parse_cidr(cidr.text)
    if outer is None:
        return
    for one in block["except"]:
        validate_cidr(one, known)
        inner = parse_cidr(one.text)
        if inner is not None and (inner[0] not in outer[1] or outer[1].prefixlen >= inner[1].prefixlen):
            one.invalid("must be a strict subset of `cidr`")


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
        empties_count=True,
        validate=validator(validate),
        as_new_before=36,
        validate_update=update_validator(validate_update),
        warnings=network_policy_warnings,
    ),
    printer=Printer(columns(NAME, "Pod-Selector", AGE), _network_policy),
)
