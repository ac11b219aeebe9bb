"""Users of the API (`apiserver/pkg/authentication/user`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

AUTHENTICATED = "system:authenticated"
UNAUTHENTICATED = "system:unauthenticated"


@dataclass(frozen=True, slots=True)
class User:
    """The name, UID, groups and extra attributes of a user."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


ANONYMOUS = User("system:anonymous", groups=(UNAUTHENTICATED,))

#: The default user of an in-process client; members of system:masters may do everything.
ADMIN = User("kubernetes-admin", groups=("system:masters", AUTHENTICATED))
