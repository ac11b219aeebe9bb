"""Literals and tokens of CEL: their values at the limits (`cel-go/parser/unescape.go`), and how an error shows its place."""

import pytest

from fakekube.apiserver.cel.lexer import StopParsing, tokens
from fakekube.apiserver.cel.literals import LITERALS, InvalidLiteral
from fakekube.apiserver.cel.tree import (
    DEPTH_LIMIT,
    ISSUES_LIMIT,
    SNIPPET_LIMIT,
    BadExpression,
    Issue,
    call,
    depth,
    literal,
    shown,
)


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("NUM_INT", "9223372036854775807", 2**63 - 1),
        ("NUM_INT", "-9223372036854775808", -(2**63)),
        ("NUM_INT", "0x10", 16),
        ("NUM_INT", "-0x10", -16),
        ("NUM_UINT", "18446744073709551615u", 2**64 - 1),
        ("NUM_UINT", "0x10U", 16),
        ("NUM_FLOAT", "1e3", 1000.0),
        ("STRING", "''", ""),
        ("STRING", '""""""', ""),
        ("STRING", "'''a'b'''", "a'b"),
        ("STRING", '"a\r\nb\rc"', "a\nb\nc"),
        ("STRING", "r'\\n'", "\\n"),
        ("STRING", "R'''\\'''", "\\"),
        ("STRING", r"'\a\b\f\n\r\t\v\'\"\\\?\`'", "\a\b\f\n\r\t\v'\"\\?`"),
        ("STRING", r"'\101\x41\X41\u0041\U00000041'", "AAAAA"),
        ("STRING", r"'\u\U\x41'", "uUA"),
        ("STRING", r"'\uD7FF\uE000\U0010FFFF'", "\ud7ff\ue000\U0010ffff"),
        ("BYTES", "b''", b""),
        ("BYTES", r"b'\101\x41\377ä\n'", b"AA\xff\xc3\xa4\n"),
        ("BYTES", r"br'\x41'", b"\\x41"),
        ("BYTES", r"b'\u'", b"u"),
        ("true", "true", True),
        ("false", "false", False),
        ("null", "null", None),
    ],
)
def test_the_value_of_a_literal(kind, text, value):
    assert LITERALS[kind](text) == value


@pytest.mark.parametrize(
    ("kind", "text", "why"),
    [
        ("NUM_INT", "9223372036854775808", "invalid int literal"),
        ("NUM_INT", "-9223372036854775809", "invalid int literal"),
        ("NUM_UINT", "18446744073709551616u", "invalid uint literal"),
        ("NUM_FLOAT", "1e999", "invalid double literal"),
        ("NUM_FLOAT", "-1e999", "invalid double literal"),
        ("STRING", r"'\uD800'", "invalid unicode code point"),
        ("STRING", r"'\uDFFF'", "invalid unicode code point"),
        ("STRING", r"'\U00110000'", "invalid unicode code point"),
        ("BYTES", r"b'\u0041'", "unable to unescape string"),
        ("BYTES", r"b'\U00000041'", "unable to unescape string"),
    ],
)
def test_a_literal_that_is_refused(kind, text, why):
    with pytest.raises(InvalidLiteral) as raised:
        LITERALS[kind](text)
    assert str(raised.value) == why


def lexed(text):
    issues: list[Issue] = []
    found = [(token.kind, token.text, token.at) for token in tokens(text, issues)]
    return found, [(one.at, one.message.removeprefix("Syntax error: token recognition error at: ")) for one in issues]


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("", []),
        ("a in b", ["IDENTIFIER", "in", "IDENTIFIER"]),
        ("a.b_1", ["IDENTIFIER", ".", "IDENTIFIER"]),
        ("true && null // text", ["true", "&&", "null"]),
        ("1 1u 0x1U 1.5 .5 1e3", ["NUM_INT", "NUM_UINT", "NUM_UINT", "NUM_FLOAT", "NUM_FLOAT", "NUM_FLOAT"]),
        ("'a' b'a' rb", ["STRING", "BYTES", "IDENTIFIER"]),
        ("`a-b`", ["ESC_IDENTIFIER"]),
        ("<= < == !", ["<=", "<", "==", "!"]),
    ],
)
def test_the_tokens_of_a_text(text, kinds):
    found, issues = lexed(text)
    assert [kind for kind, _, _ in found] == [*kinds, "<EOF>"]
    assert issues == []
    assert [text[at : at + len(part)] for _, part, at in found[:-1]] == [part for _, part, _ in found[:-1]]


