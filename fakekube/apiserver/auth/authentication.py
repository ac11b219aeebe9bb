"""Authentication by bearer tokens (kube-apiserver's `--token-auth-file`)."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import replace

from fakekube.apiserver.user import AUTHENTICATED, UNAUTHENTICATED, User


def authenticated(user: User) -> User:
    """The user with the group system:authenticated added."""
    if {AUTHENTICATED, UNAUTHENTICATED} & set(user.groups):
        return user
    return replace(user, groups=(*user.groups, AUTHENTICATED))


def bearer_token(authorization: str | None) -> str:
    """The token of an Authorization header; "" if there is none or the scheme is not Bearer (`bearertoken`)."""
    words = _bearer(authorization)
    return words[1] if len(words) > 1 else ""


def _bearer(authorization: str | None) -> Sequence[str]:
    """The words of an Authorization header, three at most; none if its scheme is not Bearer."""
    words = authorization.strip(" ").split(" ", 2) if authorization else ()
    return words if words and words[0].lower() == "bearer" else ()


def ignored(authorization: str | None) -> tuple[str, ...]:
    """The warning of an Authorization header whose token is not read, as there is a second space before it."""
    words = _bearer(authorization)
    if len(words) < 3 or words[1]:
        return ()
    return ("the provided Authorization header contains extra space before the bearer token, and is ignored",)


def parse_token_file(lines: Iterable[str]) -> dict[str, User]:
    """Parses a token file with lines `token,user,uid,"group1,group2"`. Raises ValueError, which names the line."""
    tokens: dict[str, User] = {}
    for number, row in enumerate(csv.reader(lines), 1):
        if not row:
            continue
        if len(row) < 3:
            raise ValueError(f"line {number}: a token file has at least three columns (token, user name, user uid)")
        token, name, uid = (column.strip() for column in row[:3])
        if not token or not name:
            raise ValueError(f"line {number}: token and user name must not be empty")
        groups = tuple(g.strip() for g in row[3].split(",") if g.strip()) if len(row) > 3 else ()
        tokens[token] = authenticated(User(name, uid, groups))
    return tokens
