"""The devices that claims request (`resource/validation`)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from fakekube.apiserver.features import enabled, since
from fakekube.apiserver.registry.core.pod.validation.volumes import validate_csi_driver_name
from fakekube.apiserver.registry.generic.gatedfields import Row
from fakekube.apiserver.registry.generic.validation.field import Field
from fakekube.apiserver.registry.resource.deviceexpressions import validate_expression

MOST_REQUESTS, MOST_CONSTRAINTS, MOST_CONFIGS = 32, 32, 32

MOST_SELECTORS, MOST_ALTERNATIVES, MOST_BINDING_CONDITIONS = 32, 8, 4

LONGEST_RAW_OBJECT = 10 * 1024

LONGEST_NAME, LONGEST_POOL = 32, 253

MODES = ("All", "ExactCount")

EFFECTS = ("NoExecute", "NoSchedule", "None")

OPERATORS = ("Equal", "Exists")

_identifier = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


IDENTIFIER = (
    "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric "
    "characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is "
    "'[A-Za-z_][A-Za-z0-9_]*')"
)


Rule = Callable[[Field], object]

WHICH_REQUEST = "exactly one of `exactly` or `firstAvailable` is required"
REQUEST_REFERENCE = (
    "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
)


def gated_of_claim(
    spec: str, *, before_35: bool = False, of_status: Mapping[str, Sequence[str]] = {}
) -> tuple[Row, ...]:
    """The fields of features of a claim whose specification has this path (`DropDisabledFields`).

    before_35: of Kubernetes before 1.35, which always kept tolerations and distinctAttribute. of_status: by the gate,
    what a feature has in the status: a feature that the stored specification uses keeps it, too.
    """
    requests = f"{spec}.devices.requests[]"
    exactly, first_available = f"{requests}.exactly", f"{requests}.firstAvailable[]"
    rows: dict[str, Sequence[str]] = {
        "DRAPrioritizedList": (f"{requests}.firstAvailable",),
        "DRADeviceTaints": (f"{exactly}.tolerations", f"{first_available}.tolerations"),
        "DRAAdminAccess": (f"{exactly}.adminAccess",),
        "DRAConsumableCapacity": (
            f"{exactly}.capacity", f"{first_available}.capacity", f"{spec}.devices.constraints[].distinctAttribute",
        ),
    }  # fmt: skip
    if before_35:
        del rows["DRADeviceTaints"]
        rows["DRAConsumableCapacity"] = rows["DRAConsumableCapacity"][:2]
    return tuple((gate, (*paths, *of_status.get(gate, ()))) for gate, paths in rows.items())


def each(items: Field, most: int, rule: Rule) -> None:
    """Applies the rule to all items, unless there are too many."""
    for item in items.limited(most):
        rule(item)


def each_once(items: Field, most: int, rule: Rule, key: Callable[[Field], Any]) -> None:
    """The same of items with distinct keys."""
    each(items, most, rule)
    seen: set[Any] = set()
    for item in items if len(items) <= most else ():
        item.unique(seen, key(item))


def named(item: Field) -> str:
    return item["name"].text


# --- requests --------------------------------------------------------------------------------------------------------


def request_names(devices: Field) -> dict[str, set[str]]:
    """The names of the requests, each with those of its alternatives."""
    return {named(one): {named(sub) for sub in one["firstAvailable"]} for one in devices["requests"]}


def validate_devices(devices: Field) -> None:
    """`validateDeviceClaim`."""
    known = request_names(devices)
    each_once(devices["requests"], MOST_REQUESTS, _validate_request, named)
    each(devices["constraints"], MOST_CONSTRAINTS, partial(_validate_constraint, known=known))
    each(devices["config"], MOST_CONFIGS, partial(validate_config, known=known))


def _validate_request(request: Field) -> None:
    request["name"].dns_label()
    exactly, alternatives = request["exactly"], request["firstAvailable"]
    if exactly.value is None and not alternatives:
        request.missing(WHICH_REQUEST)
    elif exactly.value is not None and alternatives:
        request.invalid(f"{WHICH_REQUEST}, but multiple fields are set", None)
    elif alternatives:
        each_once(alternatives, MOST_ALTERNATIVES, _validate_alternative, named)
    else:
        _validate_exact(exactly)


def _validate_alternative(request: Field) -> None:
    request["name"].dns_label()
    _validate_exact(request)


def _validate_exact(request: Field) -> None:
    request["deviceClassName"].required().dns_subdomain()
    each(request["selectors"], MOST_SELECTORS, validate_selector)
    mode, count = request["allocationMode"].one_of(MODES), request["count"]
    if mode.value == "All" and count:
        count.invalid("must not be specified when allocationMode is 'All'")
    elif mode.value == "ExactCount":
        count.positive()
    for toleration in request["tolerations"]:
        validate_toleration(toleration)


def validate_selector(selector: Field) -> None:
    cel = selector["cel"]
    if cel.value is None:
        cel.missing()
    else:
        validate_expression(cel["expression"])


def validate_toleration(toleration: Field) -> None:
    toleration["key"].optional().qualified_name()
    operator, value = toleration["operator"], toleration["value"]
    if operator.value == "Exists" and value:
        value.invalid("must be empty for operator `Exists`")
    elif operator.value == "Equal":
        value.label_value()
    else:
        operator.required().one_of(OPERATORS)
    toleration["effect"].optional().one_of(EFFECTS)


def _validate_constraint(constraint: Field, known: Mapping[str, set[str]]) -> None:
    _validate_references(constraint["requests"], known)
    attributes = constraint.members(("matchAttribute", "distinctAttribute"))
    if attributes:
        _validate_full_name(attributes[0])
    elif enabled("DRAConsumableCapacity"):
        why = 'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set'
        constraint.missing(why)
    else:
        constraint["matchAttribute"].missing()


def _validate_references(references: Field, known: Mapping[str, set[str]]) -> None:
    rule = partial(validate_reference, known=known)
    each_once(references, MOST_REQUESTS, rule, lambda reference: reference.value)


def validate_reference(reference: Field, known: Mapping[str, set[str]]) -> None:
    """To a request, or to an alternative of one."""
    parts = reference.text.split("/")
    if len(parts) <= 2:
        for part in parts:
            reference.with_value(part).dns_label()
    if len(parts) > 2 or parts[0] not in known or (len(parts) == 2 and parts[1] not in known[parts[0]]):
        reference.invalid(REQUEST_REFERENCE)


def validate_config(config: Field, known: Mapping[str, set[str]] | None = None) -> None:
    if known is not None:
        _validate_references(config["requests"], known)
    opaque = config["opaque"].specified()
    validate_csi_driver_name(opaque["driver"])
    validate_raw_object(opaque["parameters"].specified())


def validate_raw_object(field: Field) -> None:
    """JSON of a driver (`validateRawExtension`)."""
    text = json.dumps(field.value, separators=(",", ":"), ensure_ascii=False)
    if len(text.encode()) > LONGEST_RAW_OBJECT:
        field.too_long(LONGEST_RAW_OBJECT)
    elif not isinstance(field.value, dict):
        field.invalid("must be a valid JSON object", "<value omitted>")


# --- conditions that devices wait for --------------------------------------------------------------------------------


def validate_binding_conditions(holder: Field) -> None:
    """`validateDeviceBindingParameters`."""
    conditions, failures = holder["bindingConditions"], holder["bindingFailureConditions"]
    for items in (conditions, failures):
        each(items, MOST_BINDING_CONDITIONS, lambda item: item.qualified_name())
    seen: set[str] = set()
    for condition in conditions:
        condition.unique(seen)
    seen_failures: set[str] = set()
    for failure in failures:
        failure.unique(seen_failures)
        if failure.text in seen:
            failure.invalid("bindingFailureConditions must not overlap with bindingConditions")
    if failures and not conditions:
        conditions.invalid("bindingConditions are required to use bindingFailureConditions", conditions.value)
    if conditions and not failures:
        failures.invalid("bindingFailureConditions are required to use bindingConditions", failures.value)


# --- names -----------------------------------------------------------------------------------------------------------


def validate_pool_name(name: Field) -> None:
    pool = name.required().max_bytes(LONGEST_POOL)
    for part in pool.text.split("/"):
        pool.with_value(part).dns_subdomain()


def validate_name(name: Field) -> None:
    """An identifier, maybe with the domain of its driver before it."""
    domain, slash, identifier = name.text.rpartition("/")
    if "/" in domain:
        return
    if domain:
        validate_csi_driver_name(name.with_value(domain))
    elif slash:
        name.invalid("the domain must not be empty", "")
    if slash and not identifier:
        name.invalid("the name must not be empty", "")
        return
    if len(identifier) > LONGEST_NAME:
        name.too_long(LONGEST_NAME)
    if not _identifier.fullmatch(identifier):
        name.invalid(IDENTIFIER, identifier)


def _validate_full_name(name: Field) -> None:
    validate_name(name)
    if "/" not in name.text:
        why = "a fully qualified name must be a domain and a name separated by a slash"
        name.invalid(why if since(35) else "must include a domain")
