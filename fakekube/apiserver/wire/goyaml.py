"""YAML as `sigs.k8s.io/yaml` reads it: the scalars of its fork of go-yaml v2, converted to JSON values.

Both PyYAML and go-yaml parse with libyaml's grammar; what a plain scalar means is decided here (`resolve.go`).
"""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import yaml

from fakekube.apiserver.wire.gobase64 import illegal_byte
from fakekube.apiserver.wire.goprint import go_quote
from fakekube.struct import Struct, field

#: The limit of the nesting of collections.
MAX_DEPTH = 250

_PREFIX = "tag:yaml.org,2002:"
_BOOL, _INT, _FLOAT, _NULL, _STR, _TIMESTAMP, _BINARY, _MERGE = (
    _PREFIX + name for name in ("bool", "int", "float", "null", "str", "timestamp", "binary", "merge")
)

#: Plain scalars with a meaning of their own.
_WORDS: dict[str, tuple[str, Any]] = {
    **dict.fromkeys(["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"], (_BOOL, True)),
    **dict.fromkeys(["n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"], (_BOOL, False)),
    **dict.fromkeys(["", "~", "null", "Null", "NULL"], (_NULL, None)),
    **dict.fromkeys([".nan", ".NaN", ".NAN"], (_FLOAT, math.nan)),
    **dict.fromkeys([".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"], (_FLOAT, math.inf)),
    **dict.fromkeys(["-.inf", "-.Inf", "-.INF"], (_FLOAT, -math.inf)),
    "<<": (_MERGE, "<<"),
}

#: Integers as `strconv.ParseInt` reads them with base 0, after the underscores are removed.
_INTEGER = re.compile(r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|(0|[1-9][0-9]*))")
_DECIMAL = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")

#: More digits are out of range; they are not converted, as Python refuses to convert thousands of digits.
_MOST_DIGITS = 100

T = TypeVar("T")


class YamlProblem(Exception):
    """The text is not YAML, or cannot be converted to JSON; the message is that of `sigs.k8s.io/yaml`."""


class TooDeep(Exception):
    """The collections are nested deeper than `MAX_DEPTH`."""

    def __init__(self) -> None:
        super().__init__("exceeded max depth")


class _Node(Struct):
    line: int
    tag: str
    scalar: str | None = None
    """The text of a scalar; the anchor of an alias."""
    plain: bool = False
    keys: list[_Node] | None = None
    """The keys of a mapping; its values are `items`."""
    items: list[_Node] = field(default_factory=list)
    alias: _Node | None = None


class Document:
    """The first document of a text, and its conversion to JSON. Raises YamlProblem and TooDeep."""

    def __init__(self, text: bytes | str) -> None:
        self._root: _Node | None = _parsed(lambda: next(_documents(text), None))

    def value(self) -> Any:
        """The JSON value; None if there is no document. The last of several equal keys counts."""
        return None if self._root is None else _jsonable(_Decoder().decode(self._root))

    def repeated(self) -> list[str]:
        """The errors for keys that occur more than once in their map."""
        if self._root is None:
            return []
        decoder = _Decoder()
        decoder.decode(self._root)
        return decoder.repeated


class Placed(NamedTuple):
    """The value of a document, the line where it begins, and the lines of the elements of its list `items`."""

    value: Any
    line: int
    items: Sequence[int]


def load_all(text: str) -> list[Any]:
    """The JSON values of all documents of a text. Raises YamlProblem and TooDeep."""
    return [one.value for one in placed(text)]


def placed(text: str) -> list[Placed]:
    """The JSON values of all documents of a text, with their lines. Raises YamlProblem and TooDeep."""
    return [
        Placed(_jsonable(_Decoder().decode(node)), node.line, _lines_of_items(node))
        for node in _parsed(lambda: list(_documents(text)))
    ]


def _lines_of_items(node: _Node) -> Sequence[int]:
    found = (item for key, item in zip(node.keys or (), node.items, strict=False) if key.scalar == "items")
    return [one.line for one in next(found, node).items]


# --- parsing ---------------------------------------------------------------------------------------------------------


def _parsed(parse: Callable[[], T]) -> T:
    try:
        return parse()
    except yaml.YAMLError as error:
        raise YamlProblem(f"yaml: {_message(error)}") from None
    except (UnicodeError, ValueError) as error:
        raise YamlProblem(f"yaml: {error}") from None


