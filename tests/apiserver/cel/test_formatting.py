"""The syntax of `string.format` (`cel-go/ext/formatting.go`), and the widths and precisions of its clauses."""

import pytest

from fakekube.apiserver.cel.library.formatting import PRECISION_LIMIT, Clause, format, interpolate
from fakekube.apiserver.cel.values import CelError, OverBudget


def clauses(text, size, *, arguments_first=True):
    """The text with `<index verb precision>` for its clauses."""

    def formatted(index, clause):
        return f"<{index}{clause.verb}{'' if clause.precision is None else clause.precision}>"

    return interpolate(text, size, formatted, arguments_first=arguments_first)


@pytest.mark.parametrize(
    ("text", "size", "found"),
    [
        ("", 0, ""),
        ("abc", 0, "abc"),
        ("%s", 1, "<0s>"),
        ("a%sb", 1, "a<0s>b"),
        ("%s%d", 2, "<0s><1d>"),
        ("%s and %d.", 2, "<0s> and <1d>."),
        ("%%", 0, "%"),
        ("%%%%", 0, "%%"),
        ("%%s", 0, "%s"),
        ("a%%b%sc", 1, "a%b<0s>c"),
        ("%s%%", 1, "<0s>%"),
        ("%s", 2, "<0s>"),
        ("%.0f", 1, "<0f0>"),
        ("%.2fx", 1, "<0f2>x"),
        ("%.12e%s", 2, "<0e12><1s>"),
        ("%.9223372036854775807f", 1, "<0f9223372036854775807>"),
        ("é%sé", 1, "é<0s>é"),
    ],
)
def test_clauses_are_replaced(text, size, found):
    assert clauses(text, size) == found
    assert clauses(text, size, arguments_first=False) == found


PARSING = "could not parse formatting clause: "
PRECISION = f"{PARSING}error while parsing precision: "
ATOI = f"{PRECISION}error while converting precision to integer: strconv.Atoi: parsing"


@pytest.mark.parametrize(
    ("text", "size", "why"),
    [
        ("%s", 0, "index 0 out of range"),
        ("%s%s", 1, "index 1 out of range"),
        ("%", 1, "unexpected end of string"),
        ("a%", 1, "unexpected end of string"),
        ("%%%", 1, "unexpected end of string"),
        ("%q", 1, f'{PARSING}unrecognized formatting clause "q"'),
        ("%é", 1, f'{PARSING}unrecognized formatting clause "Ã"'),
        ("%.", 1, f"{PRECISION}could not find end of precision specifier"),
        ("%.2", 1, f"{PRECISION}could not find end of precision specifier"),
        ("%.f", 1, f'{ATOI} "": invalid syntax'),
        ("%.9223372036854775808f", 1, f'{ATOI} "9223372036854775808": value out of range'),
        ("%.10000000000000000000f", 1, f'{ATOI} "10000000000000000000": value out of range'),
        ("%.2q", 1, f'{PARSING}unrecognized formatting clause "q"'),
    ],
)
def test_clauses_that_are_refused(text, size, why):
    for arguments_first in (True, False):
        with pytest.raises(CelError) as refused:
            clauses(text, size, arguments_first=arguments_first)
        assert str(refused.value) == why


@pytest.mark.parametrize(("text", "first", "later"), [
    ("%", "index 0 out of range", "unexpected end of string"),
    ("%s%", "index 0 out of range", "index 0 out of range"),
])  # fmt: skip
def test_a_missing_argument_is_reported_before_an_incomplete_clause_at_run_time(text, first, later):
    for arguments_first, why in ((True, first), (False, later)):
        with pytest.raises(CelError) as refused:
            clauses(text, 0, arguments_first=arguments_first)
        assert str(refused.value) == why


@pytest.mark.parametrize(
    ("text", "value", "found"),
    [
        ("%.0f", 2.5, "2"),
        ("%.1f", 1234.56, "1,234.6"),
        ("%.0e", 1.0, "1.000000×10⁰⁰"),
        ("%.20e", 1.0, "       1.000000×10⁰⁰"),
        ("%.8f", float("inf"), "∞"),
        ("%.4e", float("-inf"), "  -∞"),
        ("%e", float("inf"), "     ∞"),
        ("%f", float("nan"), "NaN"),
        ("%f", "Infinity", "∞"),
        ("%f", "-Infinity", "-∞"),
        ("%e", "NaN", "   NaN"),
        ("%x", "é", "c3a9"),
        ("%X", b"\xab", "AB"),
        ("%x", -255, "-ff"),
        ("%o", -8, "-10"),
        ("%b", -5, "-101"),
        ("%b", True, "1"),
        ("%d", -5, "-5"),
    ],
)
def test_the_text_of_an_argument(text, value, found):
    assert format(text, [value]) == found


@pytest.mark.parametrize("verb", ["f", "e"])
def test_the_precision_is_limited(verb):
    assert len(format(f"%.{PRECISION_LIMIT}{verb}", [float("nan") if verb == "f" else 1.0])) in (3, PRECISION_LIMIT)
    with pytest.raises(OverBudget):
        format(f"%.{PRECISION_LIMIT + 1}{verb}", [1.0])


def test_a_clause_has_no_precision_unless_it_names_one():
    assert Clause("f").precision is None
