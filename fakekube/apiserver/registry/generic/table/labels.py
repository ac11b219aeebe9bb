"""Labels and selectors as one cell (apimachinery `labels.Requirement.String`, `meta/v1.FormatLabelSelector`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Object = dict[str, Any]

NONE = "<none>"

#: Operator of a label selector's expression -> its text. `{v}` are the values, sorted.
_WRITTEN = {"In": "{k} in ({v})", "NotIn": "{k} notin ({v})", "Exists": "{k}", "DoesNotExist": "!{k}"}


class InvalidSelector(Exception):
    """The operator of an expression does not exist."""


def label_set(labels: Mapping[str, str] | None) -> str:
    """Returns `a=b,c=d`, sorted by key."""
    return ",".join(f"{key}={value}" for key, value in sorted((labels or {}).items()))


def labels_cell(labels: Mapping[str, str] | None) -> str:
    return label_set(labels) or NONE


def selector_text(selector: Object | None) -> str:
    """Returns a label selector in the form of a query. Raises InvalidSelector."""
    if selector is None:
        return ""
    terms = [(key, f"{key}={value}") for key, value in (selector.get("matchLabels") or {}).items()]
    for expression in selector.get("matchExpressions") or ():
        form = _WRITTEN.get(expression.get("operator", ""))
        if form is None:
            raise InvalidSelector(expression.get("operator"))
        key = expression.get("key", "")
        terms.append((key, form.format(k=key, v=",".join(sorted(expression.get("values") or ())))))
    return ",".join(text for _, text in sorted(terms, key=lambda term: term[0]))


def selector_cell(selector: Object | None) -> str:
    try:
        return selector_text(selector) or NONE
    except InvalidSelector:
        return "<error>"


def selector_dump(selector: Object) -> str:
    """Returns a label selector as Go prints the struct (`LabelSelector.String`)."""
    labels = "".join(f"{key}: {value}," for key, value in sorted((selector.get("matchLabels") or {}).items()))
    expressions = "".join(
        f"LabelSelectorRequirement{{Key:{one.get('key', '')},Operator:{one.get('operator', '')},"
        f"Values:[{' '.join(one.get('values') or ())}],}},"
        for one in selector.get("matchExpressions") or ()
    )
    kind = "[]LabelSelectorRequirement"
    return f"&LabelSelector{{MatchLabels:map[string]string{{{labels}}},MatchExpressions:{kind}{{{expressions}}},}}"
