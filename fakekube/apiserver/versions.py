"""Kubernetes versions: which there are, and which resources each serves.

The discovery of one version is recorded. Of another version's it is the recorded rows whose kinds that version has,
and what came or went meanwhile.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from fakekube.apiserver.resource import VERBS, Resource, Subresource, version_priority
from fakekube.apiserver.schema.builtin import BuiltinSchemas, number

#: What the recordings are of, and the default.
RECORDED = "1.36"

Minor = tuple[int, ...]


class UnknownVersion(ValueError):
    """A Kubernetes version that nothing is known of."""


def minor_of(text: str, known: Sequence[str]) -> str:
    """`1.31`, also written `v1.31` or `1.31.4`. Raises UnknownVersion naming those that there are."""
    match = re.fullmatch(r"v?(\d+\.\d+)(?:\.\d+)?", text.strip())
    if not match or match[1] not in known:
        choices = f"{known[0]} to {known[-1]}"
        raise UnknownVersion(f"Kubernetes version {text!r} is not known here: choose a minor version from {choices}")
    return match[1]


@dataclass(frozen=True, slots=True)
class Meanwhile:
    """Resources of one group and version that the recorded version has not: served from `first` up to `last`."""

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

#: Resources that were on by default once, or came later.
MEANWHILE = (
    Meanwhile((1, 23), (1, 25), "autoscaling", "v2beta2",
              (_row("horizontalpodautoscalers", "HorizontalPodAutoscaler", namespaced=True, status=True, short="hpa",
                    category="all"),)),
    Meanwhile((1, 20), (1, 25), "flowcontrol.apiserver.k8s.io", "v1beta1", _FLOW),
    Meanwhile((1, 23), (1, 28), "flowcontrol.apiserver.k8s.io", "v1beta2", _FLOW),
    Meanwhile((1, 26), (1, 31), "flowcontrol.apiserver.k8s.io", "v1beta3", _FLOW),
    Meanwhile((1, 21), (1, 26), "storage.k8s.io", "v1beta1",
              (_row("csistoragecapacities", "CSIStorageCapacity", namespaced=True),)),
    Meanwhile((1, 37), _END, "certificates.k8s.io", "v1",
              (_row("clustertrustbundles", "ClusterTrustBundle"),
               _row("podcertificaterequests", "PodCertificateRequest", namespaced=True, status=True))),
    Meanwhile((1, 37), _END, "resource.k8s.io", "v1", (_row("devicetaintrules", "DeviceTaintRule", status=True),)),
    Meanwhile((1, 37), _END, "storagemigration.k8s.io", "v1",
              (_row("storageversionmigrations", "StorageVersionMigration", status=True),)),
)  # fmt: skip

#: Subresources that are younger than their resource: (qualified resource, subresource) -> the first version with it.
YOUNGER = {("pods", "resize"): (1, 33)}


def resources(recorded: Iterable[Resource], schemas: BuiltinSchemas) -> list[Resource]:
    """The built-in resources of a version, in the order in which discovery lists them."""
    minor = number(schemas.version)
    rows = [_aged(row, minor) for row in recorded if _has(schemas, row)]
    if schemas.version == RECORDED:
        return rows
    order = list(dict.fromkeys(row.group for row in rows))
    for extra in MEANWHILE:
        if extra.first <= minor <= extra.last:
            rows += [row for one in extra.rows if _has(schemas, row := _placed(one, extra))]
            order += [extra.group] if extra.group not in order else []
    return sorted(rows, key=lambda row: (order.index(row.group), version_priority(row.version)))


def _placed(row: Resource, extra: Meanwhile) -> Resource:
    return replace(row, group=extra.group, version=extra.version, collection=f"{row.plural}.{extra.group}")


def _has(schemas: BuiltinSchemas, row: Resource) -> bool:
    return schemas.of_kind(row.group, row.version, row.kind) is not None


def _aged(row: Resource, minor: Minor) -> Resource:
    """The resource with the subresources that it had then."""
    young = {name for name in row.subresources if YOUNGER.get((row.qualified, name), ()) > minor}
    if not young:
        return row
    return replace(row, subresources={name: sub for name, sub in row.subresources.items() if name not in young})
