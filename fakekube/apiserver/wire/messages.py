"""The protobuf messages of the Kubernetes API: the fields of each message, and the message of each kind.

The messages are those of the published API (`fakekube/data/build_protobuf.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

from fakekube.data import load

#: Kinds that have one message in every group and version.
_META_KINDS = {
    kind: f"meta.v1.{kind}"
    for kind in (
        "DeleteOptions",
        "Status",
        "PartialObjectMetadata",
        "APIVersions",
        "APIGroup",
        "APIGroupList",
        "APIResourceList",
    )
}

#: Kinds of discovery documents, which are not in the schemas.
_DISCOVERY = {
    f"apidiscovery.k8s.io/{version}/APIGroupDiscovery": f"apidiscovery.{version}.APIGroupDiscovery"
    for version in ("v2", "v2beta1")
}


#: The wire types of numbers; other types are 2, bytes with their length.
_WIRE_TYPES = {"int": 0, "int32": 0, "bool": 0, "double": 1}


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a message: its JSON name and type (a scalar, a value, or the name of a message).

    A field without a name is a message whose fields are inlined in JSON. `pointer`: Go encodes it only if it is set.
    `wire` is its wire type.
    """

    name: str
    type: str = "string"
    repeated: bool = False
    map: bool = False
    pointer: bool = False
    wire: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "wire", 2 if self.map else _WIRE_TYPES.get(self.type, 2))

    @property
    def go_name(self) -> str:
        """The name of the field in Go, as error messages show it."""
        if not self.name or self.name == "metadata":
            return self.type.rpartition(".")[2]
        return self.name[0].upper() + self.name[1:]


def _described(text: str) -> Mapping[int, Field]:
    found = {}
    for number, name, type in (part.split(" ") for part in text.split(";") if part):
        plain = type.removeprefix("[]").removeprefix("{}").removeprefix("*")
        mark = type[0]
        found[int(number)] = Field("" if name == "-" else name, plain, mark == "[", mark == "{", mark == "*")
    return found


@cache
def message(name: str) -> Mapping[int, Field]:
    """The fields of a message by number. Raises KeyError for an unknown message."""
    return _described(load("protobuf.json")["types"][name])


@cache
def message_of(api_version: str, kind: str) -> str | None:
    """The message of a kind; None if there is none."""
    known = _META_KINDS.get(kind)
    if known is not None:
        return known
    group, _, version = api_version.rpartition("/")
    key = f"{group}/{version}/{kind}"
    found: str | None = _DISCOVERY.get(key) or load("schemas.json")["kinds"].get(key)
    return found if found in load("protobuf.json")["types"] else None