@pytest.mark.parametrize(
    ("text", "issues", "rest"),
    [
        ("@", [(0, "'@'")], []),
        ("a @ b", [(2, "'@'")], ["a", "b"]),
        ("|", [(0, "'|'")], []),
        ("|a", [(0, "'|a'")], []),
        ("&ab", [(0, "'&a'")], ["b"]),
        ("= 1", [(0, "'= '")], ["1"]),
        ("'abc", [(0, "''abc'")], []),
        ("'ab\ncd", [(0, "''ab'")], ["cd"]),
        ("'a\\qb'", [(0, "''a\\q'"), (5, "'''")], ["b"]),
        ("'a\\nb", [(0, "''a\\nb'")], []),
        ("'a\\", [(0, "''a\\'")], []),
        ("'\t", [(0, "''\\t'")], []),
    ],
)
def test_what_starts_no_token(text, issues, rest):
    found, problems = lexed(text)
    assert problems == issues
    assert [part for _, part, _ in found[:-1]] == rest


def test_the_lexer_stops_after_a_hundred_issues():
    assert len(lexed("@" * ISSUES_LIMIT)[1]) == ISSUES_LIMIT
    issues: list[Issue] = []
    with pytest.raises(StopParsing):
        list(tokens("@" * (ISSUES_LIMIT + 1), issues))
    assert len(issues) == ISSUES_LIMIT + 1
    assert issues[-1].message == "Syntax error: More than 100 syntax errors"


@pytest.mark.parametrize(
    ("source", "at", "text"),
    [
        ("", 0, "ERROR: <input>:1:0: why"),
        ("abc", 0, "ERROR: <input>:1:1: why\n | abc\n | ^"),
        ("abc", 2, "ERROR: <input>:1:3: why\n | abc\n | ..^"),
        ("abc", 3, "ERROR: <input>:1:4: why\n | abc\n | ...^"),
        ("a\nbcd\ne", 3, "ERROR: <input>:2:2: why\n | bcd\n | .^"),
        ("a\tb", 2, "ERROR: <input>:1:3: why\n | a b\n | ..^"),
        ("äb", 1, "ERROR: <input>:1:2: why\n | äb\n | ．^"),
        ("\x7fä", 1, "ERROR: <input>:1:2: why\n | \x7fä\n | .＾"),
        ("\x80b", 1, "ERROR: <input>:1:2: why\n | \x80b\n | ．^"),
        ("\x80b", 0, "ERROR: <input>:1:1: why\n | \x80b\n | ＾"),
    ],
)
def test_how_an_issue_is_shown(source, at, text):
    assert shown(source, [Issue(at, "why")]) == text
    assert str(BadExpression(source, [Issue(at, "why")])) == text


def test_a_long_line_is_not_shown():
    assert "\n" in shown("a" * SNIPPET_LIMIT, [Issue(0, "why")])
    assert shown("a" * (SNIPPET_LIMIT + 1), [Issue(0, "why")]) == "ERROR: <input>:1:1: why"


def test_issues_are_sorted_and_those_beyond_a_hundred_are_counted():
    issues = [Issue(at, f"why {at}") for at in range(ISSUES_LIMIT)]
    text = shown("x" * 200, issues[::-1])
    assert [line.rpartition(" ")[2] for line in text.splitlines() if "ERROR" in line] == [str(n) for n in range(100)]
    assert "truncated" not in text
    assert shown("x" * 200, [*issues, *issues[:2]]).endswith("\n2 more errors were truncated")


@pytest.mark.parametrize("levels", [1, 2, DEPTH_LIMIT, DEPTH_LIMIT + 1, DEPTH_LIMIT + 2])
def test_the_depth_of_a_tree(levels):
    node = literal(0, 1)
    for _ in range(levels - 1):
        node = call(0, "-_", node)
    assert depth(node) == levels
    assert depth(call(0, "_+_", literal(0, 1), node)) == min(levels + 1, DEPTH_LIMIT + 2)
