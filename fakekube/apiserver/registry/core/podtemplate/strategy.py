"""PodTemplate: a template that is stored on its own."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.registry.core.pod.defaults import default_template
from fakekube.apiserver.registry.core.pod.disabledfields import drop_disabled_in
from fakekube.apiserver.registry.core.podtemplate import warnings
from fakekube.apiserver.registry.core.podtemplate.table import PRINTER
from fakekube.apiserver.registry.core.podtemplate.validation import validate_pod_template, validate_pod_template_update
from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.validation.rules import update_validator, validator

Object = dict[str, Any]


def default_pod_template(obj: Object) -> None:
    default_template(obj.get("template"))


KIND = Kind(
    "podtemplates",
    Strategy(
        returns_deleted=True,
        generation=("template",),
        default=default_pod_template,
        drop_disabled=drop_disabled_in("template", "spec"),
        validate=validator(validate_pod_template),
        validate_update=update_validator(validate_pod_template_update),
        warnings=warnings.of_pod_template,
        update_warnings=warnings.where_changed(warnings.of_pod_template),
    ),
    printer=PRINTER,
)
