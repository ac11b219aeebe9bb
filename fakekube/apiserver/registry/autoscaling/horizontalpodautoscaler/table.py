"""Table of HorizontalPodAutoscalers."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import AGE, NAME, Printer, age_of, columns, get, name_of

Object = dict[str, Any]


def _metric_parts(spec: Object, status: Object) -> tuple[str, Object, Object]:
    """Returns the field that holds the metric, its target and its current value."""
    kind = spec.get("type") or ""
    field = kind[:1].lower() + kind[1:]
    return field, get(spec, f"{field}.target", {}), get(status, f"{field}.current", {})


_METRICS = frozenset({"external", "pods", "object", "resource", "containerResource"})


def _metric(spec: Object, status: Object) -> str:
    field, target, current = _metric_parts(spec, status)
    if field not in _METRICS:
        return "<unknown type>"
    known = get(status, field) is not None
    average = target.get("averageValue")
    if field == "pods":
        return f"{current.get('averageValue', '<nil>') if known else '<unknown>'}/{average or '<nil>'}"
    if field in ("external", "object"):
        if average is not None:
            return f"{current.get('averageValue') or '<unknown>'}/{average} (avg)"
        return f"{current.get('value', '<nil>') if known else '<unknown>'}/{target.get('value', '<nil>')}"
    resource = get(spec, f"{field}.name", "")
    if average is not None:
        return f"{resource}: {current.get('averageValue', '<nil>') if known else '<unknown>'}/{average}"
    used, wanted = current.get("averageUtilization"), target.get("averageUtilization")
    shown = "<unknown>" if used is None else f"{used}%"
    return f"{resource}: {shown}/{'<auto>' if wanted is None else f'{wanted}%'}"


def _targets(obj: Object) -> str:
    specs, statuses = get(obj, "spec.metrics", ()), get(obj, "status.currentMetrics", ())
    if not specs:
        return "<none>"
    shown = [_metric(spec, statuses[i] if i < len(statuses) else {}) for i, spec in enumerate(specs)]
    more = f" + {len(shown) - 2} more..." if len(shown) > 2 else ""
    return ", ".join(shown[:2]) + more


def _autoscaler(obj: Object, ages: Ages) -> list[Any]:
    least = get(obj, "spec.minReplicas")
    return [
        name_of(obj),
        f"{get(obj, 'spec.scaleTargetRef.kind', '')}/{get(obj, 'spec.scaleTargetRef.name', '')}",
        _targets(obj),
        "<unset>" if least is None else str(least),
        get(obj, "spec.maxReplicas", 0),
        get(obj, "status.currentReplicas", 0),
        age_of(obj, ages),
    ]


PRINTER = Printer(columns(NAME, "Reference", "Targets", "MinPods", "MaxPods", "Replicas", AGE), _autoscaler)
