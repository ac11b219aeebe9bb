"""The users as which the components of a cluster act."""

from __future__ import annotations

from fakekube.apiserver.auth import node, serviceaccount
from fakekube.apiserver.user import AUTHENTICATED, User


def component_user(name: str) -> User:
    """The user of a component: a service account, `system:node:NAME`, or one of the control plane."""
    if name.startswith(node.USER_PREFIX):
        return User(name, groups=(node.GROUP, AUTHENTICATED))
    return serviceaccount.user_named(name)
