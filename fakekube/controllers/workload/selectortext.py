"""How Go prints a label selector, as it is in messages (`metav1.LabelSelector.String`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def selector_text(selector: Mapping[str, Any] | None) -> str:
    """The text of a label selector."""
    if selector is None:
        return "nil"
    labels = "".join(f"{key}: {value}," for key, value in sorted((selector.get("matchLabels") or {}).items()))
    rows = "".join(
        f"LabelSelectorRequirement{{Key:{row['key']},Operator:{row['operator']},"
        f"Values:[{' '.join(row.get('values') or ())}],}},"
        for row in selector.get("matchExpressions") or ()
    )
    return (
        f"&LabelSelector{{MatchLabels:map[string]string{{{labels}}},"
        f"MatchExpressions:[]LabelSelectorRequirement{{{rows}}},}}"
    )


def selector_query(selector: Mapping[str, Any] | None) -> str:
    """A label selector as the parameter labelSelector of a request (labels.Selector.String)."""
    rows = [(key, f"{key}={value}") for key, value in ((selector or {}).get("matchLabels") or {}).items()]
    for row in (selector or {}).get("matchExpressions") or ():
        key, values = row["key"], ",".join(sorted(row.get("values") or ()))
        forms = {"In": f"{key} in ({values})", "NotIn": f"{key} notin ({values})", "Exists": key}
        rows.append((key, forms.get(row["operator"], f"!{key}")))
    return ",".join(text for _, text in sorted(rows, key=lambda row: row[0]))
