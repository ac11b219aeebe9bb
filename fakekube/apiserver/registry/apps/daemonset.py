"""TODO"""

from __future__ import annotations

import re
from typing import Any

from fakekube.apiserver.registry.core.pod.defaults import default_template
from fakekube.apiserver.registry.core.pod.validation.podoptions import PodOptions
from fakekube.apiserver.registry.core.pod.validation.podspec import check_template
from fakekube.apiserver.registry.core.podtemplate.status import status_validator
from fakekube.apiserver.registry.core.podtemplate.table import SELECTED_COLUMNS, container_cells, count_at
from fakekube.apiserver.registry.core.podtemplate.validation import (
    check_lasting,
    check_match,
    validator,
    with_fixed_selector,
)
from fakekube.apiserver.registry.core.podtemplate.warnings import of_template, where_changed
from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import AGE, NAME, Printer, age_of, columns, get, integer, name_of
from fakekube.apiserver.registry.generic.table.labels import labels_cell, selector_cell
from fakekube.apiserver.registry.generic.validation import content, labelselectors
from fakekube.apiserver.registry.generic.validation.content import Errors, check_nonnegative
from fakekube.apiserver.registry.generic.validation.gostructs import invalid_selector, unsupported_struct
from fakekube.apiserver.wire.status import field_invalid, field_required

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


TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"


def _template_generation(obj: Object) -> int:
    text = (obj["metadata"].get("annotations") or {}).get(TEMPLATE_GENERATION) or ""
    return max(int(text), 1) if re.fullmatch("[+-]?[0-9]{1,18}", text) else 1


def _with_template_generation(obj: Object, generation: int) -> Object:
    annotations = {**(obj["metadata"].get("annotations") or {}), TEMPLATE_GENERATION: str(generation)}
    return {**obj, "metadata": {**obj["metadata"], "annotations": annotations}}


def prepare_daemon_set(obj: Object) -> Object:
    """It counts the changes of its template in an annotation."""
    return _with_template_generation(obj, _template_generation(obj))


def prepare_daemon_set_update(new: Object, old: Object) -> Object:
    changed = (new.get("spec") or {}).get("template") != (old.get("spec") or {}).get("template")
    return _with_template_generation(new, _template_generation(old) + changed)


def prepare_daemon_set_status(new: Object, old: Object) -> Object:
    return _with_template_generation(new, _template_generation(old))


DAEMON_SET_STRATEGIES = ("RollingUpdate", "OnDelete")


def _check_daemon_set(spec: Object, errors: Errors, options: PodOptions) -> None:
    selector: Object | None = spec.get("selector")
    template: Object = spec.get("template") or {}
    labelselectors.check_label_selector(selector, "spec.selector", errors, any_values=options.any_selector_values)
    if labelselectors.is_usable(selector):
        check_match(selector, template, errors)
    if labelselectors.is_empty(selector):
        errors.append(invalid_selector("spec.selector", selector, "empty selector is invalid for daemonset"))
    check_template(template, "spec.template", errors, options)
    check_lasting(template.get("spec") or {}, "DaemonSet", errors)
    check_nonnegative(spec.get("minReadySeconds"), "spec.minReadySeconds", errors)
    _check_daemon_set_strategy(spec.get("updateStrategy") or {}, "spec.updateStrategy", errors)
    check_nonnegative(spec.get("revisionHistoryLimit"), "spec.revisionHistoryLimit", errors)


def _check_daemon_set_strategy(strategy: Object, path: str, errors: Errors) -> None:
    kind, rolling = strategy.get("type") or "", strategy.get("rollingUpdate")
    if kind == "OnDelete":
        return
    if kind != "RollingUpdate":
        errors.append(unsupported_struct(path, "DaemonSetUpdateStrategy", strategy, DAEMON_SET_STRATEGIES))
        return
    path = f"{path}.rollingUpdate"
    if rolling is None:
        errors.append(field_required(path))
        return
    unavailable, surge = rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0)
    for check in (content.check_int_or_percent, content.check_at_most_all):
        check(unavailable, f"{path}.maxUnavailable", errors)
        check(surge, f"{path}.maxSurge", errors)
    if content.share(unavailable) and content.share(surge):
        why = "may not be set when maxUnavailable is non-zero"
        errors.append(field_invalid(f"{path}.maxSurge", surge, why))
    elif not content.share(unavailable) and not content.share(surge):
        errors.append(field_required(f"{path}.maxUnavailable", "cannot be 0 when maxSurge is 0"))


validate_daemon_set = validator(_check_daemon_set)


validate_daemon_set_update = with_fixed_selector(_check_daemon_set)


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
        default=default_daemon_set,
        prepare_create=prepare_daemon_set,
        prepare_update=prepare_daemon_set_update,
        prepare_status_update=prepare_daemon_set_status,
        validate=validate_daemon_set,
        warnings=of_template,
        update_warnings=where_changed(of_template),
        validate_update=validate_daemon_set_update,
        validate_status_update=status_validator("DaemonSet"),
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
