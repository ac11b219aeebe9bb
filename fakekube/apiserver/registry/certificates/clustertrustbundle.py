"""ClusterTrustBundle."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.selectablefields import string_at
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import NAME, Printer, columns, get, name_of

Object = dict[str, Any]


def _trust_bundle(obj: Object, ages: Ages) -> list[Any]:
    return [name_of(obj), get(obj, "spec.signerName") or "<none>"]


KIND = Kind(
    "clustertrustbundles.certificates.k8s.io",
    Strategy(
        fields_message="label",
        fields={"spec.signerName": string_at("spec", "signerName")},
        unconditional_update=False,
    ),
    printer=Printer(columns(NAME, "SignerName"), _trust_bundle),
)
