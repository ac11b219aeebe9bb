"""Continue tokens of lists: what is written is read, and which tokens are refused (`storage/continue.go`)."""

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakekube.apiserver.endpoints.list import continue_token, parse_continue
from fakekube.apiserver.wire.status import StatusError

NAMES = st.from_regex(r"[a-z][a-z0-9.-]{0,8}[a-z0-9]", fullmatch=True)


def encoded(value, *, padded=False):
    text = base64.urlsafe_b64encode(value if isinstance(value, bytes) else json.dumps(value).encode()).decode()
    return text if padded else text.rstrip("=")


def token(start="/a\0", revision=7, version="meta.k8s.io/v1"):
    return encoded({"v": version, "rv": revision, "start": start})


@given(NAMES, NAMES, st.sampled_from([-1, 1, 7, 2**40]), st.booleans())
def test_a_token_is_read_as_it_was_written(namespace, name, revision, is_of_namespace):
    prefix, key = (f"{namespace}/" if is_of_namespace else ""), f"{namespace}/{name}\0"
    assert parse_continue(continue_token(key, prefix, revision), prefix) == (key, revision)


def test_what_a_token_says():
    made = continue_token("default/a\0", "default/", 12)
    assert json.loads(base64.urlsafe_b64decode(made + "=" * (-len(made) % 4))) == {
        "v": "meta.k8s.io/v1",
        "rv": 12,
        "start": "/a\0",
    }
    assert "=" not in made


def test_a_token_of_another_namespace_reads_in_the_namespace_of_the_list():
    assert parse_continue(continue_token("one/a\0", "one/", 3), "two/") == ("two/a\0", 3)
    assert parse_continue(token("one/a"), "") == ("one/a", 7), "the slash at the start may be left out"


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("!", "illegal base64 data at input byte 0"),
        ("ab*d", "illegal base64 data at input byte 2"),
        (encoded(b"ab", padded=True), "illegal base64 data at input byte 3"),
        ("ab+d", "illegal base64 data at input byte 2"),
        (encoded(b"nonsense"), "invalid character 'o' in literal null (expecting 'u')"),
        (encoded(b"{"), "unexpected end of JSON input"),
        (token(version="meta.k8s.io/v2"), 'server does not recognize this encoded version "meta.k8s.io/v2"'),
        (encoded({"rv": 7, "start": "/a"}), 'server does not recognize this encoded version ""'),
        (token(revision=0), "incorrect encoded start resourceVersion (version meta.k8s.io/v1)"),
        (encoded({"v": "meta.k8s.io/v1", "start": "/a"}),
         "incorrect encoded start resourceVersion (version meta.k8s.io/v1)"),
        (token(start=""), "encoded start key empty (version meta.k8s.io/v1)"),
        (encoded({"v": "meta.k8s.io/v1", "rv": 7}), "encoded start key empty (version meta.k8s.io/v1)"),
        (token(start="/../a"), "/../a"),
        (token(start="../a"), "../a"),
        (token(start="/a/../b"), "/a/../b"),
        (token(start="/a/./b"), "/a/./b"),
        (token(start="//a"), "//a"),
        (token(start="/a//b"), "/a//b"),
        (token(start="/a/"), "/a/"),
    ],
)  # fmt: skip
def test_tokens_that_are_refused(given, why):
    with pytest.raises(StatusError) as refused:
        parse_continue(given, "default/")
    assert (refused.value.code, str(refused.value)) == (
        400,
        f"invalid continue token: continue key is not valid: {why}",
    )