def _message(error: yaml.YAMLError) -> str:
    """The message of go-yaml: it counts a parser's lines from zero and a scanner's from one."""
    if isinstance(error, yaml.reader.ReaderError):
        return str(error.reason)
    problem = getattr(error, "problem", None) or str(error)
    marks = [getattr(error, name, None) for name in ("problem_mark", "context_mark")]
    at, began = (mark.line if mark is not None else 0 for mark in marks)
    line = at + 1 if at and isinstance(error, yaml.scanner.ScannerError) else at or began
    return f"line {line}: {problem}" if line else str(problem)


def _documents(text: bytes | str) -> Iterator[_Node]:
    """Composes the nodes of each document from the parser's events."""
    anchors: dict[str, _Node] = {}
    open_nodes: list[_Node] = []
    keys: list[_Node | None] = []  # for each open node the key that waits for its value
    for event in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        if isinstance(event, yaml.DocumentStartEvent):
            anchors.clear()
        elif isinstance(event, yaml.CollectionEndEvent):
            node = open_nodes.pop()
            keys.pop()
            if not open_nodes:
                yield node
        elif isinstance(event, yaml.NodeEvent):
            node = _node(event, anchors)
            if open_nodes:
                _add(open_nodes[-1], keys, node)
            if isinstance(event, yaml.CollectionStartEvent):
                open_nodes.append(node)
                keys.append(None)
                if len(open_nodes) > MAX_DEPTH:
                    raise TooDeep
            elif not open_nodes:
                yield node


def _add(parent: _Node, keys: list[_Node | None], node: _Node) -> None:
    if parent.keys is None:
        parent.items.append(node)
    elif keys[-1] is None:
        keys[-1] = node
    else:
        parent.keys.append(keys[-1])
        parent.items.append(node)
        keys[-1] = None


def _node(event: Any, anchors: dict[str, _Node]) -> _Node:
    line = event.start_mark.line + 1
    if isinstance(event, yaml.AliasEvent):
        if event.anchor not in anchors:
            raise YamlProblem(f"yaml: unknown anchor '{event.anchor}' referenced")
        return _Node(line, "", scalar=event.anchor, alias=anchors[event.anchor])
    tag = event.tag or ""
    if isinstance(event, yaml.ScalarEvent):
        node = _Node(line, tag if tag != "!" else "", scalar=event.value, plain=event.implicit[0])
    else:
        node = _Node(line, tag, keys=[] if isinstance(event, yaml.MappingStartEvent) else None)
    if event.anchor:
        anchors[event.anchor] = node
    return node


# --- decoding --------------------------------------------------------------------------------------------------------


class _Decoder:
    """Decodes nodes; `repeated` collects the errors for equal keys."""

    def __init__(self) -> None:
        self.repeated: list[str] = []
        self._decoded = self._aliased = self._alias_depth = 0
        self._open_aliases: set[int] = set()

    def decode(self, node: _Node) -> Any:
        self._decoded += 1
        if self._alias_depth:
            self._aliased += 1
        if self._aliased > 100 and self._decoded > 1000 and self._aliased > self._decoded * self._allowed_share():
            raise YamlProblem("yaml: document contains excessive aliasing")
        if node.alias is not None:
            return self._alias(node, node.alias)
        if node.scalar is not None:
            return _scalar(node, node.scalar)
        if node.keys is None:
            return [self.decode(item) for item in node.items]
        found: dict[Any, Any] = {}
        self._fill(node, node.keys, found)
        return found

    def _allowed_share(self) -> float:
        """The share of nodes that may come from aliases: less in large documents (`allowedAliasRatio`)."""
        low, high = 400_000, 4_000_000
        return 0.99 - 0.89 * min(max(self._decoded - low, 0) / (high - low), 1)

    def _alias(self, node: _Node, target: _Node) -> Any:
        if id(target) in self._open_aliases or self._alias_depth > MAX_DEPTH:
            raise YamlProblem(f"yaml: anchor '{node.scalar}' value contains itself")
        self._open_aliases.add(id(target))
        self._alias_depth += 1
        try:
            return self.decode(target)
        finally:
            self._alias_depth -= 1
            self._open_aliases.discard(id(target))

    def _fill(self, node: _Node, keys: list[_Node], found: dict[Any, Any]) -> None:
        for key_node, item in zip(keys, node.items, strict=True):
            if key_node.scalar == "<<" and (key_node.plain or key_node.tag == _MERGE):
                self._merge(item, found)
                continue
            key = self.decode(key_node)
            if isinstance(key, dict | list):
                raise YamlProblem("yaml: invalid map key: " + _go_value(key))
            key = _Key(key, type(key))
            value = self.decode(item)
            if key in found:
                self.repeated.append(f"line {item.line}: key {_go_value(key.value)} already set in map")
            found[key] = value

    def _merge(self, node: _Node, found: dict[Any, Any]) -> None:
        target = node.alias if node.alias is not None else node
        if target.keys is not None:
            # decoded as an alias is, which limits its number of nodes
            found.update(self.decode(node))
        elif target.scalar is None and node.alias is None:
            for item in reversed(target.items):
                if (item.alias if item.alias is not None else item).keys is None:
                    raise YamlProblem("yaml: map merge requires map or sequence of maps as the value")
                found.update(self.decode(item))
        else:
            raise YamlProblem("yaml: map merge requires map or sequence of maps as the value")


