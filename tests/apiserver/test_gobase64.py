"""Errors in base64."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakekube.apiserver.wire.gobase64 import URL_SAFE, illegal_byte


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("", None),
        ("aGk=", None),
        ("YQ==", None),
        ("aG\nk=\r\n", None),
        ("a", 0),
        ("abc", 0),
        ("YWJja", 4),
        ("a===", 1),
        ("====", 0),
        ("YQ=", 3),
        ("YQ=x", 2),
        ("aGk=x", 4),
        ("aGk==", 4),
        ("YQ==YQ==", 4),
        ("a G", 1),
        ("YWJj\u00e9", 4),
        ("a-b_", 1),
    ],
)
def test_the_first_byte_that_go_rejects(text, position):
    assert illegal_byte(text) == position


@pytest.mark.parametrize(
    ("text", "position"), [("a-b_", None), ("YQ", None), ("YWJ", None), ("a", 0), ("YQ=", 2), ("a+", 1)]
)
def test_text_without_padding(text, position):
    assert illegal_byte(text, URL_SAFE, padded=False) == position


@given(st.binary())
def test_what_is_encoded_is_valid(data):
    assert illegal_byte(base64.b64encode(data).decode()) is None
    assert illegal_byte(base64.urlsafe_b64encode(data).decode().rstrip("="), URL_SAFE, padded=False) is None
