"""Service accounts as users (`apiserver/pkg/authentication/serviceaccount`)."""

from __future__ import annotations

from fakekube.apiserver.user import AUTHENTICATED, User

PREFIX = "system:serviceaccount:"
ALL = "system:serviceaccounts"


def user_name(namespace: str, name: str) -> str:
    return f"{PREFIX}{namespace}:{name}"


def groups_of(namespace: str) -> tuple[str, ...]:
    """The groups of the service accounts of a namespace."""
    return (ALL, f"{ALL}:{namespace}")


def split(user: str) -> tuple[str, str] | None:
    """The namespace and name of a service account user; None for any other user."""
    if not user.startswith(PREFIX):
        return None
    namespace, colon, name = user.removeprefix(PREFIX).partition(":")
    return (namespace, name) if colon and namespace and name and ":" not in name else None


def user_named(name: str) -> User:
    """The user with a name, and with the groups that the name implies."""
    account = split(name)
    groups = groups_of(account[0]) if account is not None else ()
    return User(name, groups=(*groups, AUTHENTICATED))
