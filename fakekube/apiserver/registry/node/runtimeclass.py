"""RuntimeClass: how a node runs the containers of a pod (`ValidateRuntimeClass`)."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.features import since
from fakekube.apiserver.registry.core.pod.validation import resourcerequirements
from fakekube.apiserver.registry.core.pod.validation.affinity import validate_tolerations
from fakekube.apiserver.registry.core.pod.warnings import DEPRECATED_LABELS
from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import AGE, NAME, Printer, age_of, columns, name_of
from fakekube.apiserver.registry.generic.validation.field import Field
from fakekube.apiserver.registry.generic.validation.labelselectors import validate_labels
from fakekube.apiserver.registry.generic.validation.metadata import validate_metadata, validate_metadata_update
from fakekube.apiserver.registry.generic.validation.rules import update_validator, validator

Object = dict[str, Any]


def selector_warnings(obj: Object) -> list[str]:
    selector = (obj.get("scheduling") or {}).get("nodeSelector") or {}
    return [
        f"scheduling.nodeSelector: {DEPRECATED_LABELS[key]}" for key in sorted(selector) if key in DEPRECATED_LABELS
    ]


def validate(runtime_class: Field) -> None:
    handler = runtime_class["handler"]
    (handler.required() if since(36) else handler).dns_label()
    overhead = runtime_class["overhead"]
    if overhead.value is not None:
        resourcerequirements.validate_requirements(overhead.with_value({"limits": overhead["podFixed"].value}))
    scheduling = runtime_class["scheduling"]
    validate_labels(scheduling["nodeSelector"])
    tolerations = scheduling["tolerations"]
    validate_tolerations(tolerations if since(35) else tolerations.at("tolerations", tolerations.value))
    seen: set[tuple[str, ...]] = set()
    for toleration in tolerations:
        key = tuple(toleration[field].text for field in ("key", "operator", "value", "effect"))
        if key in seen:
            shown = dict(zip(("Key", "Operator", "Value", "Effect"), key, strict=True))
            toleration.duplicate_go({**shown, "TolerationSeconds": toleration["tolerationSeconds"].value})
        seen.add(key)


def validate_update(new: Field, old: Field) -> None:
    validate_metadata(new, qualified=False)
    validate(new)
    validate_metadata_update(new, old, qualified=False)
    new["handler"].immutable(old["handler"])


def _runtime_class(obj: Object, ages: Ages) -> list[Any]:
    return [name_of(obj), obj.get("handler") or "", age_of(obj, ages)]


KIND = Kind(
    "runtimeclasses.node.k8s.io",
    Strategy(
        create_on_update=True,
        qualified_finalizers=False,
        repeats_metadata=False,
        unconditional_update=False,
        validate=validator(validate),
        warnings=selector_warnings,
        validate_update=update_validator(validate_update),
    ),
    printer=Printer(columns(NAME, "Handler", AGE), _runtime_class),
)
