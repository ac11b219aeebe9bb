"""Listers."""

from typing import Any

import pytest

from controllerlib.cache.listers import Lister, list_all
from controllerlib.cache.store import NAMESPACE_INDEX, Indexer, meta_namespace_index
from controllerlib.client.errors import ApiError
from controllerlib.client.selector import (
    NOTHING,
    Selector,
    label_selector_as_selector,
    parse_field_selector,
    parse_selector,
)
from tests.controllerlib.objects import pod


def store(*, indexed: bool = True) -> Indexer:
    made = Indexer(indexers={NAMESPACE_INDEX: meta_namespace_index} if indexed else None)
    for name, namespace, app in (("a", "one", "web"), ("b", "one", "db"), ("c", "two", "web")):
        made.add(pod(name, namespace=namespace, labels={"app": app}))
    return made


def names(found: Any) -> list[str]:
    return [obj["metadata"]["name"] for obj in found]


def test_li_01_missing_object() -> None:
    with pytest.raises(ApiError, match='pods "x" not found') as caught:
        Lister(store(), "pods").by_namespace("one").get("x")
    assert caught.value.reason == "NotFound"
    assert names([Lister(store(), "pods").by_namespace("one").get("a")]) == ["a"]


class Untouchable(dict[str, Any]):
    """Labels that must not be read."""

    def get(self, *args: Any) -> Any:
        raise AssertionError("labels were looked at")


def test_li_02_selecting_by_label() -> None:
    assert names(Lister(store(), "pods").list("app=web")) == ["a", "c"]
    shy, found = Indexer(), list[Any]()
    shy.add(pod("shy", labels=Untouchable()))
    list_all(shy, NOTHING, found.append)
    assert found == []
    list_all(shy, Selector(), found.append)
    assert names(found) == ["shy"]


@pytest.mark.parametrize("indexed", [True, False], ids=["indexed", "LI-03-scanned"])
def test_one_namespace(indexed: bool) -> None:
    assert names(Lister(store(indexed=indexed), "pods").by_namespace("one").list()) == ["a", "b"]


@pytest.mark.parametrize(
    ("selector", "labels", "selected"),
    [
        ("a=b", {"a": "b"}, True),
        ("a==b,c!=d", {"a": "b"}, True),
        ("a!=b", {"a": "b"}, False),
        ("a in (b,c)", {"a": "c"}, True),
        ("a notin (b, c)", {"a": "c"}, False),
        ("a notin (b)", {}, True),
        ("a", {}, False),
        ("!a", {}, True),
        ("a > 1", {"a": "2"}, True),
        ("a < 1", {"a": "x"}, False),
        ("", {}, True),
    ],
)
def test_label_selectors(selector: str, labels: dict[str, str], selected: bool) -> None:
    assert parse_selector(selector).matches(labels) is selected


@pytest.mark.parametrize("text", ["!a=b", "a in b", "=", "a ~ b"])
def test_invalid_label_selectors(text: str) -> None:
    with pytest.raises(ValueError, match="unable to parse"):
        parse_selector(text)


def test_label_selector_objects() -> None:
    assert not label_selector_as_selector(None).matches({})
    assert label_selector_as_selector({}).matches({})
    selector = label_selector_as_selector(
        {"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "c", "operator": "DoesNotExist"}]}
    )
    assert selector.matches({"a": "b"})
    assert not selector.matches({"a": "b", "c": ""})


def test_field_selectors() -> None:
    assert parse_field_selector("metadata.name=a,spec.x!=b") == [("metadata.name", "a", True), ("spec.x", "b", False)]
    with pytest.raises(ValueError, match="invalid field selector"):
        parse_field_selector("metadata.name")
