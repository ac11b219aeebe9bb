"""The resources that a server serves, one for each group, version and plural name, and the type of their objects."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fakekube.struct import Struct

Object = dict[str, Any]
"""An object of the API as decoded JSON. Objects are never changed in place."""

#: The verbs of the API, in the usual order.
VERBS = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")

#: Media types of patches. Kinds without Go types have no strategic merge patch.
JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
PATCH_TYPES = (JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH, APPLY_PATCH)
UNTYPED_PATCH_TYPES = (JSON_PATCH, MERGE_PATCH, APPLY_PATCH)


class Subresource(Struct, frozen=True):
    """A subresource (`status`, `scale`), with its verbs and its kind."""

    name: str
    kind: str
    group: str
    version: str
    verbs: frozenset[str]


@dataclass(frozen=True, slots=True)
class Resource:
    """A resource in one version, as discovery lists it.

    `collection` is the collection of the store; the versions of a resource, and the two groups of Event, share one.
    `custom`: a CustomResourceDefinition defines the resource; only `ApiServer` reads it. `listed_verbs`
    are the verbs in the order of discovery. `names_group`: aggregated discovery names the group and version of the
    kind. `stored_version`: of a custom resource, the version in which it is stored ("": it is not served;
    None: a built-in resource).
    """

    group: str
    version: str
    plural: str
    singular: str
    kind: str
    list_kind: str
    namespaced: bool
    verbs: frozenset[str]
    collection: str
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: Mapping[str, Subresource] = field(default_factory=dict)
    patch_types: tuple[str, ...] = PATCH_TYPES
    listed_verbs: tuple[str, ...] = ()
    names_group: bool = False
    custom: bool = False
    stored_version: str | None = None
    api_version: str = field(init=False, repr=False, compare=False)
    """`v1`, `apps/v1`."""
    qualified: str = field(init=False, repr=False, compare=False)
    """The name of the resource in errors: `configmaps`, `deployments.apps`."""

    def __post_init__(self) -> None:
        version = f"{self.group}/{self.version}" if self.group else self.version
        object.__setattr__(self, "api_version", version)  # every request reads both
        object.__setattr__(self, "qualified", qualify(self.plural, self.group))

    def __repr__(self) -> str:
        return f"<Resource {self.plural}.{self.version}.{self.group}>"


def qualify(name: str, group: str) -> str:
    """A plural name or a kind, followed by its group if it has one."""
    return f"{name}.{group}" if group else name


def version_priority(version: str) -> tuple[int, ...]:
    """Sort key: GA before beta before alpha, higher numbers first, anything else last (apimachinery `version`)."""
    match = re.fullmatch(r"v([1-9]\d*)(?:(alpha|beta)([1-9]\d*))?", version)
    if not match:
        return (1, 0, 0, 0)
    stage = {None: 0, "beta": 1, "alpha": 2}[match[2]]
    return (0, stage, -int(match[1]), -int(match[3] or 0))
