"""What each verb does to a resource: one module a verb."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from fakekube.apiserver.call import Call, Step
from fakekube.apiserver.endpoints.create import create
from fakekube.apiserver.endpoints.delete import delete, delete_collection
from fakekube.apiserver.endpoints.get import get
from fakekube.apiserver.endpoints.list import list
from fakekube.apiserver.endpoints.patch import patch
from fakekube.apiserver.endpoints.update import update
from fakekube.apiserver.endpoints.watch import watch

VERBS: Mapping[str, Callable[[Call], Step]] = {
    "get": get,
    "list": list,
    "watch": watch,
    "create": create,
    "update": update,
    "patch": patch,
    "delete": delete,
    "deletecollection": delete_collection,
}
