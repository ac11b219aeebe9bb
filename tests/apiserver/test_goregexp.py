"""Regular expressions with the syntax and the errors of Go (`regexp/syntax`)."""

import pytest

from fakekube.apiserver.wire.goregexp import BadPattern, compiled


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("^a+$", "aa", True),
        ("^a+$", "ab", False),
        ("b", "abc", True),
        (r"^\d+$", "12", True),
        (r"^\p{L}$", "é", True),
        (r"^\pN$", "5", True),
        ("(?i)ABC", "abc", True),
        (r"\Aa\z", "a", True),
        (r"\Aa\z", "a\n", False),
        ("^a$", "b\na", False),
        ("(?m)^a$", "b\na", True),
        ("a.b", "a\nb", False),
        ("(?s)a.b", "a\nb", True),
        ("^[[:alpha:]]+$", "ab", True),
        ("(?P<name>a)", "a", True),
    ],
)
def test_matches(pattern, text, found):
    assert (compiled(pattern).search(text) is not None) is found


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("[a", "missing closing ]: `[a`"),
        ("(a", "missing closing ): `(a`"),
        ("a)", "unexpected ): `a)`"),
        ("a\\", "trailing backslash at end of expression: ``"),
        ("*a", "missing argument to repetition operator: `*`"),
        ("a**", "invalid nested repetition operator: `**`"),
        ("a{1001}", "invalid repeat count: `{1001}`"),
        ("(?<a", "invalid named capture: `(?<a`"),
        ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
        (r"\8", r"invalid escape sequence: `\8`"),
        ("[b-a]", "invalid character class range: `b-a`"),
        (r"\pX", r"invalid character class range: `\pX`"),
    ],
)
def test_an_invalid_pattern_is_reported_as_go_does_and_not_written_to_the_log(pattern, why, capfd):
    with pytest.raises(BadPattern) as raised:
        compiled(pattern)
    assert str(raised.value) == f"error parsing regexp: {why}"
    assert capfd.readouterr() == ("", "")
