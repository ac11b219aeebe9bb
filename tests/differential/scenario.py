"""Scenarios: sequences of requests, their variables, and the values that are drawn for them."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

Object = dict[str, Any]
T = TypeVar("T")

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"

VARIABLE = re.compile(r"\$\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class Step:
    """One request.

    `body` is JSON, text or bytes; `${name}` in the path, the query and the body is a variable. `save` has variables
    that are read from the answer, by their path in its body. `compared`: the answers are compared. `until`: the
    request is repeated until the answer has this code, or has this path in its body. `watch`: the answer is a stream, of which the events are read
    that arrive at once.
    """

    method: str
    path: str
    body: Any = None
    query: tuple[tuple[str, str], ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    save: Mapping[str, str] = field(default_factory=dict)
    compared: bool = True
    until: int | str = 0
    watch: bool = False

    def shown(self) -> str:
        """The request as it is printed."""
        query = "?" + "&".join(f"{name}={value}" for name, value in self.query) if self.query else ""
        headers = "".join(f" [{name}: {value}]" for name, value in self.headers.items())
        body = self.body
        text = "" if body is None else body.hex() if isinstance(body, bytes) else json.dumps(body, ensure_ascii=False)
        return f"{self.method} {self.path}{query}{headers} {text}".rstrip()


@dataclass(frozen=True, slots=True)
class Scenario:
    """The requests of a scenario; `cleanup` has the paths of what is deleted after it."""

    steps: Sequence[Step]
    cleanup: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Name:
    """What a scenario is: with the seed it determines the requests. `run` distinguishes runs on one server."""

    seed: int
    area: str
    number: int
    run: str = "aaaa"

    @property
    def namespace(self) -> str:
        """The namespace of the scenario, which is the prefix of the names of its other objects as well."""
        return f"d{self.number:06d}{self.run}-{self.area}"

    def __str__(self) -> str:
        return f"{self.area}:{self.number}"


class Draw:
    """What is drawn for a scenario: the same for the same seed, area and number."""

    def __init__(self, name: Name) -> None:
        self.random = random.Random(f"{name.seed}/{name.area}/{name.number}")
        self.careful = False
        """Whether `slip` is never true: what is drawn should be accepted."""

    def one(self, values: Sequence[T]) -> T:
        return values[self.random.randrange(len(values))]

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def slip(self, share: float) -> bool:
        """Whether something is drawn that is probably refused."""
        return not self.careful and self.chance(share)

    def number(self, low: int, high: int) -> int:
        """An integer; both bounds are included."""
        return self.random.randint(low, high)

    def some(self, values: Sequence[T], most: int, least: int = 0) -> list[T]:
        """Different values, in their order."""
        most = min(most, len(values))
        count = self.random.randint(min(least, most), most)
        found = sorted(self.random.sample(range(len(values)), count))
        return [values[i] for i in found]

    def weighted(self, values: Mapping[T, int]) -> T:
        return self.random.choices(list(values), list(values.values()))[0]


def filled(value: Any, variables: Mapping[str, Any]) -> Any:
    """A value in which variables are replaced. One that is the whole of a text keeps its type; unknown ones stay."""
    if isinstance(value, str):
        if "${" not in value:
            return value
        whole = VARIABLE.fullmatch(value)
        if whole:
            return variables.get(whole.group(1), value)
        return VARIABLE.sub(lambda found: str(variables.get(found.group(1), found.group(0))), value)
    if isinstance(value, dict):
        return {filled(key, variables): filled(item, variables) for key, item in value.items()}
    if isinstance(value, list):
        return [filled(item, variables) for item in value]
    return value


def lookup(body: Any, path: str) -> Any:
    """The value at `metadata.uid` or `items.0.metadata.name`; None if there is none."""
    for part in path.split("."):
        if isinstance(body, list) and part.isdigit() and int(part) < len(body):
            body = body[int(part)]
        elif isinstance(body, dict):
            body = body.get(part)
        else:
            return None
    return body


# --- requests that many areas make ------------------------------------------------------------------------------------


def namespace(name: str, labels: Mapping[str, str] | None = None) -> Step:
    """Creates the namespace of a scenario."""
    body = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": name, "labels": {"of": name, **(labels or {})}},
    }
    return Step("POST", "/api/v1/namespaces", body, compared=False)


def create(collection: str, body: Any, *query: tuple[str, str], **more: Any) -> Step:
    return Step("POST", collection, body, query, **more)


def patch(path: str, content_type: str, body: Any, *query: tuple[str, str], **more: Any) -> Step:
    return Step("PATCH", path, body, query, {"Content-Type": content_type}, **more)


def apply(path: str, body: Any, manager: str, *query: tuple[str, str], force: bool = False, **more: Any) -> Step:
    forced = (("force", "true"),) if force else ()
    return patch(path, APPLY_PATCH, body, ("fieldManager", manager), *forced, *query, **more)
