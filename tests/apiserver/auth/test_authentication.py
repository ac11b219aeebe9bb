"""Who sends a request: by a bearer token, a token file."""

import pytest

from fakekube.apiserver.auth.authentication import authenticated, bearer_token, ignored, parse_token_file
from fakekube.apiserver.user import AUTHENTICATED, UNAUTHENTICATED, User


@pytest.mark.parametrize(
    ("header", "token"),
    [
        (None, ""),
        ("", ""),
        ("Bearer a.b", "a.b"),
        ("bearer a ", "a"),
        ("Bearer  a", ""),
        ("Bearer a b", "a"),
        ("Basic a", ""),
        ("Bearer", ""),
    ],
)
def test_the_token_of_a_header(header, token):
    assert bearer_token(header) == token


@pytest.mark.parametrize(
    ("header", "warns"),
    [(None, False), ("Bearer  a", True), ("bearer   a", True), ("Bearer a b", False), ("Basic  a", False)],
)
def test_a_token_after_two_spaces_is_ignored_with_a_warning(header, warns):
    assert [one.partition(" space ")[0] for one in ignored(header)] == (
        ["the provided Authorization header contains extra"] if warns else []
    )


def test_a_token_file():
    lines = ["t1,ann,1", "", 't2, bob ,2,"dev, ops,"', f"t3,eve,3,{UNAUTHENTICATED}"]
    assert parse_token_file(lines) == {
        "t1": User("ann", "1", (AUTHENTICATED,)),
        "t2": User("bob", "2", ("dev", "ops", AUTHENTICATED)),
        "t3": User("eve", "3", (UNAUTHENTICATED,)),
    }


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        (["t1,ann,1", "t2,bob"], "line 2: a token file has at least three columns (token, user name, user uid)"),
        ([" ,ann,1"], "line 1: token and user name must not be empty"),
        (["t1, ,1"], "line 1: token and user name must not be empty"),
    ],
)
def test_a_token_file_that_is_refused(lines, why):
    with pytest.raises(ValueError) as caught:
        parse_token_file(lines)
    assert str(caught.value) == why


def test_a_user_is_in_the_group_of_the_authenticated_once():
    user = User("ann", groups=(AUTHENTICATED,))
    assert authenticated(user) is user
    assert authenticated(User("ann")).groups == (AUTHENTICATED,)
