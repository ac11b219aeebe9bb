"""Two timelines compared: what is the same event, where they differ first, as text and as the data of a page."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakekube import FakeKube, compare_timelines
from fakekube.harness.records.alignment import Line, align, beside, first_difference
from fakekube.harness.records.page import LAST
from fakekube.harness.records.timelinecomparison import TimelineComparison
from tests.harness.browser import in_a_browser, in_browser
from tests.harness.operators import config_map


def counter(limit):
    """An operator that counts in each ConfigMap up to a limit."""

    def build(manager):
        async def reconcile(request, client):
            found = await client.get("v1", "ConfigMap", request.name, namespace=request.namespace)
            if int(found["data"]["count"]) < limit:
                await client.update({**found, "data": {"count": str(int(found["data"]["count"]) + 1)}})

        manager.controller("counter").for_("v1", "ConfigMap").complete(reconcile)

    return build


def recorded(limit=1, wait=0, seed=1, before=()):
    """The timeline of a cluster in which objects are counted."""
    with FakeKube(seed=seed) as kube:
        for one in before:
            kube.create(one)
        kube.advance(wait)
        kube.start(counter(limit), name="db")
        kube.create(config_map("a", count="0"))
        kube.settle()
        return kube.timeline


# --- alignment --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("left", "right", "lines"),
    [
        pytest.param("abc", "abc", "a=a b=b c=c", id="equal"),
        pytest.param("abc", "ac", "a=a b≠- c=c", id="one-is-missing"),
        pytest.param("ac", "abc", "a=a -≠b c=c", id="one-more"),
        pytest.param("abc", "axc", "a=a b≠x c=c", id="another"),
        pytest.param("abcabc", "axabcabc", "a=a -≠x -≠a b=b c=c a=a b=b c=c", id="the-common-beginning-stays-aligned"),
        pytest.param("", "ab", "-≠a -≠b", id="empty"),
    ],
)
def test_lines_of_two_sequences(left, right, lines):
    found = [
        f"{'-' if one.left is None else left[one.left]}{'=' if one.same else '≠'}"
        f"{'-' if one.right is None else right[one.right]}"
        for one in align(left, right)
    ]
    assert " ".join(found) == lines


@given(st.lists(st.integers(0, 3), max_size=12), st.lists(st.integers(0, 3), max_size=12))
def test_each_element_has_one_line_in_order(left, right):
    lines = align(left, right)
    assert [one.left for one in lines if one.left is not None] == list(range(len(left)))
    assert [one.right for one in lines if one.right is not None] == list(range(len(right)))
    assert all((left[one.left] == right[one.right]) for one in lines if one.same)
    common = next((i for i, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right)))
    assert first_difference(lines) == common


def test_long_sequences_are_aligned_in_a_short_time():
    frequent = ["retry"] * 4_000
    lines = align(["a", *frequent, "b"], ["x", *frequent, *frequent, "b"])
    assert len([one for one in lines if one.right is not None]) == 8_002


def test_text_beside_each_other_counts_what_is_equal():
    lines = align("abcdefx", "abcdefy")
    assert beside(lines, "abcdefx", "abcdefy", 6, ("old", "new"), "letters") == [
        f"{'old':<58} | new",
        f"{'(3 equal letters)':<58} |",
        *(f"{one:<58} | {one}" for one in "def"),
        f"{'x':<58} ≠ y",
    ]


# --- timelines --------------------------------------------------------------------------------------------------------


def test_timelines_that_differ_in_time_only_do_not_differ():
    found = compare_timelines(recorded(), recorded(wait=3600))
    assert found.first_difference is None
    assert str(found) == "the timelines do not differ"


@pytest.mark.slow
def test_the_first_difference_is_a_change_that_only_one_has():
    found = compare_timelines(recorded(1), recorded(2), names=("one", "two"))
    assert found.first_difference == ("", "+00:00:00 counter: update configmaps default/a -> 200")
    text = str(found).splitlines()
    assert text[0].split() == ["one", "|", "two"]
    assert any(re.fullmatch(r" +≠ \+00:00:00 counter: update configmaps default/a -> 200", line) for line in text)
    assert repr(found).startswith("<TimelineComparison\n")


def test_another_actor_is_another_event():
    left = recorded(before=[config_map("b", count="9")])
    with FakeKube(seed=1) as kube:
        kube.start(counter(1), name="db")
        kube.create(config_map("a", count="0"))
        kube.settle()
        found = compare_timelines(left, kube.timeline)
    assert found.first_difference[0] == "+00:00:00 test: create configmaps default/b -> 201"


def test_generated_names_are_equal_but_for_their_random_part():
    pod = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "a-"}, "data": {"count": "9"}}
    one, two = recorded(seed=1, before=[pod]), recorded(seed=2, before=[pod])
    names = [re.search(r"configmaps default/(a-\w+)", str(side))[1] for side in (one, two)]
    assert names[0] != names[1]
    assert compare_timelines(one, two).first_difference is None


def test_the_same_event_with_another_value_is_marked():
    with FakeKube(seed=1) as kube:
        kube.create(config_map("a", count="0"))
        kube.patch("v1", "ConfigMap", "a", {"data": {"count": "1"}})
        one = kube.timeline
    with FakeKube(seed=1) as kube:
        kube.create(config_map("a", count="0"))
        kube.patch("v1", "ConfigMap", "a", {"data": {"count": "2"}})
        two = kube.timeline
    found = compare_timelines(one, two)
    assert found.first_difference is None
    assert [mark for _, _, mark in found.document()["comparison"]["rows"]] == ["", "~"]


def test_exports_are_compared_as_timelines_are(tmp_path):
    one, two = recorded(1), recorded(2)
    paths = [one.save(tmp_path / "one.json"), str(two.save(tmp_path / "two.json"))]
    documents = [json.loads(side.to_json()) for side in (one, two)]
    expected = str(compare_timelines(one, two))
    assert str(compare_timelines(*paths)) == str(compare_timelines(*documents)) == expected


@pytest.mark.parametrize("text", ["no json", "[]", '{"kind": "List"}'])
def test_a_file_that_is_no_timeline_is_refused(tmp_path, text):
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(ValueError, match=r"is no timeline that was saved as JSON"):
        compare_timelines(tmp_path / "a.json", recorded())


def test_the_document_of_a_page_numbers_both_sides():
    found = compare_timelines(recorded(1), recorded(2)).document()
    serials = [one["serial"] for one in found["entries"]]
    assert len(set(serials)) == len(serials)
    for side in (0, 1):
        of_side = {one["serial"] for one in found["entries"] if one["side"] == side}
        assert {row[side] for row in found["comparison"]["rows"]} - {0} == of_side
        assert {cause for one in found["entries"] if one["side"] == side for cause in one["because"]} <= of_side
    row = found["comparison"]["rows"][found["comparison"]["first"]]
    assert (row[0], row[2]) == (0, "≠")


def test_a_page_is_the_same_each_time(tmp_path):
    pages = [compare_timelines(recorded(1), recorded(2)).html(tmp_path / name).read_bytes() for name in ("a", "b")]
    assert pages[0] == pages[1]
    assert b"left and right" in pages[0]


class TestInABrowser:
    pytestmark = in_a_browser

    def test_two_timelines_on_a_page(self, tmp_path):
        page = compare_timelines(recorded(1), recorded(2), names=("one", "two")).html(tmp_path / "a.html", title="<i>")

        async def act(opened):
            heads, lanes = await opened.texts(".heads b"), await opened.texts("#names button")
            await opened.click("#to-first")
            selected = await opened.text("#details h2")
            return heads, lanes, selected, await opened.texts("#result .line > span"), opened.requested

        heads, lanes, selected, result, requested = in_browser(page.as_uri(), act)
        assert [one.lower() for one in heads] == ["one", "two"]
        assert lanes == ["one · test", "one · counter", "two · test", "two · counter"]
        assert selected == "update configmaps default/a -> 200"
        assert result == ["Go to"]
        assert requested == [page.as_uri()]

    def test_equal_timelines_have_no_difference_to_go_to(self, tmp_path):
        page = compare_timelines(recorded(), recorded()).html(tmp_path / "a.html")

        async def act(opened):
            return await opened.text("#to-first"), await opened.texts("#details .none")

        assert in_browser(page.as_uri(), act) == ("No difference", ["The timelines do not differ."])


# --- pages of long timelines ------------------------------------------------------------------------------------------


def long_comparison(lines, first):
    """A comparison of two timelines with so many equal entries, of which one differs."""
    entry = {"actor": "db", "what": "", "because": [], "failed": False, "changes": []}
    entries = [{**entry, "serial": number, "at": number} for number in range(1, lines + 1)]
    document = {"format": 1, "epoch": "", "dropped": 0, "entries": entries}
    pairs = [Line(number, number, number != first) for number in range(lines)]
    return TimelineComparison(document, document, ("left", "right"), pairs, first)


@pytest.mark.parametrize(
    ("lines", "first", "begins", "ends"),
    [
        (10, 3, 0, 10),
        (LAST, LAST - 1, 0, LAST),
        (3 * LAST, -1, 0, LAST),
        (3 * LAST, 7, 0, LAST),
        (3 * LAST, LAST // 2, 0, LAST),
        (3 * LAST, LAST // 2 + 1, 1, LAST + 1),
        (3 * LAST, LAST + 9, LAST // 2 + 9, LAST + LAST // 2 + 9),
        (3 * LAST, 3 * LAST - 1, 2 * LAST, 3 * LAST),
    ],
)
def test_of_a_long_comparison_the_lines_around_the_first_difference_are_shown(lines, first, begins, ends):
    comparison = long_comparison(lines, first)
    document = comparison.document()
    left = [one["serial"] for one in document["entries"] if one["side"] == 0]
    assert (left[0], left[-1], len(left)) == (begins + 1, ends, ends - begins)
    rows, at = document["comparison"]["rows"], document["comparison"]["first"]
    assert at == (first - begins if first >= 0 else -1)
    assert [number for number, row in enumerate(rows) if row[2] == "≠"] == ([at] if first >= 0 else [])
    assert document["dropped"] == 2 * (lines - len(rows))
    assert len({one["serial"] for one in document["entries"]}) == len(document["entries"])
