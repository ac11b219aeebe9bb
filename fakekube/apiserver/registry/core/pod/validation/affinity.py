"""Validates where a pod may run: node selectors, affinity, topology spread constraints, tolerations."""

from __future__ import annotations

from fakekube.apiserver.features import since
from fakekube.apiserver.registry.core.pod.validation.podoptions import PodOptions
from fakekube.apiserver.registry.generic.validation import content
from fakekube.apiserver.registry.generic.validation.field import Field
from fakekube.apiserver.registry.generic.validation.labelselectors import validate_label_selector, validate_requirement
from fakekube.apiserver.registry.generic.validation.rules import memoized

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
POD_AFFINITIES = ("podAffinity", "podAntiAffinity")
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
BAD_WEIGHT = "must be in the range 1-100"
NO_SELECTOR = "must not be specified when labelSelector is not set"
IN_BOTH = "exists in both matchLabelKeys and labelSelector"


def validate_node_selector(selector: Field, *, any_values: bool) -> None:
    """`any_values` accepts values that no label can have, as all did before 1.33 (`ValidateNodeSelector`)."""
    any_values = any_values or not since(33)
    for term in selector["nodeSelectorTerms"].required("must have at least one node selector term"):
        validate_node_selector_term(term, any_values=any_values)


def validate_node_selector_term(term: Field, *, any_values: bool) -> None:
    for requirement in term["matchExpressions"]:
        validate_requirement(requirement, any_values=any_values, comparisons=True)
    for requirement in term["matchFields"]:
        _validate_field_requirement(requirement)


def _validate_field_requirement(requirement: Field) -> None:
    operator, values, key = requirement["operator"], requirement["values"], requirement["key"]
    if operator.value not in ("In", "NotIn"):
        operator.invalid("not a valid selector operator")
    elif len(values) != 1:
        values.missing("must be only one value when `operator` is 'In' or 'NotIn' for node field selector")
    if key.value != "metadata.name":
        key.invalid("not a valid field selector key")
        return
    for value in values:
        value.dns_subdomain()


def validate_affinity(affinity: Field, options: PodOptions) -> None:
    node = affinity["nodeAffinity"]
    validate_node_selector(node.get(REQUIRED), any_values=options.any_node_values)
    for preferred in node[PREFERRED]:
        preferred["weight"].between(1, 100, BAD_WEIGHT)
        validate_node_selector_term(preferred["preference"], any_values=True)
    for kind in affinity.members(POD_AFFINITIES):
        for term in kind[REQUIRED]:
            _validate_pod_affinity_term(term, options)
        for weighted in kind[PREFERRED]:
            weighted["weight"].between(1, 100, BAD_WEIGHT)
            _validate_pod_affinity_term(weighted["podAffinityTerm"], options)


def _validate_pod_affinity_term(term: Field, options: PodOptions) -> None:
    for selector in term.members(("labelSelector", "namespaceSelector")):
        validate_label_selector(selector, any_values=options.any_selector_values)
    for namespace in term["namespaces"]:
        term.at("namespace", namespace.value).dns_label()
    validate_label_keys(term)
    term["topologyKey"].required("can not be empty")
    term["topologyKey"].qualified_name()


def validate_label_keys(term: Field) -> None:
    """Label keys whose values the pod provides (`ValidateMatchLabelKeysAndMismatchLabelKeys`).

    The server has already merged them into the selector, where a key that was there before now occurs twice.
    """
    matching, other = term["matchLabelKeys"], term["mismatchLabelKeys"]
    if not matching and not other:
        return
    selector = term["labelSelector"]
    for keys in (matching, other):
        if keys and selector.value is None:
            keys.forbidden(NO_SELECTOR)
        elif keys:
            for key in keys:
                key.qualified_name()
    seen = set(selector["matchLabels"].value or ())
    for expression in selector["matchExpressions"]:
        name = expression["key"].text
        if name in seen and name in matching:
            last = max(key.index for key in matching if key.value == name)
            term.at(last, name).invalid(IN_BOTH)
        seen.add(name)
    for key in matching:
        if key.value in other:
            key.invalid("exists in both matchLabelKeys and mismatchLabelKeys")


def validate_topology_spread_constraints(constraints: Field, options: PodOptions) -> None:
    for constraint in constraints:
        key, action, domains = constraint["topologyKey"], constraint["whenUnsatisfiable"], constraint["minDomains"]
        constraint["maxSkew"].positive()
        key.required("can not be empty")
        action.one_of(("DoNotSchedule", "ScheduleAnyway"))
        later = constraints.value[constraint.index + 1 :]
        if (key.text, action.text) in [(one.get(key.key) or "", one.get(action.key) or "") for one in later]:
            constraint["{topologyKey, whenUnsatisfiable}"].duplicate(f"{{{key.text}, {action.text}}}")
        if domains.value is not None:
            domains.positive()
            if action.value != "DoNotSchedule":
                domains.invalid(f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action.text}")
        for name in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            constraint.choice(name, ("Honor", "Ignore"))
        (_validate_unmerged_label_keys if options.old_spread_keys else validate_label_keys)(constraint)
        if not options.any_spread_selectors:
            validate_label_selector(constraint["labelSelector"])


def _validate_unmerged_label_keys(constraint: Field) -> None:
    """The rule before 1.34, for constraints that were stored then (`ValidateMatchLabelKeysInTopologySpread`)."""
    keys, selector = constraint["matchLabelKeys"], constraint["labelSelector"]
    if keys and selector.value is None:
        keys.forbidden(NO_SELECTOR)
    selected = {*(selector["matchLabels"].value or ())}
    selected |= {expression["key"].text for expression in selector["matchExpressions"]}
    for key in keys:
        key.qualified_name()
        if key.value in selected:
            key.invalid(IN_BOTH)


_MATCH_ALL = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'


def validate_tolerations(tolerations: Field) -> None:
    for toleration in tolerations:
        _validate_toleration(toleration)


@memoized("key", "operator", "value", "effect", "tolerationSeconds")
def _validate_toleration(toleration: Field) -> None:
    key, operator, effect = toleration["key"], toleration["operator"], toleration["effect"]
    if key:
        key.qualified_name()
    elif operator.value != "Exists":
        operator.invalid(_MATCH_ALL)
    if toleration["tolerationSeconds"].value is not None and effect.value != "NoExecute":
        effect.invalid("effect must be 'NoExecute' when `tolerationSeconds` is set")
    _validate_operator(operator, toleration["value"].text)
    effect.optional().one_of(EFFECTS)


def _validate_operator(operator: Field, value: str) -> None:
    match operator.text:
        case "Exists":
            if value:
                operator.invalid("value must be empty when `operator` is 'Exists'", value)
        case "" | "Equal":
            operator.invalid_if(";".join(content.label_value_problems(value)), value)
        case "Lt" | "Gt" if since(35):  # these need an alpha feature
            operator.not_supported(("Equal", "Exists", "Lt", "Gt"))
        case _:
            operator.not_supported(("Equal", "Exists"))
