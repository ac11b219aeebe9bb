"""Keys and names of objects."""

import pytest

from controllerlib.cache.store import Indexer
from controllerlib.client.names import (
    DeletedFinalStateUnknown,
    ExplicitKey,
    KeyFailure,
    NoMetadata,
    ObjectName,
    deleted_object_name,
    deletion_handling_key,
    meta_namespace_key,
    split_key,
)
from tests.controllerlib.objects import pod


@pytest.mark.parametrize(
    ("obj", "key"),
    [
        pytest.param({"metadata": {"namespace": "a", "name": "b"}}, "a/b", id="KN-01-namespaced"),
        pytest.param({"metadata": {"name": "b"}}, "b", id="KN-01-cluster-scoped"),
        pytest.param(ExplicitKey("x/y"), "x/y", id="KN-01-explicit"),
    ],
)
def test_the_key_of_an_object(obj: object, key: str) -> None:
    assert meta_namespace_key(obj) == key


@pytest.mark.parametrize(
    ("key", "parts"),
    [
        pytest.param("b", ("", "b"), id="KN-02-name"),
        pytest.param("a/b", ("a", "b"), id="KN-02-both"),
        pytest.param("", ("", ""), id="KN-02-empty"),
    ],
)
def test_the_parts_of_a_key(key: str, parts: tuple[str, str]) -> None:
    assert split_key(key) == parts


def test_kn_02_three_parts_are_not_a_key() -> None:
    with pytest.raises(ValueError, match='unexpected key format: "a/b/c"'):
        split_key("a/b/c")


def test_kn_03_the_key_of_a_tombstone() -> None:
    tombstone = DeletedFinalStateUnknown("a/b", None)
    assert deletion_handling_key(tombstone) == "a/b"
    with pytest.raises(NoMetadata, match="object has no meta"):
        meta_namespace_key(tombstone)


def test_kn_04_an_empty_namespace_is_not_a_round_trip() -> None:
    assert split_key("/b") == ("", "b")
    assert str(ObjectName(*split_key("/b"))) == "b"


def test_kn_05_the_cause_of_a_key_failure_is_reachable() -> None:
    root = ZeroDivisionError("root")

    def failing(obj: object) -> str:
        raise KeyFailure(obj, root)

    with pytest.raises(KeyFailure) as caught:
        Indexer(failing).add(pod("a"))
    chain, error = [], caught.value.__cause__
    while error is not None:
        chain.append(error)
        error = error.__cause__
    assert chain[-1] is root


def test_the_name_of_a_deleted_object() -> None:
    assert deleted_object_name(DeletedFinalStateUnknown("a/b/c")) == ObjectName("a", "b/c")
    assert deleted_object_name(DeletedFinalStateUnknown("b")) == ObjectName("", "b")
    assert deleted_object_name(pod("x")) == ObjectName("default", "x")
