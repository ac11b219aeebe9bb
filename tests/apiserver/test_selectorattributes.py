"""Selectors in access reviews: their errors, their terms, and what authorizers do not see (`authorization/validation`)."""

import pytest

from fakekube.apiserver.endpoints.selectorattributes import errors_of, field_terms, problems_of
from fakekube.apiserver.wire.selectors import FieldTerm
from tests.apiserver.validation.support import texts

ROOT = "spec.resourceAttributes"
NEEDED = "requirements or rawSelector is required"
TWICE = "may not specified at the same time as requirements"


def requirement(key="a", operator="In", values=("b",)):
    return {"key": key, "operator": operator, "values": list(values)}


def of(kind, *requirements, raw=""):
    return {kind: {"rawSelector": raw, "requirements": list(requirements)}}


@pytest.mark.parametrize(
    ("attributes", "errors"),
    [
        ({}, []),
        (of("fieldSelector", requirement()), []),
        (of("fieldSelector", raw="a=b"), []),
        (of("fieldSelector", requirement(), raw="a=b"), [f'{ROOT}.fieldSelector.rawSelector: Invalid value: "a=b": {TWICE}']),
        (
            of("fieldSelector"),
            [f"{ROOT}.fieldSelector.requirements: Required value: when {ROOT}.fieldSelector is specified, {NEEDED}"],
        ),
        (
            of("labelSelector"),
            [f"{ROOT}.labelSelector.requirements: Required value: when {ROOT}.labelSelector is specified, {NEEDED}"],
        ),
        (
            of("fieldSelector", requirement("", "In", ()), requirement("a", "Exists", ("b",))),
            [
                f"{ROOT}.fieldSelector.requirements[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
                f"{ROOT}.fieldSelector.requirements[0].key: Required value: must be specified",
                f"{ROOT}.fieldSelector.requirements[1].values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
            ],
        ),
        (of("fieldSelector", requirement("a", "DoesNotExist", ()), requirement("a", "Unknown", ())), []),
        (
            of("labelSelector", requirement("a", "NotIn", ())),
            [f"{ROOT}.labelSelector.requirements[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'"],
        ),
        (of("labelSelector", requirement("a", "Unknown", ())), []),
        (
            of("labelSelector", requirement("-", "In", ("b c",))),
            [
                f'{ROOT}.labelSelector.requirements[0].key: Invalid value: "-": name part must consist of…',
                f'{ROOT}.labelSelector.requirements[0].values[0]: Invalid value: "b c": a valid label must be…',
            ],
        ),
        (of("fieldSelector", requirement("-", "In", ("b c",))), []),
    ],
)  # fmt: skip
def test_errors_of_selectors(attributes, errors):
    found = texts(errors_of(attributes))
    assert [
        one[: len(error) - 1] + "…" if error.endswith("…") else one for one, error in zip(found, errors, strict=True)
    ] == errors


@pytest.mark.parametrize(
    ("attributes", "terms"),
    [
        ({}, ()),
        (of("fieldSelector", raw="a=b,c!=d"), (FieldTerm("a", True, "b"), FieldTerm("c", False, "d"))),
        (of("fieldSelector", raw="a"), ()),
        (of("fieldSelector", requirement()), (FieldTerm("a", True, "b"),)),
        (of("fieldSelector", requirement("c", "NotIn", ("d",))), (FieldTerm("c", False, "d"),)),
        (of("fieldSelector", requirement(values=("b", "c"))), ()),
        (of("fieldSelector", requirement(values=())), ()),
        (of("fieldSelector", requirement(operator="Exists")), ()),
        (of("fieldSelector", requirement(operator="Exists"), requirement()), (FieldTerm("a", True, "b"),)),
        (of("labelSelector", requirement()), ()),
    ],
)
def test_the_terms_of_a_field_selector(attributes, terms):
    assert field_terms(attributes) == terms


FIELDS, LABELS = f"{ROOT}.fieldSelector", f"{ROOT}.labelSelector"


@pytest.mark.parametrize(
    ("attributes", "problems"),
    [
        ({}, []),
        (of("fieldSelector", requirement()), []),
        (of("fieldSelector", raw="a=b"), []),
        (of("fieldSelector", raw="a"), [f"{FIELDS} ignored due to parse error"]),
        (of("labelSelector", raw="a b"), [f"{LABELS} ignored due to parse error"]),
        (of("fieldSelector", requirement(operator="Exists")), [f"{FIELDS} ignored due to parse error"]),
        (
            of("fieldSelector", requirement(), requirement(values=("b", "c"))),
            [f"{FIELDS} partially ignored due to parse error"],
        ),
        (of("fieldSelector", requirement(), raw="a"), [f"{FIELDS} partially ignored due to parse error"]),
        (of("labelSelector", *(requirement(operator=one) for one in ("In", "NotIn", "Exists", "DoesNotExist"))), []),
        (of("labelSelector", requirement(operator="Gt")), [f"{LABELS} ignored due to parse error"]),
        (
            {**of("labelSelector", raw="a b"), **of("fieldSelector", raw="a")},
            [f"{FIELDS} ignored due to parse error", f"{LABELS} ignored due to parse error"],
        ),
    ],
)
def test_selectors_that_authorizers_do_not_see(attributes, problems):
    assert problems_of(attributes) == problems
