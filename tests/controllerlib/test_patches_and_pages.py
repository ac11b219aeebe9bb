"""Merge patches between two objects, lists read page by page, and the metadata of objects that are no dicts."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controllerlib.cache.listwatch import ListOptions, list_pages
from controllerlib.client.difference import is_equal, merge_patch
from controllerlib.client.errors import ApiError
from controllerlib.client.names import has_metadata, resource_version

LEAVES = st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from("ab") | st.lists(st.integers(0, 2), max_size=2)
VALUES = st.recursive(LEAVES, lambda part: st.dictionaries(st.sampled_from("xyz"), part, max_size=3), max_leaves=6)
OBJECTS = st.dictionaries(st.sampled_from("xyz"), VALUES, max_size=3)


def merged(target: Any, patch: Any) -> Any:
    """RFC 7396: MergePatch."""
    if not isinstance(patch, dict):
        return patch
    made = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            made.pop(key, None)
        else:
            made[key] = merged(made.get(key), value)
    return made


def without_nulls(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {key: without_nulls(one) for key, one in value.items() if one is not None}


@given(OBJECTS, OBJECTS)
def test_a_merge_patch_changes_one_object_into_the_other(before: dict[str, Any], after: dict[str, Any]) -> None:
    before, after = without_nulls(before), without_nulls(after)
    patch = merge_patch(before, after)
    assert is_equal(merged(before, patch), after)  # what is empty is as if it were absent
    assert bool(patch) != is_equal(before, after)


@pytest.mark.parametrize(
    ("before", "after", "patch"),
    [
        ({}, {"a": 1}, {"a": 1}),
        ({"a": 1}, {}, {"a": None}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1, "d": 3}}, {"a": {"c": None, "d": 3}}),
        ({"a": [1]}, {"a": [1, 2]}, {"a": [1, 2]}),
        ({"a": {"b": 1}}, {"a": 1}, {"a": 1}),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, {}),
    ],
)
def test_what_a_merge_patch_has(before: dict[str, Any], after: dict[str, Any], patch: dict[str, Any]) -> None:
    assert merge_patch(before, after) == patch


class Pages:
    """A server whose list has pages; the continue token of page `expires` is refused."""

    def __init__(self, *pages: list[str], expires: int = 0, error: ApiError | None = None) -> None:
        self._pages, self._expires = pages, expires
        self._error = error or ApiError(410, "Expired", "too old")
        self.asked: list[tuple[int, str, str]] = []

    async def __call__(self, options: ListOptions) -> dict[str, Any]:
        token = options.continue_token
        self.asked.append((options.limit, token, options.resource_version))
        if token and int(token) == self._expires:
            raise self._error
        if not token and not options.limit:
            return {
                "metadata": {"resourceVersion": "9"},
                "items": [one for page in self._pages for one in page],
                "kind": "L",
            }
        number = int(token or 0)
        more = {"continue": str(number + 1)} if number + 1 < len(self._pages) else {}
        return {"metadata": {"resourceVersion": str(number), **more}, "items": self._pages[number], "kind": "L"}


@pytest.mark.parametrize(
    ("server", "items", "version", "paginated", "asked"),
    [
        (Pages(["a"]), "a", "0", False, [(2, "", "7")]),
        (Pages([]), "", "0", False, [(2, "", "7")]),
        (Pages(["a"], ["b"], ["c"]), "abc", "0", True, [(2, "", "7"), (2, "1", ""), (2, "2", "")]),
        (Pages(["a"], ["b"], expires=1), "ab", "9", True, [(2, "", "7"), (2, "1", ""), (0, "", "7")]),
        (
            Pages(["a"], ["b"], ["c"], expires=2),
            "abc",
            "9",
            True,
            [(2, "", "7"), (2, "1", ""), (2, "2", ""), (0, "", "7")],
        ),
    ],
)
async def test_a_list_is_read_page_by_page(
    server: Pages, items: str, version: str, paginated: bool, asked: list[tuple[int, str, str]]
) -> None:
    """client-go, pager.ListPager: after an expired token the list is whole, and still counts as one of pages."""
    found = await list_pages(server, ListOptions(resource_version="7"), page_size=2)
    assert ("".join(found.items), found.resource_version, found.paginated, found.kind) == (
        items,
        version,
        paginated,
        "L",
    )
    assert server.asked == asked


async def test_other_errors_of_a_page_are_raised() -> None:
    server = Pages(["a"], ["b"], expires=1, error=ApiError(500, "InternalError", "broken"))
    with pytest.raises(ApiError, match="broken"):
        await list_pages(server, ListOptions(), page_size=1)


class Own(Mapping[str, Any]):
    """An object of a user's own type."""

    def __init__(self, content: dict[str, Any]) -> None:
        self._content = content

    def __getitem__(self, key: str) -> Any:
        return self._content[key]

    def __iter__(self) -> Any:
        return iter(self._content)

    def __len__(self) -> int:
        return len(self._content)


@pytest.mark.parametrize("outer", [dict, MappingProxyType, Own])
@pytest.mark.parametrize("inner", [dict, MappingProxyType, Own])
def test_metadata_may_be_any_mapping(outer: Any, inner: Any) -> None:
    made = outer({"metadata": inner({"resourceVersion": "3"})})
    assert (resource_version(made), has_metadata(made)) == ("3", True)
    assert resource_version(outer({"metadata": inner({})})) == ""
    assert resource_version(outer({})) == ""
