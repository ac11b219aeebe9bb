"""PriorityLevelConfiguration: the concurrency of a priority level (`ValidatePriorityLevelConfiguration`)."""

from __future__ import annotations

import math
from typing import Any

from fakekube.apiserver.registry.flowcontrol.flowschema import CATCH_ALL, EXEMPT, validate_status
from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import AGE, NAME, Printer, age_of, columns, get, name_of
from fakekube.apiserver.registry.generic.validation.field import Field
from fakekube.apiserver.registry.generic.validation.metadata import as_new
from fakekube.apiserver.registry.generic.validation.rules import update_validator, validator

Object = dict[str, Any]

QUEUING = {"handSize": 8, "queues": 64, "queueLengthLimit": 50}


def default_priority_level(obj: Object) -> None:
    spec = obj.get("spec") or {}
    for kind, shares in (("exempt", 0), ("limited", 30)):
        config = spec.get(kind)
        if config is None:
            continue
        if config.get("nominalConcurrencyShares") is None:
            config["nominalConcurrencyShares"] = shares
        config.setdefault("lendablePercent", 0)
    queuing = ((spec.get("limited") or {}).get("limitResponse") or {}).get("queuing")
    if queuing is not None:
        queuing.update({field: value for field, value in QUEUING.items() if not queuing.get(field)})


LEVELS = ("Exempt", "Limited")

RESPONSES = ("Queue", "Reject")

MOST_QUEUES = 10_000_000

MOST_HASH_BITS = 60


FIXED_LEVELS: dict[str, Object] = {
    EXEMPT: {"type": "Exempt"},
    CATCH_ALL: {
        "type": "Limited",
        "limited": {"nominalConcurrencyShares": 5, "lendablePercent": 0, "limitResponse": {"type": "Reject"}},
    },
}


def validate(level: Field) -> None:
    name, spec = level["metadata"]["name"].text, level["spec"]
    kind, limited, exempt = spec["type"], spec["limited"], spec["exempt"]
    if (name == EXEMPT) != (kind.value == "Exempt"):
        kind.invalid("must be 'Exempt' if and only if `name` is 'exempt'")
    if kind.value == "Exempt":
        spec.get("limited").forbidden("must be nil if the type is not Limited")
        _validate_shares(exempt)
        exempt.get("lendablePercent").between(0, 100)
    elif kind.value == "Limited":
        spec.get("exempt").forbidden("must be nil if the type is Limited")
        _validate_limited(limited.specified("must not be empty when type is Limited"))
    else:
        kind.not_supported(LEVELS)
    _validate_fixed(spec, name)
    validate_status(level)


def _validate_fixed(spec: Field, name: str) -> None:
    """Of the exempt level only what it lends can change."""
    if name not in FIXED_LEVELS:
        return
    free = name == EXEMPT
    fixed = {key: value for key, value in spec.struct.items() if not (free and key == "exempt")}
    if fixed != FIXED_LEVELS[name]:
        but = " except the 'spec.exempt' field" if free else ""
        why = f"spec of '{name}'{but} must equal the fixed value"
        spec.with_value(spec.struct).invalid_struct("PriorityLevelConfigurationSpec", why)


def _validate_shares(config: Field) -> None:
    config["nominalConcurrencyShares"].at_least(0, "must be a non-negative integer")


def _validate_limited(limited: Field) -> None:
    _validate_shares(limited)
    _validate_response(limited["limitResponse"])
    limited.get("lendablePercent").between(0, 100)
    limited["borrowingLimitPercent"].at_least(0, "if specified, must be a non-negative integer")


def _validate_response(response: Field) -> None:
    kind = response["type"].one_of(RESPONSES)
    if kind.value == "Reject":
        response.get("queuing").forbidden("must be nil if limited.limitResponse.type is not Limited")
    elif kind.value == "Queue":
        _validate_queuing(response["queuing"].specified("must not be empty if limited.limitResponse.type is Limited"))


def _validate_queuing(queuing: Field) -> None:
    limit, queues, hand = (queuing[name] for name in ("queueLengthLimit", "queues", "handSize"))
    limit.at_least(1, "must be positive")
    queues.at_least(1, "must be positive").at_most(MOST_QUEUES, f"must not be greater than {MOST_QUEUES}")
    hand.invalid_if(_hand_problem(queues.number, hand.number), hand.number)


def _hand_problem(queues: int, hand: int) -> str:
    if hand <= 0:
        return "must be positive"
    if hand > queues:
        return f"should not be greater than queues ({queues})"
    if math.ceil(math.log2(queues) * hand) > MOST_HASH_BITS:
        bits = f"required entropy bits of deckSize {queues} and handSize {hand}"
        return f"{bits} should not be greater than {MOST_HASH_BITS}"
    return ""


def _priority_level(obj: Object, ages: Ages) -> list[Any]:
    limited = get(obj, "spec.limited")
    shares = "<none>" if limited is None else limited.get("nominalConcurrencyShares") or 0
    queuing = get(limited, "limitResponse.queuing")
    queues = [
        "<none>" if queuing is None else queuing.get(field, 0) for field in ("queues", "handSize", "queueLengthLimit")
    ]
    return [name_of(obj), get(obj, "spec.type", ""), shares, *queues, age_of(obj, ages)]


KIND = Kind(
    "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io",
    Strategy(
        status_repeats_metadata=False,
        status_resets_metadata=True,
        generation=("spec",),
        repeats_metadata=False,
        default=default_priority_level,
        validate=validator(validate),
        validate_update=as_new(validate),
        validate_status_update=update_validator(lambda new, old: validate_status(new)),
    ),
    printer=Printer(
        columns(NAME, "Type", "NominalConcurrencyShares", "Queues", "HandSize", "QueueLengthLimit", AGE),
        _priority_level,
    ),
)
