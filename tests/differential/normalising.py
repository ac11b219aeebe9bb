"""Replaces what differs between two runs of a scenario by stable symbols."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson

from tests.differential.servers import Answer, Sent

UID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
TIME = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
ADDRESS = re.compile(r"\b10\.0\.0\.\d{1,3}\b")
AGE = re.compile(r"^(\d+[smhd]|<invalid>)(\d+[smhd])?( ago)?$")
REVISION = re.compile(
    r"""(resource version: |current: |resourceVersion |record \(|precondition \(|precondition: |object meta: |\\?"resourceVersion\\?":\\?")\d+\b"""
)
PORT = re.compile(r"(?<=:)3[0-2]\d{3}(?=/)")
NODE_PORTS = range(30000, 32768)

#: The number of a type of CEL that is the schema of a custom resource, and ports in quoted objects.
COUNTED = re.compile(r"(?<=selfType)\d+")
QUOTED_PORT = re.compile(r'(?<=odePort\\":)3[0-2]\d{3}\b|(?<=odePort":)3[0-2]\d{3}\b')

#: The start of an error in a list of them.
ERROR = re.compile(r", (?=[a-zA-Z<]\w*[\w.\[\]()/\"*> -]*: [A-Z<])")

#: The name that kube-apiserver has as a manager of fields.
PROGRAM = "kube-apiserver"

#: Times that are this close to the present are those of the run.
RECENT = timedelta(hours=30)

#: Rules of a user, which kube-apiserver lists in the order of Go's maps.
RULES = frozenset({"resourceRules", "nonResourceRules"})

#: Fields whose values no two runs share.
OPAQUE = {"continue": "<continue>", "token": "<token>"}


def normalised(exchanges: Sequence[tuple[Sent, Answer]], now: datetime, server: str = "") -> list[dict[str, Any]]:
    """The answers of a scenario in a form in which those of two servers can be compared. `server` is the name of the
    program that answered, which writes as the manager of that name."""
    found = _Normaliser(exchanges, now, server)
    return [_in_order(sent, found.answer(answer)) for sent, answer in exchanges]


#: Kinds whose errors kube-apiserver finds in the order of a Go map, which is another one each time.
UNORDERED = re.compile(r"\.example\.com/|/customresourcedefinitions")


#: The path of a value of a map: kube-apiserver goes through maps in the order of Go.
OF_A_MAP = re.compile(r"\[[^\]\d]")


def _in_order(sent: Sent, answer: dict[str, Any]) -> dict[str, Any]:
    """An answer in which errors without an order are sorted."""
    body = answer["body"]
    causes = (body.get("details") or {}).get("causes") if isinstance(body, dict) else None
    if not causes or not (UNORDERED.search(sent.path) or any(OF_A_MAP.search(str(one.get("field"))) for one in causes)):
        return answer
    causes = sorted(causes, key=lambda one: [str(one.get(name)) for name in ("field", "message", "reason")])
    head, listed, errors = str(body.get("message")).partition(" is invalid: ")
    if listed and errors.startswith("["):
        errors = "[" + ", ".join(sorted(ERROR.split(errors[1:].removesuffix("]")))) + "]"
    return {
        **answer,
        "body": {**body, "message": head + listed + errors, "details": {**body["details"], "causes": causes}},
    }


class _Normaliser:
    def __init__(self, exchanges: Sequence[tuple[Sent, Answer]], now: datetime, server: str) -> None:
        self._now, self._server = now, server
        self._asked = b"\n".join(sent.body for sent, _ in exchanges).decode("utf-8", "replace")
        self._uids: dict[str, str] = {}
        self._addresses: dict[str, str] = {}
        self._ports: dict[int, str] = {}
        self._generated = dict(_generated(exchanges))
        self._revisions: dict[int, str] = {}
        self._answers = 0

    def answer(self, answer: Answer) -> dict[str, Any]:
        self._answers += 1
        new = sorted({rv for rv in _revisions(answer.body) if rv not in self._revisions})
        self._revisions |= {rv: f"<rv:{self._answers}.{i}>" for i, rv in enumerate(new)}
        headers = {name: self._text(value) for name, value in answer.headers.items()}
        return {"status": answer.status, "headers": headers, "body": self._value(answer.body, "")}

    def _value(self, value: Any, key: str) -> Any:
        if isinstance(value, dict):
            return {self._text(name): self._field(name, item) for name, item in sorted(value.items())}
        if isinstance(value, list):
            items = sorted(value, key=_entry_order) if key == "managedFields" and _entries(value) else value
            if key in RULES and _entries(value):
                items = sorted(value, key=str)
            return [self._value(item, key) for item in items]
        if isinstance(value, str):
            if key == "cells" and AGE.match(value):
                return "<age>"
            if key == "cells" and PORT.search(value):
                return PORT.sub("<port>", value)
            return self._text(value)
        if isinstance(value, int) and key.lower().endswith("nodeport") and value in NODE_PORTS:
            return self._port(value)
        return value

    def _field(self, name: str, value: Any) -> Any:
        if name in OPAQUE and isinstance(value, str) and value:
            return OPAQUE[name]
        if name == "resourceVersion" and isinstance(value, str) and value.isdigit() and value != "0":
            return self._revision(int(value))
        return self._value(value, name)

    def _revision(self, value: int) -> str:
        """The answer that had this resourceVersion first, or for a list the last one that is not newer."""
        known = [rv for rv in self._revisions if rv <= value]
        return self._revisions[max(known)] if known else "<rv>"

    def _port(self, value: int) -> Any:
        if str(value) in self._asked:
            return value
        return self._ports.setdefault(value, f"<port:{len(self._ports)}>")

    def _quoted_port(self, found: re.Match[str]) -> str:
        return str(self._port(int(found.group(0))))

    def _text(self, text: str) -> str:
        for name, symbol in self._generated.items():
            text = text.replace(name, symbol)
        if self._server:
            text = text.replace(self._server, PROGRAM)
        if len(text) < 8:
            return text
        text = UID.sub(self._uid, text)
        text = TIME.sub(self._time, text)
        text = ADDRESS.sub(self._address, text)
        text = COUNTED.sub("", QUOTED_PORT.sub(self._quoted_port, text))
        return REVISION.sub(r"\1<rv>", text)

    def _uid(self, found: re.Match[str]) -> str:
        uid = found.group(0)
        return uid if uid in self._asked else self._uids.setdefault(uid, f"<uid:{len(self._uids)}>")

    def _time(self, found: re.Match[str]) -> str:
        try:
            time = datetime.fromisoformat(found.group(0)[:19]).replace(tzinfo=UTC)
        except ValueError:
            return found.group(0)
        if abs(time - self._now) > RECENT:
            return found.group(0)
        return "<microtime>" if found.group(1) else "<time>"

    def _address(self, found: re.Match[str]) -> str:
        address = found.group(0)
        if address in self._asked:
            return address
        return self._addresses.setdefault(address, f"<ip:{len(self._addresses)}>")


def _entries(value: list[Any]) -> bool:
    return all(isinstance(one, dict) for one in value)


def _entry_order(entry: dict[str, Any]) -> list[str]:
    """The order of managedFields without their times, which depend on when a second ends."""
    return [str(entry.get(name, "")) for name in ("operation", "manager", "apiVersion", "subresource")]


def _generated(exchanges: Sequence[tuple[Sent, Answer]]) -> Iterator[tuple[str, str]]:
    """The names that a server generated, with their symbols."""
    for i, (sent, answer) in enumerate(exchanges):
        if sent.method != "POST" or b"generateName" not in sent.body or not isinstance(answer.body, dict):
            continue
        meta = answer.body.get("metadata")
        prefix = meta.get("generateName") if isinstance(meta, dict) else None
        name = meta.get("name") if isinstance(meta, dict) else None
        if prefix and isinstance(name, str) and name.startswith(prefix) and name.encode() not in sent.body:
            yield name, f"{prefix}<generated:{i}>"
        elif answer.status >= 400:
            yield from _generated_in_refusal(sent, answer.body, i)


def _generated_in_refusal(sent: Sent, body: dict[str, Any], i: int) -> Iterator[tuple[str, str]]:
    name = (body.get("details") or {}).get("name")
    try:
        prefix = orjson.loads(sent.body)["metadata"]["generateName"]
    except (ValueError, KeyError, TypeError):
        return
    if isinstance(name, str) and isinstance(prefix, str) and prefix and name.startswith(prefix[:58]) and name != prefix:
        yield name, f"{prefix}<generated:{i}>"


def _revisions(value: Any) -> Iterator[int]:
    """The resourceVersions of objects, without those of lists and bookmarks, which depend on other writes."""
    if isinstance(value, list):
        for item in value:
            yield from _revisions(item)
    elif isinstance(value, dict):
        if value.get("type") == "BOOKMARK":
            return
        meta = value.get("metadata")
        if isinstance(meta, dict) and "items" not in value and "rows" not in value:
            revision = meta.get("resourceVersion")
            if isinstance(revision, str) and revision.isdigit() and revision != "0":
                yield int(revision)
        for name in ("items", "rows", "object", "protobuf", "yaml"):
            yield from _revisions(value.get(name))
