"""The functions for strings (`cel-go/ext/strings.go`): positions, counts, and results that are too large."""

import pytest

from fakekube.apiserver.cel.library import strings
from fakekube.apiserver.cel.library.strings import SIZE_LIMIT
from fakekube.apiserver.cel.values import CelError, OverBudget


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: strings.index_of("abc", "c", 2), 2),
        (lambda: strings.index_of("abc", "c", 3), -1),
        (lambda: strings.index_of("abca", "a", 1), 3),
        (lambda: strings.index_of("abc", "", 1), 1),
        (lambda: strings.index_of("abc", "", 9), 3),
        (lambda: strings.last_index_of("abca", "a"), 3),
        (lambda: strings.last_index_of("abca", "a", 2), 0),
        (lambda: strings.last_index_of("abca", "ca", 2), 2),
        (lambda: strings.last_index_of("abca", "ca", 1), -1),
        (lambda: strings.last_index_of("abca", "a", 4), -1),
        (lambda: strings.last_index_of("abc", "", 1), 1),
        (lambda: strings.last_index_of("abc", "", 9), 3),
        (lambda: strings.replace("aaa", "a", "bb"), "bbbbbb"),
        (lambda: strings.replace("aaa", "a", "b", 0), "aaa"),
        (lambda: strings.replace("aaa", "a", "b", 2), "bba"),
        (lambda: strings.replace("aaa", "a", "b", 9), "bbb"),
        (lambda: strings.split("a,b,c", ",", 2), ["a", "b,c"]),
        (lambda: strings.split("a,b,c", ",", 0), []),
        (lambda: strings.split("a,b,c", ",", -1), ["a", "b", "c"]),
        (lambda: strings.split("abc", "", 2), ["a", "bc"]),
        (lambda: strings.split("abc", "", 3), ["a", "b", "c"]),
        (lambda: strings.split("abc", "", 4), ["a", "b", "c"]),
        (lambda: strings.split("", ""), []),
        (lambda: strings.find_all("1 2 3", "[0-9]", 2), ["1", "2"]),
        (lambda: strings.find_all("1 2 3", "[0-9]", 0), []),
        (lambda: strings.find_all("1 2 3", "[0-9]", 3), ["1", "2", "3"]),
        (lambda: strings.escape_key("a~/b"), "a~0~1b"),
        (lambda: strings.quote('\a\b\f\n\r\t\v\\"x'), r'"\a\b\f\n\r\t\v\\\"x"'),
        (lambda: strings.lower_ascii("AZaz[@ÄÉ"), "azaz[@ÄÉ"),
        (lambda: strings.upper_ascii("AZaz{`äé"), "AZAZ{`äé"),
    ],
)
def test_what_a_function_returns(call, expected):
    assert call() == expected


HALF = "x" * (SIZE_LIMIT // 2)


@pytest.mark.parametrize(
    ("call", "allowed"),
    [
        (lambda: strings.replace("ab", "b", HALF + HALF[:-2]), True),
        (lambda: strings.replace("ab", "b", HALF + HALF[:-1]), False),
        (lambda: strings.replace("bb", "b", HALF), False),
        (lambda: strings.replace("bbb", "b", HALF, 1), True),
        (lambda: strings.replace("bbb", "b", HALF, 2), False),
        (lambda: strings.replace("bbb", "c", HALF * 3), True),
        (lambda: strings.join(["a", "b"], HALF), True),
        (lambda: strings.join(["a", "b"], HALF + "x"), False),
    ],
)
def test_a_result_that_is_larger_than_any_request_is_over_budget(call, allowed):
    if allowed:
        call()
    else:
        with pytest.raises(OverBudget):
            call()


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (lambda: strings.char_at("abc", 4), "index out of range: 4"),
        (lambda: strings.char_at("abc", -1), "index out of range: -1"),
        (lambda: strings.index_of("abc", "", -1), "index out of range: -1"),
        (lambda: strings.last_index_of("abc", "", -1), "index out of range: -1"),
        (lambda: strings.substring("abc", 4), "index out of range: 4"),
        (lambda: strings.substring("abc", 2, 1), "invalid substring range. start: 2, end: 1"),
        (lambda: strings.substring("abc", 4, 5), "index out of range: 4"),
        (lambda: strings.substring("abc", -2, 1), "index out of range: -2"),
    ],
)
def test_why_a_function_fails(call, why):
    with pytest.raises(CelError) as raised:
        call()
    assert str(raised.value) == why


def test_results_of_sixteen_megabytes_are_made():
    most = 16_777_216
    assert len(strings.replace("ab", "b", "x" * (most - 2))) == most - 1
    with pytest.raises(OverBudget):
        strings.replace("ab", "b", "x" * (most - 1))
