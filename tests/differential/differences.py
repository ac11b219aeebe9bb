"""Compares the answers of two servers, and names the rule that a difference is about."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from tests.differential.normalising import ERROR
from tests.differential.scenario import Name, Step

CODE, OBJECT, WORDS = "code", "object", "words"

ABSENT = "<absent>"

QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"|`[^`]*`|\'[^\']*\'')
NUMBER = re.compile(r"-?\d[\d.]*")
FIELDS = re.compile(r"(fieldsV1\.f:\w+).*")
PATCHED = re.compile(r'Invalid value: ("\{(?:[^"\\]|\\.)*"): (.*)', re.S)
COMPILER = re.compile(r"ERROR: <input>:(\d+:\d+): (.*)")
NAME = re.compile(r"\bd\d{6}\w{4}-\w+[-\w.]*")


class Rule(NamedTuple):
    """What a difference is about."""

    area: str
    kind: str
    path: str
    message: str


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference of two answers: of the other server, and of fakekube."""

    rule: Rule
    name: Name
    step: Step
    theirs: Any
    ours: Any


def compared(
    name: Name, steps: Sequence[Step], theirs: Sequence[Any], ours: Sequence[Any]
) -> tuple[list[Difference], int]:
    """The differences of a scenario, and how many of its requests were compared: those up to the first other code.

    A request has at most one difference: the first of code, object and words.
    """
    found: list[Difference] = []
    for i, (step, their, our) in enumerate(zip(steps, theirs, ours, strict=True)):
        difference = difference_of(name, step, their, our)
        if difference is not None:
            found.append(difference)
            if difference.rule.kind == CODE:
                return found, i + 1
    return found, len(steps)


def difference_of(name: Name, step: Step, their: Any, our: Any) -> Difference | None:
    if their == our:
        return None
    if their["status"] != our["status"]:
        refusal = max((their, our), key=lambda one: one["status"])
        path = f"{their['status']} here {our['status']}"
        return Difference(Rule(name.area, CODE, path, pattern(message_of(refusal["body"]))), name, step, their, our)
    texts: tuple[list[str], list[str]] = ([], [])
    objects = [without_messages(one, into) for one, into in zip((their, our), texts, strict=True)]
    first = first_difference(*objects)
    if first is not None:
        path, left, right = first
        path = FIELDS.sub(r"\1", path).replace("items.*.", "").replace("rows.*.object.", "")
        if path.startswith("body.details") and texts[0][:1] != texts[1][:1]:
            path, (left, right) = "errors", _apart(message_of(their["body"]), message_of(our["body"]))
            return Difference(Rule(name.area, OBJECT, path, f"{left} here {right}"), name, step, their, our)
        rule = Rule(name.area, OBJECT, f"{_where(step)} {path}", f"{_short(left)} here {_short(right)}")
        return Difference(rule, name, step, their, our)
    left, right = next((a, b) for a, b in zip(*texts, strict=True) if a != b)
    a, b = _apart(left, right)
    rule = Rule(name.area, WORDS, "message", f"{a} here {b}")
    return Difference(rule, name, step, their, our)


def _apart(left: str, right: str) -> tuple[str, str]:
    """What is different in two messages: errors that one of them lacks, or the text around the first difference."""
    found = _patched_apart(left, right) or _compilers_apart(left, right)
    if found is not None:
        return found
    parts = [_errors(left), _errors(right)]
    only = [[one for one in parts[i] if one not in parts[1 - i]] for i in (0, 1)]
    if not any(only):
        return "(errors in this order)", "(errors in another order)"
    if len(only[0]) != len(only[1]):
        return "; ".join(pattern(one)[:120] for one in only[0]) or "-", "; ".join(
            pattern(one)[:120] for one in only[1]
        ) or "-"
    a, b = next((x, y) for x, y in zip(*only, strict=True) if x != y)
    at = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    return _around(a, at), _around(b, at)


def _patched_apart(left: str, right: str) -> tuple[str, str] | None:
    """What is different in the patched objects that two messages contain."""
    found = [PATCHED.search(text) for text in (left, right)]
    if found[0] is None or found[1] is None or found[0].group(2) != found[1].group(2):
        return None
    try:
        objects = [json.loads(json.loads(one.group(1))) for one in found if one is not None]
    except ValueError:
        return None
    first = first_difference(*objects)
    if first is None:
        return "patched object: fields in this order", "in another order"
    path = FIELDS.sub(r"\1", first[0])
    return f"patched object: {path} {_short(first[1])}", _short(first[2])


