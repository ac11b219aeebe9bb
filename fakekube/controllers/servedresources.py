"""The resources that a server has, from its aggregated discovery (client-go: discovery)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from controllerlib import Client
from fakekube.struct import Struct, field

_ACCEPT = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"


class ServedResource(Struct, frozen=True):
    """A resource of one version. `verbs`: those of the resource itself, not of its subresources."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool
    verbs: frozenset[str]
    singular: str = ""

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def qualified(self) -> str:
        """The resource with its group: "pods", "jobs.batch"."""
        return f"{self.plural}.{self.group}" if self.group else self.plural


class ServedResources(Struct, frozen=True):
    """What discovery has: all resources, those of preferred versions, and the groups that could not be discovered.

    `stale`: versions of groups ("group/version") whose server does not answer.
    """

    resources: Mapping[tuple[str, str], ServedResource] = field(default_factory=dict)
    preferred: Sequence[ServedResource] = ()
    stale: Sequence[str] = ()

    def find(self, api_version: str, kind: str) -> ServedResource | None:
        """The resource of a kind, or None."""
        return self.resources.get((api_version, kind))

    def kinds(self, group: str, version: str, name: str) -> Iterator[tuple[str, str, str]]:
        """The groups, versions and kinds of a resource by its plural or singular name, in any case of letters.

        Without a group, those of all groups that have the version, as of `events` (DefaultRESTMapper.KindsFor).
        """
        for one in self.resources.values():
            if group in ("", one.group) and version == one.version and name.lower() in (one.plural, one.singular):
                yield one.group, one.version, one.kind

    def supporting(self, *verbs: str) -> Sequence[ServedResource]:
        """The resources of preferred versions that have all `verbs`."""
        return [one for one in self.preferred if one.verbs.issuperset(verbs)]

    @property
    def problem(self) -> str:
        """Why some groups are missing, "" if none is (client-go: ErrGroupDiscoveryFailed)."""
        if not self.stale:
            return ""
        failures = ", ".join(f"{one}: stale GroupVersion discovery: {one}" for one in sorted(self.stale))
        return f"unable to retrieve the complete list of server APIs: {failures}"


async def served_resources(client: Client) -> ServedResources:
    """Ask the server for its resources, with two requests. Raises ApiError."""
    groups: list[Mapping[str, Any]] = []
    for path in ("/api", "/apis"):
        document = await client.raw_get(path, accept=_ACCEPT)
        groups += document.get("items") or ()
    return read_groups(groups)


def read_groups(groups: Iterable[Mapping[str, Any]]) -> ServedResources:
    """The resources of the items of APIGroupDiscoveryLists.

    A resource of several versions has its preferred version in the first version that a group lists, or else in the
    next one that has it (ServerPreferredResources).
    """
    found: dict[tuple[str, str], ServedResource] = {}
    preferred: dict[tuple[str, str], ServedResource] = {}
    stale: list[str] = []
    for group in groups:
        name = (group.get("metadata") or {}).get("name") or ""
        for version in group.get("versions") or ():
            if version.get("freshness") == "Stale":
                stale.append(f"{name}/{version['version']}")
            for one in _resources(name, version):
                found.setdefault((one.api_version, one.kind), one)
                preferred.setdefault((one.group, one.plural), one)
    return ServedResources(found, list(preferred.values()), stale)


def _resources(group: str, version: Mapping[str, Any]) -> Iterator[ServedResource]:
    for row in version.get("resources") or ():
        kind = (row.get("responseKind") or {}).get("kind")
        if kind:
            verbs = frozenset(row.get("verbs") or ())
            namespaced = row.get("scope") == "Namespaced"
            singular = row.get("singularResource") or kind.lower()
            yield ServedResource(group, version["version"], row["resource"], kind, namespaced, verbs, singular)
