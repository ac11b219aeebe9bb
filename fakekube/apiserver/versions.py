"""The supported Kubernetes versions, and the resources that each of them serves.

The discovery of one version is recorded. The resources of another version are the recorded ones whose kinds it has,
and those of ADDED_OR_REMOVED.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from fakekube.apiserver.features import RECORDED
from fakekube.apiserver.resource import VERBS, Resource, Subresource, version_priority
from fakekube.apiserver.schema.builtinschemas import BuiltinSchemas, number
from fakekube.struct import Struct

Minor = tuple[int, ...]


class UnknownVersion(ValueError):
    """An unsupported Kubernetes version."""


def minor_of(text: str, known: Sequence[str]) -> str:
    """The minor version of `1.31`, `v1.31` or `1.31.4`. Raises UnknownVersion, which names the supported ones."""
    match = re.fullmatch(r"v?(\d+\.\d+)(?:\.\d+)?", text.strip())
    if not match or match[1] not in known:
        choices = f"{known[0]} to {known[-1]}"
        raise UnknownVersion(f"Kubernetes version {text!r} is not supported: choose a minor version from {choices}")
    return match[1]


class ServedIn(Struct, frozen=True):
    """Resources that the recorded version does not serve, with the range of versions that do."""

    first: Minor
    last: Minor
    group: str
    version: str
    rows: tuple[Resource, ...]


_STATUS_VERBS = frozenset({"get", "patch", "update"})


def _row(
    plural: str, kind: str, *, namespaced: bool = False, status: bool = False, short: str = "", category: str = ""
) -> Resource:
    parts = {"status": Subresource("status", kind, "", "", _STATUS_VERBS)} if status else {}
    return Resource(
        group="",
        version="",
        plural=plural,
        singular=kind.lower(),
        kind=kind,
        list_kind=f"{kind}List",
        namespaced=namespaced,
        verbs=frozenset(VERBS),
        collection=plural,
        short_names=(short,) if short else (),
        categories=(category,) if category else (),
        subresources=parts,
    )


_FLOW = (
    _row("flowschemas", "FlowSchema", status=True),
    _row("prioritylevelconfigurations", "PriorityLevelConfiguration", status=True),
)
_END: Minor = (9, 9)

#: Resources that are served by default in earlier or later versions only.
ADDED_OR_REMOVED = (
    ServedIn((1, 23), (1, 25), "autoscaling", "v2beta2",
              (_row("horizontalpodautoscalers", "HorizontalPodAutoscaler", namespaced=True, status=True, short="hpa",
                    category="all"),)),
    ServedIn((1, 20), (1, 25), "flowcontrol.apiserver.k8s.io", "v1beta1", _FLOW),
    ServedIn((1, 23), (1, 28), "flowcontrol.apiserver.k8s.io", "v1beta2", _FLOW),
    ServedIn((1, 26), (1, 31), "flowcontrol.apiserver.k8s.io", "v1beta3", _FLOW),
    ServedIn((1, 21), (1, 26), "storage.k8s.io", "v1beta1",
              (_row("csistoragecapacities", "CSIStorageCapacity", namespaced=True),)),
    ServedIn((1, 37), _END, "certificates.k8s.io", "v1",
              (_row("clustertrustbundles", "ClusterTrustBundle"),
               _row("podcertificaterequests", "PodCertificateRequest", namespaced=True, status=True))),
    ServedIn((1, 37), _END, "resource.k8s.io", "v1", (_row("devicetaintrules", "DeviceTaintRule", status=True),)),
    ServedIn((1, 37), _END, "storagemigration.k8s.io", "v1",
              (_row("storageversionmigrations", "StorageVersionMigration", status=True),)),
)  # fmt: skip

#: Subresources that were added later than their resource: (qualified resource, subresource) -> first version.
ADDED_SUBRESOURCES = {("pods", "resize"): (1, 33)}


def resources(recorded: Iterable[Resource], schemas: BuiltinSchemas) -> list[Resource]:
    """The built-in resources of a version, in the order of discovery."""
    minor = number(schemas.version)
    rows = [_aged(row, minor) for row in recorded if _has(schemas, row)]
    if schemas.version == RECORDED:
        return rows
    order = list(dict.fromkeys(row.group for row in rows))
    for extra in ADDED_OR_REMOVED:
        if extra.first <= minor <= extra.last:
            rows += [row for one in extra.rows if _has(schemas, row := _placed(one, extra))]
            order += [extra.group] if extra.group not in order else []
    return sorted(rows, key=lambda row: (order.index(row.group), version_priority(row.version)))


def _placed(row: Resource, extra: ServedIn) -> Resource:
    return replace(row, group=extra.group, version=extra.version, collection=f"{row.plural}.{extra.group}")


def _has(schemas: BuiltinSchemas, row: Resource) -> bool:
    return schemas.of_kind(row.group, row.version, row.kind) is not None


def _aged(row: Resource, minor: Minor) -> Resource:
    """The resource with the subresources of a version."""
    young = {name for name in row.subresources if ADDED_SUBRESOURCES.get((row.qualified, name), ()) > minor}
    if not young:
        return row
    return replace(row, subresources={name: sub for name, sub in row.subresources.items() if name not in young})
