"""Detects values of Secrets where everybody can read them."""

from __future__ import annotations

import base64
import binascii
import logging
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from fakekube.apiserver.response import StoredObject
from fakekube.apiserver.storage.store import Change
from fakekube.harness.detectors.detector import CHANGES, Doing, Exchange, Scene, leaves, shown_path
from fakekube.harness.detectors.levels import Level

#: Names of keys whose values are secret; others have user names, hosts and certificates.
_SECRET = re.compile(
    r"passw|pass(phrase)?$|pwd|secret|token|credential|private|api[-_.]?key|access[-_.]?key|\.key$|^key$|auth$",
    re.IGNORECASE,
)
_PUBLIC = re.compile(
    r"(name|url|uri|[-_.]id|keyid|host|user|path|type|expir\w*|hash|checksum|crt|cert|pub|public)$", re.IGNORECASE
)

#: The fewest characters of a value that is recognized; of one without both letters and digits.
SHORTEST, SHORTEST_WORD = 6, 8

#: Values that are words of any message.
_WORDS = frozenset({"password", "passwort", "postgres", "database", "username", "disabled", "required", "undefined"})


class LeakedSecrets:
    """The value of a Secret in a status, an Event, a ConfigMap or a log record of at least level INFO.

    The value is that of a key whose name says that it is secret, as it is or in base64. Not judged: what the spec of
    the same object has, too, and what was in the object before.
    """

    levels: Mapping[str, Level] = {"leaked-secret": "warn"}
    collections: frozenset[str] = frozenset({"secrets"})

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        #: by the text: the Secret and its key
        self._values: dict[str, tuple[str, str]] = {}

    def committed(self, change: Change, doing: Doing | None) -> None:
        if change.after is not None:
            for key, raw in (change.after.object.get("data") or {}).items():
                if _SECRET.search(key) and not _PUBLIC.search(key):
                    for text in _texts(raw, key):
                        if not self._values:
                            self._scene.listen(CHANGES, self._wrote)
                        self._values[text] = (change.path, key)

    def _wrote(self, exchange: Exchange) -> None:
        body = exchange.response.body
        if exchange.record.code >= 300 or not isinstance(body, StoredObject):
            return
        obj = body.entry.object
        for path, text in _public(exchange.record.resource, obj):
            for value, (secret, key) in self._values.items():
                if _contains(text, value) and self._is_new(exchange, obj, value):
                    self._scene.report(
                        "leaked-secret",
                        f"{exchange.record} has the value of {key} of the Secret {secret} in {shown_path(path)}"
                        f"{exchange.within}: whoever may read {exchange.record.resource} can read it; refer to the "
                        "Secret by its name",
                        who=exchange.who,
                        key=(exchange.program, secret, key, exchange.record.resource),
                    )

    def _is_new(self, exchange: Exchange, obj: Mapping[str, Any], value: str) -> bool:
        """Whether the object has a value neither in its spec nor in its version before the request."""
        if any(_contains(str(leaf), value) for _, leaf in leaves(obj.get("spec"))):
            return False
        place = self._scene.place(exchange.info.path) if exchange.info.name else None
        if place is None:
            return True
        before = self._scene.store.collection(place[0]).at(place[1], exchange.record.revision - 1)
        public = _public(exchange.record.resource, before.object) if before is not None else ()
        return not any(_contains(text, value) for _, text in public)

    def logged(self, record: logging.LogRecord, program: str) -> None:
        if not self._values or record.levelno < logging.INFO:
            return
        text = _logged_text(record)
        for value, (secret, key) in self._values.items():
            if _contains(text, value):
                self._scene.report(
                    "leaked-secret",
                    f"{record.name} logged the value of {key} of the Secret {secret} at level {record.levelname} "
                    f"({Path(record.pathname).name}:{record.lineno}): logs are kept and read elsewhere; log the name "
                    "of the Secret",
                    who=program,
                    key=(program, secret, key, record.pathname, record.lineno),
                )

    def finish(self) -> None:
        """Nothing is left to report."""

    def retire(self) -> None:
        self._values.clear()


def _texts(raw: Any, key: str) -> Iterator[str]:
    """The texts by which a value of a Secret is recognized: its longest line, and its base64."""
    try:
        value = base64.b64decode(raw, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError, TypeError, ValueError):
        return
    line = max((one.strip() for one in value.splitlines()), key=len, default="")
    is_mixed = any(map(str.isalpha, line)) and any(map(str.isdigit, line))
    if len(line) >= (SHORTEST if is_mixed else SHORTEST_WORD) and line.lower() not in (*_WORDS, key.lower()):
        yield line
        yield str(raw).rstrip("=")


def _public(resource: str, obj: Mapping[str, Any]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """The texts of an object that are no place for secrets, with their paths."""
    if resource == "configmaps":
        parts: tuple[str, ...] = ("data",)
    elif resource == "events":
        parts = ("message", "note", "reason", "action")
    else:
        parts = ("status",)
    for part in parts:
        for path, value in leaves(obj.get(part), (part,)):
            if isinstance(value, str):
                yield path, value


def _contains(text: str, value: str) -> bool:
    """Whether a text has a value that is not a part of a longer word."""
    start = text.find(value)
    while start >= 0:
        end = start + len(value)
        if not (text[start - 1 : start].isalnum() or text[end : end + 1].isalnum()):
            return True
        start = text.find(value, start + 1)
    return False


def _logged_text(record: logging.LogRecord) -> str:
    error = record.exc_info[1] if record.exc_info else None
    try:
        return f"{record.getMessage()} {error if error is not None else ''}"
    except (TypeError, ValueError):  # the arguments do not match
        return f"{record.msg} {record.args}"


DETECTORS = (LeakedSecrets,)
