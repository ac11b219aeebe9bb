"""Who asks: users, and the tokens that name them (kube-apiserver's `--token-auth-file`)."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import replace

from fakekube.apiserver.user import AUTHENTICATED, UNAUTHENTICATED, User


def authenticated(user: User) -> User:
    """The user in the group of all who have shown who they are, as the real server puts them."""
    if {AUTHENTICATED, UNAUTHENTICATED} & set(user.groups):
        return user
    return replace(user, groups=(*user.groups, AUTHENTICATED))


def bearer_token(authorization: str | None) -> str:
    """The token of an Authorization header; "" where it has none, or is of another scheme."""
    if not authorization:
        return ""
    scheme, _, token = authorization.partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


Subject = Sequence[Sequence[tuple[str, str]]]
"""The subject of a certificate, as Python's ssl tells it: attributes and their values."""

CREDENTIAL = "authentication.kubernetes.io/credential-id"


def certificate_user(subject: Subject, fingerprint: str) -> User | None:
    """The user of a client's certificate: its common name, in the groups of its organizations; None where it has no
    common name (`x509.CommonNameUserConversion`). `fingerprint`: SHA-256, in hex."""
    attributes = [pair for part in subject for pair in part]
    name = next((value for key, value in attributes if key == "commonName"), "")
    if not name:
        return None
    groups = tuple(value for key, value in attributes if key == "organizationName")
    return authenticated(User(name, groups=groups, extra={CREDENTIAL: (f"X509SHA256={fingerprint}",)}))


def parse_token_file(lines: Iterable[str]) -> dict[str, User]:
    """A token file: `token,user,uid,"group1,group2"`, one a line. Raises ValueError naming the line that is wrong."""
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
