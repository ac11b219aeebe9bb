"""The field paths of selectable fields and rules: `.spec.size`, `['a.b']` (`cel.ValidFieldPath`)."""

from __future__ import annotations

from fakekube.apiserver.crd.structural import Structural


class BadPath(Exception):
    """A malformed path, or one that does not exist in the schema."""


def tokens(path: str) -> list[str]:
    """Splits a path into delimiters and the texts between them; a quoted text is one token."""
    found: list[str] = []
    at = 0
    while at < len(path):
        if path[at] == "'":
            end = at + 1
            while end < len(path) and not (path[end] == "'" and path[end - 1] != "\\"):
                end += 1
            if end >= len(path):
                found.append(path[at:])
                break
            found.append(path[at : end + 1])
            at = end + 1
        elif path[at] in ".[]":
            found.append(path[at])
            at += 1
        else:
            end = at
            while end < len(path) and path[end] not in ".[]":
                end += 1
            found.append(path[at:end])
            at = end
    return found


def resolve(path: str, schema: Structural, *, arrays: bool = True) -> tuple[str, Structural | None]:
    """The path in the notation of the API, without a leading dot, and the schema at the path. Raises BadPath."""
    shown = ""
    current: Structural | None = schema
    rest = iter(tokens(path))
    for token in rest:
        if token == "[":
            if not arrays:
                raise BadPath("array notation is not allowed")
            name = _quoted(next(rest, None))
            current, shown = _step(current, name, shown)
            closing = next(rest, None)
            if closing is None:
                raise BadPath("unexpected end of JSON path")
            if closing != "]":
                raise BadPath(f"expected ] but got {closing}")
        elif token == ".":
            following = next(rest, None)
            if following is None:
                raise BadPath("unexpected end of JSON path")
            current, shown = _step(current, following, shown)
        else:
            raise BadPath(f"expected [ or . but got: {token}")
    return shown, current


def _quoted(token: str | None) -> str:
    if token is None:
        raise BadPath("unexpected end of JSON path")
    if len(token) < 2 or token[0] != "'" or token[-1] != "'":
        raise BadPath(f"expected single quoted string but got {token}")
    return token[1:-1].replace("\\'", "'").replace("\\\\", "\\")


def _step(schema: Structural | None, name: str, shown: str) -> tuple[Structural | None, str]:
    if schema is not None and schema.properties:
        if name not in schema.properties:
            raise BadPath("does not refer to a valid field")
        return schema.properties[name], f"{shown}.{name}" if shown else name
    if schema is not None and schema.has_additional:
        return schema.additional, f"{shown}[{name}]"
    raise BadPath("does not refer to a valid field")
