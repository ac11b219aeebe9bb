"""Decodes and encodes bodies with the limits and error messages of the real server (`runtime/serializer`)."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator
from typing import Any

import orjson
import yaml

from fakekube.apiserver.resource import Object
from fakekube.apiserver.wire import gojson, protobuf
from fakekube.apiserver.wire.goprint import go_quote
from fakekube.apiserver.wire.status import StatusError, bad_request, too_large, unsupported_media_type

JSON, YAML, PROTOBUF = "application/json", "application/yaml", "application/vnd.kubernetes.protobuf"

#: The limit of the size of a body in bytes (`MaxRequestBodyBytes`), and of its nesting.
MAX_BODY = 3 * 1024 * 1024
MAX_DEPTH = 250

_HEADER = (
    'json: cannot unmarshal {} into Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; '
    'Kind string "json:\\"kind,omitempty\\"" }'
)
_KEY = re.compile(rb'"\s*:')


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
    """A decoded body, and the paths of its duplicate fields (only if decoded with `strict`)."""

    __slots__ = ("duplicates", "object")

    object: dict[str, Any]
    duplicates: list[str]

    def __init__(self, obj: Object, duplicates: list[str]) -> None:
        self.object, self.duplicates = obj, duplicates


def decode(body: Any, content_type: str | None, *, kind: str, strict: bool = True) -> Decoded:
    """Decodes the body of a create or an update.

    `kind` is the kind of the requested resource; `strict` finds duplicate fields. Raises 413, 415, and 400 if the body
    does not parse.
    """
    if isinstance(body, dict):
        return Decoded(body, [])
    if not isinstance(body, bytes):
        body, content_type = orjson.dumps(body), JSON
    kind_of_body = media_type(content_type)
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
    return Decoded(value if isinstance(value, dict) else {}, duplicates)


class SyntaxProblem(Exception):
    """The body is not valid JSON, YAML or protobuf."""


def parse(body: bytes, kind: str, *, strict: bool = False) -> tuple[Any, list[str]]:
    """The JSON value of a body, and its duplicate fields. Raises SyntaxProblem, and 413 for a body over the limit."""
    check_size(body)
    if kind == YAML:
        return parse_yaml(body), []
    if kind == PROTOBUF:
        try:
            return protobuf.decode(body), []
        except protobuf.Malformed as problem:
            raise SyntaxProblem(str(problem)) from None
    if _too_deep(body):
        raise SyntaxProblem("exceeded max depth")
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        value = _parse_as_go(body.decode("utf-8", "replace"))
    return value, duplicates(value, body) if strict and isinstance(value, dict) else []


def duplicates(value: Any, body: bytes) -> list[str]:
    """The paths of fields that occur more than once in the encoded value."""
    if not isinstance(value, dict | list):
        return []
    return duplicate_fields(body) if len(_KEY.findall(body)) != count_keys(value) else []


def _parse_as_go(text: str) -> Any:
    """Parses JSON that only Go accepts: unpaired surrogates become U+FFFD. Raises SyntaxProblem with Go's message."""
    problem = gojson.syntax_problem(text)
    if problem is None:
        again = json.dumps(json.loads(text, parse_int=float), ensure_ascii=False)
        try:
            return orjson.loads(again.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
        except orjson.JSONDecodeError:
            problem = "json: cannot unmarshal number into Go value of type float64"
    raise SyntaxProblem(problem)


def check_size(body: bytes) -> None:
    if len(body) > MAX_BODY:
        raise too_large(f"Request entity too large: limit is {MAX_BODY}")


def _too_deep(body: bytes) -> bool:
    if body.count(b"{") + body.count(b"[") <= MAX_DEPTH:
        return False
    depth = deepest = 0
    in_string = escaped = False
    for byte in body:
        if in_string:
            if escaped:
                escaped = False
            elif byte == 0x5C:
                escaped = True
            elif byte == 0x22:
                in_string = False
        elif byte == 0x22:
            in_string = True
        elif byte in b"{[":
            depth += 1
            deepest = max(deepest, depth)
        elif byte in b"}]":
            depth -= 1
    return deepest > MAX_DEPTH


def _header_problem(value: Any) -> str | None:
    if value is None or isinstance(value, dict):
        return None
    return _HEADER.replace("{}", gojson.type_name(value), 1)


def summary(data: bytes) -> str:
    """A body in an error message: text if it starts like JSON, else hex (`serializer/json.summarizeData`)."""
    if not data:
        return "<empty>"
    limit = 1024
    more = " ..." if len(data) > limit else ""
    head = data[:limit]
    return (head.decode("utf-8", "replace") if data[:1] == b"{" else head.hex()) + more


def count_keys(value: Any) -> int:
    """The number of fields of a value, nested ones included."""
    if isinstance(value, dict):
        return len(value) + sum(count_keys(v) for v in value.values() if isinstance(v, dict | list))
    return sum(count_keys(v) for v in value if isinstance(v, dict | list))


class _Pairs(list[tuple[str, Any]]):
    """The pairs of an object, duplicates included."""


def duplicate_fields(body: bytes) -> list[str]:
    """The paths of fields that occur more than once in their object, in the order of their second occurrence."""
    tree = json.loads(body.decode("utf-8", "replace"), object_pairs_hook=_Pairs, parse_int=str)
    found: list[str] = []
    _find_duplicates(tree, "", found)
    return list(dict.fromkeys(found))


def _find_duplicates(value: Any, path: str, found: list[str]) -> None:
    if isinstance(value, _Pairs):
        seen: set[str] = set()
        for key, item in value:
            here = f"{path}.{key}" if path else key
            if key in seen:
                found.append(here)
            seen.add(key)
            _find_duplicates(item, here, found)
    elif isinstance(value, list):
        for i, item in enumerate(value):
            _find_duplicates(item, f"{path}[{i}]", found)


class _YamlLoader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Loads YAML as sigs.k8s.io/yaml does: timestamps stay text."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - PyYAML's interface
        first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


_YamlLoader.add_constructor("tag:yaml.org,2002:timestamp", yaml.SafeLoader.construct_yaml_str)


def parse_yaml(body: bytes) -> Any:
    """The first YAML document as a JSON value. Raises SyntaxProblem, also for aliases, which can grow exponentially."""
    try:
        depth = 0
        for event in yaml.parse(body, Loader=_YamlLoader):
            if isinstance(event, yaml.AliasEvent):
                raise SyntaxProblem("error converting YAML to JSON: yaml: aliases are not supported here")
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
                if depth > MAX_DEPTH:
                    raise SyntaxProblem("exceeded max depth")
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
            elif isinstance(event, yaml.DocumentEndEvent):
                break
        loader = _YamlLoader(body)
        try:
            return _jsonable(loader.get_data()) if loader.check_data() else None
        finally:
            loader.dispose()
    except yaml.YAMLError as error:
        raise SyntaxProblem(f"error converting YAML to JSON: yaml: {_yaml_message(error)}") from None
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        # raised by PyYAML's constructors for a tag that does not fit its value: `!!bool perhaps`
        raise SyntaxProblem(f"error converting YAML to JSON: yaml: {error}") from None


def repeated_keys(body: bytes) -> list[str]:
    """Duplicate keys in the first document, worded as Go's YAML library words them."""
    loader = _YamlLoader(body)
    try:
        root = loader.get_node() if loader.check_node() else None
    finally:
        loader.dispose()
    return list(_repeated(root))


def _repeated(node: yaml.Node | None) -> Iterator[str]:
    if isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from _repeated(item)
    elif isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    yield f"line {key.start_mark.line + 1}: key {go_quote(key.value)} already set in map"
                seen.add(key.value)
            yield from _repeated(value)


def _yaml_message(error: yaml.YAMLError) -> str:
    """The message of Go's YAML library: it counts a parser's lines from zero and a scanner's from one."""
    problem = getattr(error, "problem", None) or str(error)
    marks = [getattr(error, name, None) for name in ("problem_mark", "context_mark")]
    at, began = (mark.line if mark is not None else 0 for mark in marks)
    line = at + 1 if at and isinstance(error, yaml.scanner.ScannerError) else at or began
    return f"line {line}: {problem}" if line else str(problem)


def _jsonable(value: Any) -> Any:
    """A value that can be encoded as JSON. Raises ValueError for a number that cannot."""
    if isinstance(value, dict):
        return {_key(k): _jsonable(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_jsonable(v) for v in value]
    if isinstance(value, bytes):
        return value.decode("latin-1")
    if isinstance(value, set):
        return {_key(k): None for k in sorted(value, key=str)}
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        value = float(value)
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"json: unsupported value: {value}")
    return value


def _key(key: Any) -> str:
    if isinstance(key, bool):
        return "true" if key else "false"
    return key if isinstance(key, str) else str(key)


def encode(value: Any) -> bytes:
    return orjson.dumps(value)


def copied(value: Any) -> Any:
    """A deep copy of a JSON value."""
    return orjson.loads(orjson.dumps(value))


def encode_yaml(value: Any) -> bytes:
    text: str = yaml.safe_dump(value, default_flow_style=False, sort_keys=True, allow_unicode=True)
    return text.encode()


def load_manifests(text: str) -> Iterable[Object]:
    """The objects of a multi-document YAML (or JSON) text; the items of Lists are returned one by one.

    Raises ValueError, which names the document, and yaml.YAMLError.
    """
    for number, document in enumerate(yaml.load_all(text, Loader=_YamlLoader), 1):
        if document is None:
            continue
        obj = _checked_manifest(_jsonable(document), number)
        if obj["kind"].endswith("List") and isinstance(obj.get("items"), list):
            yield from (_checked_manifest(item, number) for item in obj["items"])
        else:
            yield obj


def _checked_manifest(value: Any, number: int) -> Object:
    subject = f"document {number} is not a Kubernetes object"
    if not isinstance(value, dict) or not all(_is_name(value.get(key)) for key in ("apiVersion", "kind")):
        raise ValueError(f"{subject}: apiVersion and kind are required")
    if not isinstance(value.get("metadata") or {}, dict):
        raise ValueError(f"{subject}: metadata must be a map")
    return value


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and value != ""
