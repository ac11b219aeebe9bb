"""DaemonSet (`ValidateDaemonSet`)."""

from __future__ import annotations

import re
from typing import Any

from fakekube.apiserver.registry.core.pod.defaults import default_template
from fakekube.apiserver.registry.core.pod.disabledfields import drop_disabled_in
from fakekube.apiserver.registry.core.pod.validation.podoptions import PodOptions
from fakekube.apiserver.registry.core.pod.validation.podspec import validate_template
from fakekube.apiserver.registry.core.podtemplate.status import status_validator
from fakekube.apiserver.registry.core.podtemplate.table import SELECTED_COLUMNS, container_cells, count_at
from fakekube.apiserver.registry.core.podtemplate.validation import (
    rolling_counts,
    spec_update_validator,
    spec_validator,
    validate_lasting,
    validate_match,
)
from fakekube.apiserver.registry.core.podtemplate.warnings import of_template, where_changed
from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import AGE, NAME, Printer, age_of, columns, get, integer, name_of
from fakekube.apiserver.registry.generic.table.labels import labels_cell, selector_cell
from fakekube.apiserver.registry.generic.validation.content import share
from fakekube.apiserver.registry.generic.validation.field import Field
from fakekube.apiserver.registry.generic.validation.labelselectors import is_empty, is_usable, validate_label_selector
from fakekube.apiserver.schema.wrongtype import WrongType
from fakekube.apiserver.wire import integers
from fakekube.apiserver.wire.goprint import go_quote

Object = dict[str, Any]


def default_daemon_set(obj: Object) -> None:
    spec = obj.setdefault("spec", {})
    strategy = spec.setdefault("updateStrategy", {})
    strategy.setdefault("type", "RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", 1)
        rolling.setdefault("maxSurge", 0)
    spec.setdefault("revisionHistoryLimit", 10)
    default_template(spec.get("template"))
    obj.update(_with_template_generation(obj, _decoded_template_generation(obj)))


TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"


def _decoded_template_generation(obj: Object) -> int:
    """Raises WrongType for text that is not a number (`Convert_v1_DaemonSet_To_apps_DaemonSet`)."""
    text = (obj["metadata"].get("annotations") or {}).get(TEMPLATE_GENERATION, "0")
    try:
        return integers.parse_int(text)
    except ValueError as problem:
        raise WrongType(f"strconv.ParseInt: parsing {go_quote(text)}: {problem}") from None


def _template_generation(obj: Object) -> int:
    text = (obj["metadata"].get("annotations") or {}).get(TEMPLATE_GENERATION) or ""
    return max(int(text), 1) if re.fullmatch("[+-]?[0-9]{1,18}", text) else 1


def _with_template_generation(obj: Object, generation: int) -> Object:
    annotations = {**(obj["metadata"].get("annotations") or {}), TEMPLATE_GENERATION: str(generation)}
    return {**obj, "metadata": {**obj["metadata"], "annotations": annotations}}


def prepare_daemon_set(obj: Object) -> Object:
    """An annotation counts the changes of the template."""
    return _with_template_generation(obj, _template_generation(obj))


def prepare_daemon_set_update(new: Object, old: Object) -> Object:
    changed = (new.get("spec") or {}).get("template") != (old.get("spec") or {}).get("template")
    return _with_template_generation(new, _template_generation(old) + changed)


def prepare_daemon_set_status(new: Object, old: Object) -> Object:
    return _with_template_generation(new, _template_generation(old))


STRATEGIES = ("RollingUpdate", "OnDelete")

COUNTS = (
    "currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady", "observedGeneration",
    "updatedNumberScheduled", "numberAvailable", "numberUnavailable", "collisionCount",
)  # fmt: skip


def _validate_spec(spec: Field, options: PodOptions) -> None:
    selector, template = spec["selector"], spec["template"]
    validate_label_selector(selector, any_values=options.any_selector_values)
    if is_usable(selector.value):
        validate_match(selector.value, template)
    if is_empty(selector.value):
        selector.invalid_struct("LabelSelector", "empty selector is invalid for daemonset")
    validate_template(template, options)
    validate_lasting(template["spec"], "DaemonSet")
    spec["minReadySeconds"].non_negative()
    _validate_strategy(spec["updateStrategy"])
    spec["revisionHistoryLimit"].non_negative()


def _validate_strategy(strategy: Field) -> None:
    kind, rolling = strategy["type"].value, strategy["rollingUpdate"]
    if kind not in STRATEGIES:
        strategy.with_value(strategy.struct).unsupported_struct("DaemonSetUpdateStrategy", STRATEGIES)
    if kind != "RollingUpdate":
        return
    unavailable, surge = rolling_counts(rolling.specified())
    for count in (unavailable, surge):
        count.int_or_percent()
    for count in (unavailable, surge):
        count.at_most_all()
    if share(unavailable.value) and share(surge.value):
        surge.invalid("may not be set when maxUnavailable is non-zero")
    elif not share(unavailable.value) and not share(surge.value):
        unavailable.missing("cannot be 0 when maxSurge is 0")


_DAEMON_COUNTS = (
    "desiredNumberScheduled", "currentNumberScheduled", "numberReady", "updatedNumberScheduled", "numberAvailable",
)  # fmt: skip


def _daemon_set(obj: Object, ages: Ages) -> list[Any]:
    return [
        name_of(obj),
        *(count_at(obj, f"status.{field}") for field in _DAEMON_COUNTS),
        labels_cell(get(obj, "spec.template.spec.nodeSelector")),
        age_of(obj, ages),
        *container_cells(obj, "spec.template"),
        selector_cell(get(obj, "spec.selector")),
    ]


KIND = Kind(
    "daemonsets.apps",
    Strategy(
        generation=("spec",),
        versioned_annotation=TEMPLATE_GENERATION,
        default=default_daemon_set,
        drop_disabled=drop_disabled_in("spec", "template", "spec"),
        prepare_create=prepare_daemon_set,
        prepare_update=prepare_daemon_set_update,
        prepare_status_update=prepare_daemon_set_status,
        validate=spec_validator(_validate_spec),
        warnings=of_template,
        update_warnings=where_changed(of_template),
        as_new_before=34,
        validate_update=spec_update_validator(_validate_spec, selector_first_since=34),
        validate_status_update=status_validator(*COUNTS),
    ),
    printer=Printer(
        columns(
            NAME,
            integer("Desired"),
            integer("Current"),
            integer("Ready"),
            integer("Up-to-date"),
            integer("Available"),
            "Node Selector",
            AGE,
            *SELECTED_COLUMNS,
        ),
        _daemon_set,
    ),
)
