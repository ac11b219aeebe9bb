"""The users as which the components of a cluster act."""

from __future__ import annotations

from fakekube.apiserver.auth import node, rbac, serviceaccount
from fakekube.apiserver.user import AUTHENTICATED, User

#: The user of the programs of simulated storage drivers. A cluster's administrator grants a driver what it needs; this
#: one may do everything.
STORAGE_DRIVER = "fakekube:storage-driver"


def component_user(name: str) -> User:
    """The user of a component: a service account, `system:node:NAME`, or one of the control plane."""
    if name == STORAGE_DRIVER:
        return User(name, groups=(rbac.SUPERUSERS, AUTHENTICATED))
    if name.startswith(node.USER_PREFIX):
        return User(name, groups=(node.GROUP, AUTHENTICATED))
    return serviceaccount.user_named(name)
