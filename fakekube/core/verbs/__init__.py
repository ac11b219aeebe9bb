"""What each verb does to a resource: one module a verb."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from fakekube.core.call import Call, Step
from fakekube.core.verbs.create import create
from fakekube.core.verbs.delete import delete, delete_collection
from fakekube.core.verbs.get import get
from fakekube.core.verbs.list import list
from fakekube.core.verbs.patch import patch
from fakekube.core.verbs.update import update
from fakekube.core.verbs.watch import watch

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
