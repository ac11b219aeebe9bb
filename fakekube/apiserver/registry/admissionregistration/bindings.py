"""TODO"""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.registry.admissionregistration.policies import default_match_resources
from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import AGE, NAME, Printer, age_of, columns, get, name_of
from fakekube.apiserver.registry.generic.table.labels import selector_dump

Object = dict[str, Any]


def default_policy_binding(obj: Object) -> None:
    default_match_resources((obj.get("spec") or {}).get("matchResources"))


def _param_ref(obj: Object) -> str:
    reference = get(obj, "spec.paramRef", {})
    if reference.get("name"):
        return f"{reference.get('namespace') or '*'}/{reference['name']}"
    selector = reference.get("selector")
    return "<unset>" if selector is None else selector_dump(selector)


def _policy_binding(obj: Object, ages: Ages) -> list[Any]:
    return [name_of(obj), get(obj, "spec.policyName", ""), _param_ref(obj), age_of(obj, ages)]


PRINTER = Printer(columns(NAME, "PolicyName", "ParamRef", AGE), _policy_binding)
