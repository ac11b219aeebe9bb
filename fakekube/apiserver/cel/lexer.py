"""The tokens of CEL. Errors are worded as the ANTLR lexer of cel-go words them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from fakekube.apiserver.cel.tree import ISSUES_LIMIT, Issue
from fakekube.struct import Struct

RESERVED = frozenset(
    {
        "as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop", "package",
        "namespace", "return", "var", "void", "while",
    }
)  # fmt: skip


class StopParsing(Exception):
    """Raised where parsing cannot continue; the issue has been reported."""


class Token(Struct, frozen=True):
    kind: str
    text: str
    at: int


_SYMBOLS = ("==", "!=", "<=", ">=", "&&", "||", *"<>[]{}().,-!?:+*/%")
_ESCAPE = r"\\(?:[abfnrtv\"'\\?`]|[0-3][0-7][0-7]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})"
_ESCAPED = re.compile(_ESCAPE)
_STRING = (
    rf'"""(?:{_ESCAPE}|[^\\])*?"""|\'\'\'(?:{_ESCAPE}|[^\\])*?\'\'\''
    rf'|"(?:{_ESCAPE}|[^\\"\n\r])*"|\'(?:{_ESCAPE}|[^\\\'\n\r])*\''
)
_RAW = r'[rR](?:"""[\s\S]*?"""|\'\'\'[\s\S]*?\'\'\'|"[^"\n\r]*"|\'[^\'\n\r]*\')'
_TOKEN = re.compile(
    rf"(?P<space>[\t \r\n\f]+|//[^\n]*)"
    rf"|(?P<BYTES>[bB](?:{_RAW}|{_STRING}))"
    rf"|(?P<STRING>{_RAW}|{_STRING})"
    r"|(?P<NUM_FLOAT>\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?)"
    r"|(?P<NUM_UINT>0x[0-9a-fA-F]+[uU]|\d+[uU])"
    r"|(?P<NUM_INT>0x[0-9a-fA-F]+|\d+)"
    r"|(?P<IDENTIFIER>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<ESC_IDENTIFIER>`[A-Za-z0-9_.\-/ ]+`)"
    rf"|(?P<symbol>{'|'.join(re.escape(one) for one in _SYMBOLS)})"
)
_KEYWORDS = frozenset({"in", "true", "false", "null"})

_ORDER = (
    "<EOF>", "==", "!=", "in", "<", "<=", ">=", ">", "&&", "||", "[", "]", "{", "}", "(", ")", ".", ",", "-", "!", "?",
    ":", "+", "*", "/", "%", "true", "false", "null", "NUM_FLOAT", "NUM_INT", "NUM_UINT", "STRING", "BYTES",
    "IDENTIFIER", "ESC_IDENTIFIER",
)  # fmt: skip
_NAMED = frozenset({"<EOF>", "NUM_FLOAT", "NUM_INT", "NUM_UINT", "STRING", "BYTES", "IDENTIFIER", "ESC_IDENTIFIER"})

EXPRESSION_START = frozenset(
    ("[", "{", "(", ".", "-", "!", "true", "false", "null", "NUM_FLOAT", "NUM_INT", "NUM_UINT", "STRING", "BYTES",
     "IDENTIFIER")
)  # fmt: skip


def expected(kinds: frozenset[str]) -> str:
    names = [one if one in _NAMED else f"'{one}'" for one in _ORDER if one in kinds]
    return names[0] if len(names) == 1 else "{" + ", ".join(names) + "}"


def quoted(text: str) -> str:
    return "'" + text.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t") + "'"


def tokens(source: str, issues: list[Issue]) -> Iterator[Token]:
    at = 0
    while at < len(source):
        match = _TOKEN.match(source, at)
        if match is None or not match.group():
            at = _unknown(source, at, issues)
            continue
        kind, text = match.lastgroup or "", match.group()
        if kind == "symbol" or (kind == "IDENTIFIER" and text in _KEYWORDS):
            kind = text
        if kind != "space":
            yield Token(kind, text, at)
        at = match.end()
    yield Token("<EOF>", "<EOF>", len(source))


def _unknown(source: str, at: int, issues: list[Issue]) -> int:
    """Reports a character that does not start a token. Returns the position after it."""
    char = source[at]
    end = at + 1
    if char in "|&=":
        end = min(at + 2, len(source))
    elif char in "\"'":
        while end < len(source) and source[end] not in "\n\r":
            if source[end] == "\\" and not _ESCAPED.match(source, end):
                end = min(end + 2, len(source))
                break
            end += 1
    if len(issues) >= ISSUES_LIMIT:
        issues.append(Issue(at, f"Syntax error: More than {ISSUES_LIMIT} syntax errors"))
        raise StopParsing
    issues.append(Issue(at, f"Syntax error: token recognition error at: {quoted(source[at:end])}"))
    return end
