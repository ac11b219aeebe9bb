"""The two fields of a claim for the source of its data (`pkg/api/persistentvolumeclaim`, `registry/core/persistentvolumeclaim`)."""

import pytest

from fakekube.apiserver.registry.core.persistentvolumeclaim.strategy import prepare_claim, prepare_claim_update

CLAIM = {"kind": "PersistentVolumeClaim", "name": "a"}
CORE_CLAIM = {"apiGroup": "", **CLAIM}
SNAPSHOT = {"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "a"}
OTHER = {"apiGroup": "example.com", "kind": "Backup", "name": "a"}
WRONG_GROUP = {**SNAPSHOT, "apiGroup": "example.com"}
AWAY = {**OTHER, "namespace": "n"}


def spec(source=None, reference=None):
    fields = {"dataSource": source, "dataSourceRef": reference}
    return {"volumeMode": "Filesystem", **{key: value for key, value in fields.items() if value is not None}}


#: The fields that are sent, and those that a new claim gets.
NEW = [
    ((), ()),
    ((CLAIM,), (CLAIM, CLAIM)),
    ((CORE_CLAIM,), (CORE_CLAIM, CORE_CLAIM)),
    ((SNAPSHOT,), (SNAPSHOT, SNAPSHOT)),
    ((OTHER,), ()),
    ((WRONG_GROUP,), ()),
    (({**CLAIM, "apiGroup": "example.com"},), ()),
    ((None, CLAIM), (CLAIM, CLAIM)),
    ((None, OTHER), (OTHER, OTHER)),
    ((OTHER, OTHER), (OTHER, OTHER)),
    ((CLAIM, OTHER), (CLAIM, OTHER)),
    ((None, AWAY), ()),
    ((CLAIM, AWAY), (CLAIM, CLAIM)),
    ((OTHER, AWAY), ()),
]


@pytest.mark.parametrize(("sent", "made"), NEW)
def test_the_sources_of_a_new_claim(sent, made):
    assert prepare_claim({"spec": spec(*sent)})["spec"] == spec(*made)
    assert prepare_claim_update({"spec": spec(*sent)}, {"spec": spec()})["spec"] == spec(*made)


@pytest.mark.parametrize(
    ("stored", "sent", "made"),
    [
        ((OTHER, OTHER), (OTHER,), (OTHER, OTHER)),
        ((OTHER, OTHER), (None, OTHER), (OTHER, OTHER)),
        ((OTHER,), (OTHER,), (OTHER, OTHER)),
        ((None, AWAY), (None, AWAY), (None, AWAY)),
        ((None, AWAY), (OTHER,), (OTHER, OTHER)),
        ((None, AWAY), (), ()),
        ((CLAIM, CLAIM), (None, AWAY), (None, AWAY)),
        ((CLAIM,), (None, AWAY), ()),
    ],
)
def test_what_is_stored_may_stay(stored, sent, made):
    assert prepare_claim_update({"spec": spec(*sent)}, {"spec": spec(*stored)})["spec"] == spec(*made)
