"""Decodes and encodes bodies with the limits and error messages of the real server (`runtime/serializer`)."""

from __future__ import annotations

import contextlib
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from itertools import zip_longest
from typing import Any

import orjson

from fakekube.apiserver.resource import Object
from fakekube.apiserver.wire import gojson, goyaml, protobuf
from fakekube.apiserver.wire.gojson import Pairs, with_go_numbers
from fakekube.apiserver.wire.protowire import Malformed
from fakekube.apiserver.wire.status import StatusError, bad_request, too_large, unsupported_media_type

JSON, YAML, PROTOBUF = "application/json", "application/yaml", "application/vnd.kubernetes.protobuf"

#: The limit of the size of a body in bytes (`MaxRequestBodyBytes`), and of its nesting.
MAX_BODY = 3 * 1024 * 1024
MAX_DEPTH = goyaml.MAX_DEPTH

_HEADER = (
    'json: cannot unmarshal {} into Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; '
    'Kind string "json:\\"kind,omitempty\\"" }'
)
_HEADER_FIELDS = frozenset(("apiVersion", "kind"))
_KEY = re.compile(rb'"\s*:')
_ESCAPED_KEY = re.compile(rb"\\u00(?:2[02]|3[aA])")
#: What YAML reads differently in JSON with escapes: an escaped slash, surrogates, and several lines.
_NOT_YAML = re.compile(rb"\\(?:/|u[dD][89a-fA-F])|[\t\r\n](?!$)")