def _compilers_apart(left: str, right: str) -> tuple[str, str] | None:
    """The errors of CEL's compiler that one of two messages lacks."""
    errors = [[(one.group(1), pattern(one.group(2))) for one in COMPILER.finditer(text)] for text in (left, right)]
    only = [[one for one in errors[i] if one not in errors[1 - i]] for i in (0, 1)]
    if not any(only):
        return None
    texts = ["; ".join(dict.fromkeys(message for _, message in one)) or "-" for one in only]
    return f"CEL: {texts[0]}", texts[1] if texts[1] != texts[0] else "the same at another place"


def _around(text: str, at: int) -> str:
    """The words of a text around a place, without numbers and names."""
    before, after = (re.sub(r"\.{3,}", "…", part.replace("\n", " ")) for part in (text[:at], text[at:]))
    last = before[-50:]
    return plain(last.partition(" ")[2] if len(before) > 50 and " " in last else last) + "»" + plain(after[:16])


def plain(text: str) -> str:
    return NUMBER.sub("N", NAME.sub("…", text)).replace('"', "")


def _errors(text: str) -> list[str]:
    """The errors of a message with a list of them, else the message."""
    _, listed, errors = text.partition(" is invalid: [")
    if listed:
        return ERROR.split(errors.removesuffix("]"))
    return [text.partition(" is invalid: ")[2] or text]


def _where(step: Step) -> str:
    """The collection of a request, without names."""
    parts = step.path.strip("/").split("/")
    rest = parts[2:] if parts[0] == "api" else parts[3:] if parts[0] == "apis" else parts
    if "namespaces" in rest and len(rest) > rest.index("namespaces") + 2:
        at = rest.index("namespaces")
        rest = rest[:at] + rest[at + 2 :]
    kind = next((one for one in rest if "." not in one), "")
    sub = rest[rest.index(kind) + 2 :] if kind in rest else []
    return "/".join([kind if not NAME.search(kind) else "custom", *sub])


def message_of(body: Any) -> str:
    if isinstance(body, dict):
        return str(body.get("message", ""))
    return body if isinstance(body, str) else ""


def without_messages(value: Any, into: list[str], key: str = "") -> Any:
    """A value without its texts for people, which are appended to `into`."""
    if isinstance(value, dict):
        return {name: without_messages(item, into, name) for name, item in sorted(value.items())}
    if isinstance(value, list):
        return [without_messages(item, into) for item in value]
    if isinstance(value, str) and key in ("message", "warning"):
        into.append(value)
        return "<message>"
    return value


def first_difference(their: Any, our: Any, path: str = "") -> tuple[str, Any, Any] | None:
    """The path of the first difference (indexes are `*`), and both values."""
    if isinstance(their, dict) and isinstance(our, dict):
        for name in sorted(their.keys() | our.keys()):
            found = first_difference(their.get(name, ABSENT), our.get(name, ABSENT), f"{path}.{_key(name)}".strip("."))
            if found is not None:
                return found
        return None
    if isinstance(their, list) and isinstance(our, list):
        for left, right in zip(their, our, strict=False):
            found = first_difference(left, right, f"{path}.*")
            if found is not None:
                return found
        if len(their) != len(our):
            return f"{path}.length", len(their), len(our)
        return None
    if their == our and type(their) is type(our):
        return None
    return path, their, our


def _key(name: str) -> str:
    return name[:2] + "…" if name[:2] in ("k:", "v:") else NAME.sub("…", name)


def _short(value: Any) -> str:
    if isinstance(value, dict | list):
        return "{…}" if isinstance(value, dict) else "[…]"
    return pattern(str(value))[:200]


def pattern(message: str) -> str:
    """A message without what it quotes and without numbers and names of a scenario: the same for one rule."""
    text = NAME.sub("…", message)
    text = QUOTED.sub('"…"', text)
    text = re.sub(r"\[\d+\]", "[*]", text)
    text = NUMBER.sub("N", text)
    return text[:300]


def distinct(differences: Sequence[Difference]) -> Iterator[tuple[Rule, list[Difference]]]:
    """The differences by rule, the most frequent one first."""
    found: dict[Rule, list[Difference]] = {}
    for one in differences:
        found.setdefault(one.rule, []).append(one)
    yield from sorted(found.items(), key=lambda item: (-len(item[1]), item[0]))
