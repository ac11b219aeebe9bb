"""Conditions in a status."""

from fakekube.apiserver.registry.generic.validation.conditions import validate_conditions
from fakekube.apiserver.registry.generic.validation.field import Field

GOOD = {"type": "Ready", "status": "True", "reason": "Done", "lastTransitionTime": "2026-01-01T00:00:00Z"}


def problems(*conditions):
    field = Field(list(conditions), "status.conditions")
    validate_conditions(field)
    return [str(error) for error in field.errors]


def test_a_complete_condition_is_valid():
    assert problems(GOOD, {**GOOD, "type": "Other", "observedGeneration": 0}) == []


def test_types_are_unique():
    assert problems(GOOD, GOOD) == ['status.conditions[1].type: Duplicate value: "Ready"']


def test_each_field_is_validated():
    found = problems({"type": "a b", "status": "Maybe", "observedGeneration": -1, "message": "m" * 32769})
    assert [error.split(": ")[0] for error in found] == [
        f"status.conditions[0].{name}"
        for name in ("type", "status", "observedGeneration", "lastTransitionTime", "reason", "message")
    ]
    assert "Invalid value: -1: must be greater than or equal to zero" in found[2]


def test_reasons():
    found = problems({**GOOD, "reason": "-" * 1025})
    assert len(found) == 2
    assert found[0].startswith(
        f'status.conditions[0].reason: Invalid value: "{"-" * 1025}": a condition reason must start'
    )
    assert found[1] == "status.conditions[0].reason: Too long: may not be more than 1024 bytes"


def test_texts_at_their_limits():
    longest = {"reason": "a" * 1024, "message": "m" * 32_768}
    assert problems({**GOOD, **longest}) == []
    for field, text in longest.items():
        assert problems({**GOOD, field: f"{text}x"}) == [
            f"status.conditions[0].{field}: Too long: may not be more than {len(text)} bytes"
        ]


def test_the_status_of_a_condition():
    assert [problems({**GOOD, "status": status}) for status in ("True", "False", "Unknown")] == [[], [], []]
    supported = 'supported values: "False", "True", "Unknown"'
    assert problems({**GOOD, "status": "true"}) == [
        f'status.conditions[0].status: Unsupported value: "true": {supported}'
    ]