#: The nesting up to which orjson encodes values.
_ENCODER_DEPTH = 254
_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*(?:"|$)', re.DOTALL)
_NO_BRACKET = re.compile(rb"[^][{}]+")


def unknown_format() -> StatusError:
    return unsupported_media_type(
        f"the body of the request was in an unknown format - accepted media types include: {JSON}, {YAML}, {PROTOBUF}"
    )


def media_type(content_type: str | None) -> str:
    """The media type of a Content-Type header; JSON if there is none. Raises 415 for an unsupported one."""
    kind = (content_type or JSON).partition(";")[0].strip().lower()
    if kind not in (JSON, YAML, PROTOBUF):
        raise unknown_format()
    return kind


class Decoded:
    """A decoded body, and its duplicate fields (only if decoded with `strict`): their paths in JSON, the errors for
    them in YAML."""

    __slots__ = ("_checked", "_kind", "body", "duplicates", "object")

    object: dict[str, Any]
    duplicates: list[str]
    body: bytes | None

    def __init__(
        self, obj: Object, duplicates: list[str], body: bytes | None = None, kind: str = JSON, *, checked: bool = True
    ) -> None:
        self.object, self.duplicates = obj, duplicates
        self.body, self._kind, self._checked = body, kind, checked

    @property
    def is_protobuf(self) -> bool:
        """Then fields that the type does not have are ignored without a word: those of a later version."""
        return self._kind == PROTOBUF

    @property
    def repeats(self) -> bool:
        """Whether a JSON body has fields that occur more than once in their object."""
        if self.body is None or self._kind != JSON:
            return False
        return bool(self.duplicates) if self._checked else bool(duplicates(self.object, self.body))

    def pairs(self) -> Any:
        """The JSON body, its objects with all their fields."""
        return _pairs(self.body or b"null")

    def sent(self, number: Callable[[str], Any]) -> Any:
        """The JSON body with those numbers that are not 64-bit integers made by `number`; None for other bodies."""
        if self.body is None or self._kind != JSON:
            return None
        whole: Callable[[str], Any] = lambda text: int(text) if _is_int64(text) else number(text)  # noqa: E731
        return json.loads(self.body.decode("utf-8", "replace"), parse_float=number, parse_int=whole)

    def header(self) -> list[tuple[str, Any]]:
        """The apiVersion and the kind in the order of the document, repeated ones included."""
        fields: Iterable[tuple[str, Any]] = self.object.items()
        if self._kind == JSON and self.body and not _HEADER_FIELDS.isdisjoint(self.duplicates):
            fields = _outermost(self.body)
        return [(key, value) for key, value in fields if key in _HEADER_FIELDS]

    def strict_errors(self, unknown: list[str], *, opaque: Callable[[str], bool] | None = None) -> list[str]:
        """The errors for duplicate fields and for the paths of `unknown` fields.

        In the order of the document if a JSON body is decoded into Go's types: there the fields of an unknown field do
        not count, nor those of a field that is `opaque` because it has a decoder of its own.
        """
        duplicates = self.duplicates
        if self._kind == YAML:
            listed = "\n  ".join(duplicates)
            return [f"yaml: unmarshal errors:\n  {listed}"] * bool(duplicates) + unknown_fields(unknown)
        if opaque is not None and duplicates:
            return _strict_errors(self.body or b"", frozenset(unknown), opaque)
        return [_duplicate(path) for path in duplicates] + unknown_fields(unknown)


def unknown_fields(paths: Iterable[str]) -> list[str]:
    """The errors for unknown fields."""
    return [f'unknown field "{path}"' for path in paths]


def _duplicate(path: str) -> str:
    return f'duplicate field "{path}"'


def decode(body: Any, content_type: str | None, *, kind: str, api_version: str = "", strict: bool = True) -> Decoded:
    """Decodes the body of a create or an update.

    `kind` and `api_version` are those of the requested resource; `strict` finds duplicate fields. Raises 413, 415, and
    400 if the body does not parse.
    """
    if isinstance(body, dict):
        return Decoded(body, [])
    if not isinstance(body, bytes):
        body, content_type = orjson.dumps(body), JSON
    kind_of_body = media_type(content_type)
    if kind_of_body == PROTOBUF:
        return Decoded(_decode_protobuf(body, kind, api_version), [], body, PROTOBUF)
    try:
        value, duplicates = parse(body, kind_of_body, strict=strict)
        header_problem = _header_problem(value)
    except SyntaxProblem as problem:
        if kind_of_body == YAML:
            text = str(problem).removeprefix("error converting YAML to JSON: ")
            raise bad_request(
                f"the object provided is unrecognized (must be of type {kind}): {text} ({summary(body)})"
            ) from None
        value, duplicates, header_problem = None, [], str(problem)
    if header_problem:
        raise bad_request(
            f"the object provided is unrecognized (must be of type {kind}): couldn't get version/kind; "
            f"json parse error: {header_problem} ({summary(body)})"
        )
    return Decoded(value if isinstance(value, dict) else {}, duplicates, body, kind_of_body, checked=strict)


def _decode_protobuf(body: bytes, kind: str, api_version: str) -> Object:
    check_size(body)
    try:
        return protobuf.decode(body, (api_version, kind))
    except Malformed as problem:
        if problem.kind:
            message = f'{problem.kind} in version "{problem.version}" cannot be handled as a {kind}: {problem}'
        else:
            message = f"the object provided is unrecognized (must be of type {kind}): {problem} ({summary(body)})"
        raise bad_request(message) from None


class SyntaxProblem(Exception):
    """The body is not valid JSON, YAML or protobuf."""


def parse(body: bytes, kind: str, *, strict: bool = False) -> tuple[Any, list[str]]:
    """The JSON value of a body, and its duplicate fields. Raises SyntaxProblem, and 413 for a body over the limit."""
    check_size(body)
    if kind == YAML:
        return parse_yaml(body)
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        _check_depth(body)
        value = _parse_as_go(body)
    if not strict or not isinstance(value, dict):
        if _brackets(body) > MAX_DEPTH and compact(value) is None:
            raise SyntaxProblem("exceeded max depth")
        return value, []
    shortest = compact(value)
    if shortest is None:
        raise SyntaxProblem("exceeded max depth")
    return value, _repeated(body, shortest)


def parse_options(body: bytes, kind: str) -> Any:
    """The JSON value of DeleteOptions. Raises SyntaxProblem, Malformed for protobuf, and 413."""
    if kind != PROTOBUF:
        return parse(body, kind)[0]
    check_size(body)
    return protobuf.decode(body, ("v1", "DeleteOptions"))


def duplicates(value: Any, body: bytes) -> list[str]:
    """The paths of fields that occur more than once in the encoded value. Raises SyntaxProblem if it is too deep."""
    return _repeated(body, compact(value)) if isinstance(value, dict | list) else []


def compact(value: Any, levels: int = MAX_DEPTH) -> bytes | None:
    """The shortest encoding of a JSON value; None if it is nested deeper than `levels`, or has very large integers."""
    outer = _ENCODER_DEPTH - levels
    for _ in range(outer):
        value = [value]
    try:
        return orjson.dumps(value)[outer : -outer or None]
    except TypeError:
        return None


def _repeated(body: bytes, shortest: bytes | None) -> list[str]:
    """The paths of fields that occur more than once in a body, whose value has `shortest` as its shortest encoding.

    A field has a quote before a colon, in both. Those in strings are the same in both unless the body escapes them.
    """
    if body == shortest:
        return []
    if shortest is not None and _keeps_fields(body, shortest) and not _ESCAPED_KEY.search(body):
        return []
    _check_depth(body)
    return duplicate_fields(body)


def _keeps_fields(body: bytes, shortest: bytes) -> bool:
    """Whether a body and its shortest encoding have the same number of quotes before colons."""
    if max(map(body.find, (b" :", b"\t:", b"\n:", b"\r:"))) >= 0:
        return len(_KEY.findall(body)) == len(_KEY.findall(shortest))
    return body.count(b'":') == shortest.count(b'":')


def _parse_as_go(body: bytes) -> Any:
    """Parses JSON that only Go accepts: unpaired surrogates become U+FFFD. Raises SyntaxProblem with Go's message."""
    problem, text = gojson.syntax_problem(body), body.decode("utf-8", "replace")
    if problem is None:
        huge: list[str] = []

        def number(digits: str) -> float:
            found = float(digits)
            if math.isinf(found):
                huge.append(digits)
            return found

        again = json.dumps(json.loads(text, parse_int=number, parse_float=number), ensure_ascii=False)
        try:
            return orjson.loads(again.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
        except orjson.JSONDecodeError:
            problem = f"json: cannot unmarshal number {''.join(huge[:1])} into Go value of type float64"
    raise SyntaxProblem(problem)


def check_size(body: bytes) -> None:
    if len(body) > MAX_BODY:
        raise too_large(f"Request entity too large: limit is {MAX_BODY}")


def _brackets(body: bytes) -> int:
    return body.count(b"{") + body.count(b"[")


def _check_depth(body: bytes) -> None:
    """Raises SyntaxProblem if a body, which may be invalid, is nested deeper than the limit."""
    if _brackets(body) <= MAX_DEPTH:
        return
    depth = 0
    for part in _NO_BRACKET.sub(b" ", _STRING.sub(b"", body)).split():
        for opening in part:
            depth += 1 if opening in b"{[" else -1
            if depth > MAX_DEPTH:
                raise SyntaxProblem("exceeded max depth")


def _header_problem(value: Any) -> str | None:
    if value is None or isinstance(value, dict):
        return None
    return _HEADER.replace("{}", gojson.type_name(value), 1)


def summary(data: bytes) -> str:
    """A body in an error message: text if it starts like JSON, else hex (`serializer/json.summarizeData`)."""
    if not data:
        return "<empty>"
    limit = 30
    more = " ..." if len(data) > limit else ""
    head = data[:limit]
    return (head.decode("utf-8", "replace") if data[:1] == b"{" else head.hex()) + more


def duplicate_fields(body: bytes) -> list[str]:
    """The paths of fields that occur more than once in their object, in the order of their second occurrence."""
    return list(dict.fromkeys(path for path, again in _fields(_pairs(body), "", lambda path: False) if again))


def _strict_errors(body: bytes, unknown: frozenset[str], opaque: Callable[[str], bool]) -> list[str]:
    found: dict[str, None] = {}
    for path, again in _fields(_pairs(body), "", lambda path: path in unknown or opaque(path)):
        if path in unknown:
            found[f'unknown field "{path}"'] = None
        elif again:
            found[_duplicate(path)] = None
    return list(found)


def _pairs(body: bytes) -> Any:
    whole: Callable[[str], Any] = lambda text: int(text) if _is_int64(text) else float(text)  # noqa: E731
    return json.loads(body.decode("utf-8", "replace"), object_pairs_hook=Pairs, parse_int=whole)


def _is_int64(text: str) -> bool:
    return len(text) < 18 or -(2**63) <= Decimal(text) < 2**63


def _outermost(body: bytes) -> list[tuple[str, Any]]:
    """The fields of the outermost object, repeated ones included."""
    fields: list[tuple[str, Any]] = []

    def note(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        fields[:] = pairs  # the outermost object ends last
        return dict(pairs)

    json.loads(body.decode("utf-8", "replace"), object_pairs_hook=note)
    return fields


def _fields(value: Any, path: str, is_leaf: Callable[[str], bool]) -> Iterator[tuple[str, bool]]:
    """The path of each field in the order of the document, and whether its object has had the field before.

    The fields of leaves are left out.
    """
    if isinstance(value, Pairs):
        seen: set[str] = set()
        for key, item in value:
            here = f"{path}.{key}" if path else key
            yield here, key in seen
            seen.add(key)
            if not is_leaf(here):
                yield from _fields(item, here, is_leaf)
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from _fields(item, f"{path}[{i}]", is_leaf)


def parse_yaml(body: bytes) -> tuple[Any, list[str]]:
    """The first YAML document as a JSON value, and the errors for its duplicate keys. Raises SyntaxProblem."""
    if body[:1] == b"{" and (b"\\" not in body or not _NOT_YAML.search(body)):
        with contextlib.suppress(orjson.JSONDecodeError, SyntaxProblem):
            value = orjson.loads(body)
            shortest = compact(value)
            if shortest is not None and not _repeated(body, shortest):
                return _sorted(with_go_numbers(value)), []
    try:
        document = goyaml.Document(body)
        return _sorted(with_go_numbers(document.value())), document.repeated()
    except goyaml.YamlProblem as problem:
        raise SyntaxProblem(f"error converting YAML to JSON: {problem}") from None
    except goyaml.TooDeep:
        raise SyntaxProblem("exceeded max depth") from None


def encoded(value: Any) -> bytes:
    """A value that was not sent as bytes, as error messages quote it."""
    return orjson.dumps(value)


def _sorted(value: Any) -> Any:
    """The value with its keys in order, as JSON that was made from YAML has them."""
    try:
        return orjson.loads(orjson.dumps(value, option=orjson.OPT_SORT_KEYS))
    except TypeError:  # integers beyond 64 bits, surrogates
        return json.loads(json.dumps(value, sort_keys=True))


def copied(value: Any) -> Any:
    """A deep copy of a JSON value."""
    return orjson.loads(orjson.dumps(value))


def load_manifests(text: str) -> Iterable[Object]:
    """The objects of a multi-document YAML (or JSON) text; the items of Lists are returned one by one.

    Raises ValueError, which names the document, and YamlProblem.
    """
    for _, found in placed_manifests(text):
        if isinstance(found, ValueError):
            raise found
        yield found


def placed_manifests(text: str) -> Iterable[tuple[int, Object | ValueError]]:
    """As `load_manifests`, with the line of each object; a ValueError for each that is none. Raises YamlProblem."""
    for number, (document, line, items) in enumerate(goyaml.placed(text), 1):
        if document is None:
            continue
        obj = _checked_manifest(with_go_numbers(document), number)
        if isinstance(obj, dict) and obj["kind"].endswith("List") and isinstance(obj.get("items"), list):
            for item, at in zip_longest(obj["items"], items[: len(obj["items"])], fillvalue=line):
                yield at, _checked_manifest(item, number)
        else:
            yield line, obj


def _checked_manifest(value: Any, number: int) -> Object | ValueError:
    subject = f"document {number} is not a Kubernetes object"
    if not isinstance(value, dict) or not all(_is_name(value.get(key)) for key in ("apiVersion", "kind")):
        return ValueError(f"{subject}: apiVersion and kind are required")
    if not isinstance(value.get("metadata") or {}, dict):
        return ValueError(f"{subject}: metadata must be a map")
    return value


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and value != ""
