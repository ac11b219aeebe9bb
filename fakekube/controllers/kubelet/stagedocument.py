"""Stages in YAML: documents of kind Stage, also those of kwok (kwok.x-k8s.io/v1alpha1) as far as they say the same.

spec.at and spec.container are as in `stage.Stage`; spec.next has one of start, exit, apply, run, hang, pullError,
createError, ready, probe. A kwok stage has next.statusTemplate or next.delete instead. Its template is not evaluated:
what it says about the phase and the state of containers becomes an action.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from controllerlib.client import EVERYTHING, selector_from_set
from fakekube.apiserver.wire import goyaml
from fakekube.controllers.kubelet.stage import (
    Action,
    Apply,
    CreateError,
    Exit,
    FieldMatch,
    Hang,
    Moment,
    PodSelector,
    ProbeResult,
    PullError,
    Readiness,
    Run,
    Stage,
    Start,
)

_ACTION = re.compile(r"\{\{.*?\}\}", re.S)
_STEP = re.compile(r"""\.?\[["']([^"']+)["']\]|\.?(\[\])|\.([A-Za-z0-9_-]+)""")
_PULL_ERRORS = ("ErrImagePull", "ImagePullBackOff")


def stages_of(source: str | Path) -> Sequence[Stage]:
    """The stages of a YAML text, or of a file. Raises ValueError naming the stage and the problem."""
    text = source if isinstance(source, str) and "\n" in source else Path(source).read_text()
    found = []
    for document in goyaml.load_all(text):
        if document is None:
            continue
        if not isinstance(document, Mapping) or document.get("kind") != "Stage":
            raise ValueError(f"expected documents of kind Stage, not {document!r:.80}")
        name = (document.get("metadata") or {}).get("name") or "stage"
        try:
            stage = _stage(name, document.get("spec") or {})
        except (KeyError, TypeError, ValueError) as problem:
            raise ValueError(f"Stage {name!r}: {problem}") from None
        if stage is not None:
            found.append(stage)
    return found


def _stage(name: str, spec: Mapping[str, Any]) -> Stage | None:
    """The stage; None for one of another kind than Pod."""
    if (spec.get("resourceRef") or {}).get("kind", "Pod") != "Pod":
        return None
    following = spec.get("next") or {}
    at, action = _template(following) if _is_kwok(following) else _action(following)
    delay = spec.get("delay") or {}
    at = spec.get("at") or at
    if at not in get_args(Moment):
        raise ValueError(f"at is {at!r}: it is one of {', '.join(get_args(Moment))}")
    return Stage(
        name,
        at,
        action,
        _selector(spec.get("selector") or {}),
        spec.get("container") or "*",
        (delay.get("durationMilliseconds") or 0) / 1000,
        _jitter(delay),
    )


def _jitter(delay: Mapping[str, Any]) -> float:
    """The longest addition to the delay; kwok's jitterDurationMilliseconds is the longest delay."""
    most = delay.get("jitterDurationMilliseconds")
    return 0.0 if most is None else max(0.0, (most - (delay.get("durationMilliseconds") or 0)) / 1000)


def _selector(selector: Mapping[str, Any]) -> PodSelector:
    labels = selector.get("matchLabels")
    return PodSelector(
        selector_from_set(labels) if labels else EVERYTHING,
        selector.get("namespace") or "",
        selector.get("name") or "",
        selector.get("owner") or "",
        annotations=selector.get("matchAnnotations") or {},
        fields=tuple(_field(one) for one in selector.get("matchExpressions") or () if not _is_moment(one)),
    )


def _is_moment(expression: Mapping[str, Any]) -> bool:
    """Whether an expression of kwok says when the stage applies, which is its moment here."""
    return str(expression["key"]) in (".metadata.deletionTimestamp", ".status.phase", ".status.podIP")


