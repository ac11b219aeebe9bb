"""Rows of a timeline that repeat are counted."""

import pytest

from fakekube.harness.records.repetition import folded


def rows(script):
    """A row for each word: `a3` is the third attempt of a reconcile, `x` a request."""
    return [
        (
            "+0",
            "c",
            f"reconcile {word[0]} #{word[1:]} failed: no, again in 0.{word[1:]} s",
            "",
            "retry" if number else "added",
        )
        if word[1:]
        else ("+0", "c", f"create {word}", "1", "no")
        for number, word in enumerate(script.split())
    ]


def shown(found):
    words = []
    for _, _, what, _, _ in found:
        parts = what.split()
        words.append(parts[1] + parts[2].lstrip("#") if parts[0] == "reconcile" else what.removeprefix("create "))
    return " ".join(words)


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        pytest.param("", "", id="nothing"),
        pytest.param("a1 a2 a3 a4", "a1 a2 a3 a4", id="one-that-would-be-hidden-is-shown"),
        pytest.param("a1 a2 a3 a4 a5 a6", "a1 a2 a3 (2 rows like these) a6", id="the-first-has-another-cause"),
        pytest.param(
            "x a2 x a3 x a4 x a5 x a6", "x a2 x a3 (4 rows like these) x a6", id="a-request-and-its-reconcile"
        ),
        pytest.param("a1 b1 a2 b2 a3 b3", "a1 b1 a2 b2 a3 b3", id="too-few"),
        pytest.param("x y x z x y x z", "x y x z x y x z", id="twice"),
        pytest.param("x x x x x x y", "x x (3 rows like these) x y", id="what-follows-is-kept"),
    ],
)
def test_repetitions_are_counted(script, expected):
    assert shown(folded(rows(script))) == expected
