"""Which user a test acts as: a `User`, a name, or a service account."""

from __future__ import annotations

from fakekube.apiserver.auth import serviceaccount
from fakekube.apiserver.auth.authentication import authenticated
from fakekube.apiserver.user import User


def user_of(user: User | str | None) -> User | None:
    """A user with the groups that authentication adds; a name is enough. Raises TypeError."""
    if isinstance(user, str) and user:
        return serviceaccount.user_named(user)
    if user is None or isinstance(user, User):
        return authenticated(user) if user is not None else None
    raise TypeError(f"user={user!r}: pass a fakekube.User or the name of a user")


def acting(service_account: str, user: User | str | None) -> User | None:
    """The user of `service_account` (`namespace/name`) or `user`; None for the administrator. Raises ValueError."""
    if not service_account:
        return user_of(user)
    if user is not None:
        raise ValueError("service_account= and user= exclude each other: pass one of them")
    if not isinstance(service_account, str):
        raise TypeError(f"service_account={service_account!r}: pass text, 'namespace/name'")
    namespace, slash, name = service_account.partition("/")
    if not (slash and namespace and name):
        raise ValueError(f"service_account={service_account!r}: expected 'namespace/name'")
    return serviceaccount.user_named(serviceaccount.user_name(namespace, name))