def _field(expression: Mapping[str, Any]) -> FieldMatch:
    key, operator = str(expression["key"]), expression["operator"]
    if operator not in ("In", "NotIn", "Exists", "DoesNotExist"):
        raise ValueError(f"matchExpressions has the operator {operator!r}: use In, NotIn, Exists, DoesNotExist")
    if "".join(one.group(0) for one in _STEP.finditer(key)) != key:
        raise ValueError(f"matchExpressions has the key {key!r}: use a path like .metadata.labels['app']")
    path = tuple(next(part for part in one.groups() if part) for one in _STEP.finditer(key))
    return FieldMatch(path, operator, tuple(map(str, expression.get("values") or ())))


def _action(following: Mapping[str, Any]) -> tuple[Moment, Action]:
    if len(following) != 1:
        raise ValueError(f"next has {', '.join(following) or 'nothing'}: it has exactly one action")
    ((kind, raw),) = following.items()
    options = raw if isinstance(raw, Mapping) else {}
    match kind:
        case "start":
            return "creating", Start()
        case "exit":
            return "running", Exit(**options)
        case "apply":
            return "running", _apply(raw)
        case "run":
            return "running", Run()
        case "hang":
            return "terminating", Hang()
        case "pullError":
            return "creating", PullError(**options)
        case "createError":
            return "creating", CreateError(**options)
        case "ready":
            return "probing", Readiness(bool(raw))
        case "probe":
            return "probing", ProbeResult(**options)
    raise ValueError(f"next has the action {kind!r}, which there is not")


def _apply(raw: Any) -> Apply:
    """The action `apply`: a list of objects, or a mapping with `objects` and the exit `code`."""
    options = raw if isinstance(raw, Mapping) else {"objects": raw}
    objects = options.get("objects")
    if not isinstance(objects, list):
        raise ValueError("apply has no list of objects")
    for one in objects:
        check_object(one)
    return Apply(**options)


def check_object(obj: Any) -> None:
    """Raises ValueError for what is no Kubernetes object with a name."""
    if not isinstance(obj, Mapping) or not obj.get("apiVersion") or not obj.get("kind"):
        raise ValueError(f"expected an object with apiVersion and kind, not {obj!r:.80}")
    if not isinstance(obj.get("metadata"), Mapping) or not obj["metadata"].get("name"):
        raise ValueError(f"the {obj['kind']} has no metadata.name")


# --- kwok


def _is_kwok(following: Mapping[str, Any]) -> bool:
    return not following.keys().isdisjoint(("statusTemplate", "delete", "finalizers", "patches"))


def _template(following: Mapping[str, Any]) -> tuple[Moment, Action]:
    """The action that a status means."""
    if following.get("delete"):
        return "terminating", Exit(0)
    template = following.get("statusTemplate")
    if not template:
        raise ValueError("next has neither statusTemplate nor delete")
    lines = [line for line in template.splitlines() if _ACTION.sub("", line).strip() or "{{" not in line]
    documents = goyaml.load_all(_ACTION.sub("", "\n".join(lines)))
    status = (documents[0] if documents else None) or {}
    containers = [one for name in ("initContainerStatuses", "containerStatuses") for one in status.get(name) or ()]
    for state in [one.get("state") or {} for one in containers]:
        if state.get("terminated"):
            ended = state["terminated"]
            return "running", Exit(ended.get("exitCode") or 0, ended.get("reason") or "", ended.get("message") or "")
        waiting = state.get("waiting") or {}
        reason = waiting.get("reason") or ""
        if reason in _PULL_ERRORS:
            return "creating", PullError(waiting.get("message") or "")
        if reason and reason not in ("ContainerCreating", "PodInitializing"):
            return "creating", CreateError(reason, waiting.get("message") or "")
    phase = status.get("phase")
    if phase in ("Failed", "Succeeded"):
        return "running", Exit(1 if phase == "Failed" else 0, status.get("reason") or "", status.get("message") or "")
    ready = [one for one in status.get("conditions") or () if one.get("type") == "Ready"]
    if ready and str(ready[0].get("status")) == "False" and phase != "Pending":
        return "probing", Readiness(False)
    return "creating", Start()
