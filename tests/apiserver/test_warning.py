"""Warning headers."""

import pytest

from fakekube.apiserver.wire.warning import ITEM_LIMIT, TOTAL_LIMIT, header_values


def text_of(value: str) -> str:
    assert value.startswith('299 - "')
    return value[len('299 - "') : -1]


@pytest.mark.parametrize(
    ("texts", "values"),
    [
        pytest.param([], [], id="none"),
        pytest.param(["a", "b"], ['299 - "a"', '299 - "b"'], id="in order"),
        pytest.param(["a", "", "a"], ['299 - "a"'], id="each once, empty ones never"),
        pytest.param(['say "a\\b"'], ['299 - "say \\"a\\\\b\\""'], id="quotes and backslashes"),
        pytest.param(["größe"], ['299 - "größe"'], id="letters of any language"),
        pytest.param(["a\nb", "c\x7f", "d\ud800", "e"], ['299 - "e"'], id="control characters cannot be sent"),
    ],
)
def test_values(texts, values):
    assert header_values(texts) == values


def test_warnings_up_to_the_limit_are_not_truncated():
    texts = ["a" * 2048, "b" * 2048]
    assert [text_of(value) for value in header_values(texts)] == texts


def test_warnings_over_the_limit_are_truncated():
    texts = ["a" * 2048, "b" * 2048, "c", "d" * 300]
    assert [len(text_of(value)) for value in header_values(texts)] == [ITEM_LIMIT, ITEM_LIMIT, 1, ITEM_LIMIT]


def test_the_total_of_truncated_warnings_is_limited():
    values = header_values(f"{i:04}" + "x" * 1000 for i in range(10_000))
    assert len(values) == TOTAL_LIMIT // ITEM_LIMIT
