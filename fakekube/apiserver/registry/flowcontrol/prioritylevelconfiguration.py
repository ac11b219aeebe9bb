"""TODO"""

from __future__ import annotations

import math
from typing import Any

from fakekube.apiserver.registry.flowcontrol.flowschema import CATCH_ALL, EXEMPT, _check_status, validate_status_update
from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import AGE, NAME, Printer, age_of, columns, get, name_of
from fakekube.apiserver.registry.generic.validation.content import Errors, check_range
from fakekube.apiserver.registry.generic.validation.gostructs import invalid_struct
from fakekube.apiserver.wire.status import (
    FieldError,
    field_forbidden,
    field_invalid,
    field_not_supported,
    field_required,
)

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


def validate_priority_level(level: Object) -> list[FieldError]:
    name, spec = level["metadata"].get("name") or "", level.get("spec") or {}
    errors: Errors = []
    type, limited, exempt = spec.get("type") or "", spec.get("limited"), spec.get("exempt")
    if (name == EXEMPT) != (type == "Exempt"):
        errors.append(field_invalid("spec.type", type, "type must be 'Exempt' if and only if name is 'exempt'"))
    if type == "Exempt":
        if limited is not None:
            errors.append(field_forbidden("spec.limited", "must be nil if the type is not Limited"))
        _check_exempt(exempt or {}, "spec.exempt", errors)
    elif type == "Limited":
        if exempt is not None:
            errors.append(field_forbidden("spec.exempt", "must be nil if the type is Limited"))
        _check_limited(limited, "spec.limited", errors)
    else:
        errors.append(field_not_supported("spec.type", type, LEVELS))
    _check_fixed_level(name, spec, errors)
    _check_status(level, errors)
    return errors


def validate_priority_level_update(new: Object, old: Object) -> list[FieldError]:
    return validate_priority_level(new)


def _check_fixed_level(name: str, spec: Object, errors: Errors) -> None:
    """Of the exempt level only what it lends can be changed."""
    if name not in FIXED_LEVELS:
        return
    free = name == EXEMPT
    fixed = {key: value for key, value in spec.items() if not (free and key == "exempt")}
    if fixed != FIXED_LEVELS[name]:
        but = " except the 'spec.exempt' field" if free else ""
        why = f"spec of '{name}'{but} must equal the fixed value"
        errors.append(invalid_struct("spec", "PriorityLevelConfigurationSpec", spec, why))


def _check_shares(config: Object, path: str, errors: Errors) -> None:
    shares = config.get("nominalConcurrencyShares") or 0
    if shares < 0:
        errors.append(field_invalid(f"{path}.nominalConcurrencyShares", shares, "must be a non-negative integer"))


def _check_lendable(config: Object, path: str, errors: Errors) -> None:
    if config.get("lendablePercent") is not None:
        check_range(config["lendablePercent"], 0, 100, f"{path}.lendablePercent", errors)


def _check_exempt(exempt: Object, path: str, errors: Errors) -> None:
    _check_shares(exempt, path, errors)
    _check_lendable(exempt, path, errors)


def _check_limited(limited: Object | None, path: str, errors: Errors) -> None:
    if limited is None:
        errors.append(field_required(path, "must not be empty when type is Limited"))
        return
    _check_shares(limited, path, errors)
    _check_response(limited.get("limitResponse") or {}, f"{path}.limitResponse", errors)
    _check_lendable(limited, path, errors)
    borrowing = limited.get("borrowingLimitPercent")
    if borrowing is not None and borrowing < 0:
        why = "if specified, must be a non-negative integer"
        errors.append(field_invalid(f"{path}.borrowingLimitPercent", borrowing, why))


def _check_response(response: Object, path: str, errors: Errors) -> None:
    type, queuing = response.get("type") or "", response.get("queuing")
    if type == "Reject":
        if queuing is not None:
            why = "must be nil if limited.limitResponse.type is not Limited"
            errors.append(field_forbidden(f"{path}.queuing", why))
    elif type != "Queue":
        errors.append(field_not_supported(f"{path}.type", type, RESPONSES))
    elif queuing is None:
        why = "must not be empty if limited.limitResponse.type is Limited"
        errors.append(field_required(f"{path}.queuing", why))
    else:
        _check_queuing(queuing, f"{path}.queuing", errors)


def _check_queuing(queuing: Object, path: str, errors: Errors) -> None:
    limit, queues, hand = (queuing.get(key) or 0 for key in ("queueLengthLimit", "queues", "handSize"))
    if limit <= 0:
        errors.append(field_invalid(f"{path}.queueLengthLimit", limit, "must be positive"))
    if queues <= 0:
        errors.append(field_invalid(f"{path}.queues", queues, "must be positive"))
    elif queues > MOST_QUEUES:
        errors.append(field_invalid(f"{path}.queues", queues, f"must not be greater than {MOST_QUEUES}"))
    problem = _hand_problem(queues, hand)
    if problem:
        errors.append(field_invalid(f"{path}.handSize", hand, problem))


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
        generation=("spec",),
        repeats_metadata=False,
        default=default_priority_level,
        validate=validate_priority_level,
        validate_update=validate_priority_level_update,
        validate_status_update=validate_status_update,
    ),
    printer=Printer(
        columns(NAME, "Type", "NominalConcurrencyShares", "Queues", "HandSize", "QueueLengthLimit", AGE),
        _priority_level,
    ),
)