class _Key(NamedTuple):
    """A key of a map. Keys of different types differ, as `1` and `true` do."""

    value: Any
    type: type

    def text(self, item: Any) -> str:
        """The key in JSON (`convertToJSONableObject`). `item`: its value, which the error of a null key quotes."""
        if self.value is None:
            shown = "<nil>" if item is None else _go_value(item)
            raise YamlProblem(f"unsupported map key of type: %!s(<nil>), key: <nil>, value: {shown}")
        if isinstance(self.value, bool):
            return "true" if self.value else "false"
        if isinstance(self.value, float):
            special = {"inf": ".inf", "-inf": "-.inf", "nan": ".nan"}
            return special.get(str(self.value), f"{self.value:g}")
        return str(self.value)


def _scalar(node: _Node, text: str) -> Any:
    tag = node.tag
    if not tag and not node.plain:
        return text
    if tag == _BINARY:
        if illegal_byte(text) is not None:
            raise YamlProblem("yaml: !!binary value contains invalid base64 data")
        return base64.b64decode(text).decode("utf-8", "replace")
    if tag not in ("", _BOOL, _INT, _FLOAT, _NULL, _TIMESTAMP):
        return text
    found, value = resolve(text)
    if tag == _FLOAT and found == _INT:
        return float(value)
    if tag == _TIMESTAMP and found == _STR:
        return text  # a time is answered as its text
    if tag not in ("", found):
        raise YamlProblem(f"yaml: cannot decode {_short(found)} `{text}` as a {_short(tag)}")
    return value


def _short(tag: str) -> str:
    return tag.replace(_PREFIX, "!!")


def resolve(text: str) -> tuple[str, Any]:
    """The tag and the value of a plain scalar. Integers have 64 bits; a time is text."""
    if text in _WORDS:
        return _WORDS[text]
    first = text[0]
    if first == ".":
        return _float(text, text)
    if not (first in "+-" or "0" <= first <= "9"):
        return _STR, text
    plain = text.replace("_", "")
    integer = _INTEGER.fullmatch(plain)
    if integer and len(plain) <= _MOST_DIGITS:
        value = _integer(integer)
        if -(2**63) <= value < 2**64 and not (value > 2**63 - 1 and integer[1]):
            return _INT, value
    return _float(plain, text)


def is_text(text: str) -> bool:
    """Whether a plain scalar is a string. Times are not distinguished."""
    return resolve(text)[0] == _STR


def _integer(match: re.Match[str]) -> int:
    sign, *digits = match.groups()
    value = next(int(text, base) for text, base in zip(digits, (16, 2, 8, 10), strict=True) if text)
    return -value if sign == "-" else value


def _float(plain: str, text: str) -> tuple[str, Any]:
    """A float, or the text if `plain` is none or is out of range (`strconv.ParseFloat`)."""
    if not _DECIMAL.fullmatch(plain) or not math.isfinite(value := float(plain)):
        return _STR, text
    return _FLOAT, value


def _go_value(value: Any) -> str:
    """A value in Go's syntax (`%#v`)."""
    if isinstance(value, str):
        return go_quote(value)
    if isinstance(value, list):
        return "[]interface {}{" + ", ".join(_go_value(one) for one in value) + "}"
    if isinstance(value, dict):
        pairs = (f"{_go_value(key.value)}:{_go_value(one)}" for key, one in value.items())
        return "map[interface {}]interface {}{" + ", ".join(pairs) + "}"
    if isinstance(value, bool):
        return "true" if value else "false"
    return "interface {}(nil)" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _jsonable(value: Any) -> Any:
    """The decoded value with text keys. Raises YamlProblem for a number that JSON does not have."""
    if isinstance(value, dict):
        return {key.text(one): _jsonable(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_jsonable(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        name = "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
        raise YamlProblem(f"json: unsupported value: {name}")
    return value
