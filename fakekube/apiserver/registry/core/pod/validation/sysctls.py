"""Kernel parameters of a pod: their names, and the namespaces that they belong to
(component-helpers `node/util/sysctl`)."""

from __future__ import annotations

import re
from typing import Any

from fakekube.apiserver.registry.generic.validation.content import Errors
from fakekube.apiserver.wire.status import field_duplicate, field_invalid, field_required

Object = dict[str, Any]

SEGMENT = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
NAME = rf"({SEGMENT}[\\./])*{SEGMENT}"
MAX_LENGTH = 253

_name = re.compile(rf"({SEGMENT}[\./])*{SEGMENT}")

#: Parameters of the IPC namespace.
IPC = frozenset(
    f"kernel.{name}"
    for name in ["sem", "shmall", "shmmax", "shmmni", "shm_rmid_forced", "shm", "msgmax", "msgmnb", "msgmni", "msg"]
)  # fmt: skip


def namespace_of(name: str) -> str:
    """The field of a pod's spec that shares what the parameter belongs to; empty where it is nobody's."""
    name = normal(name).partition("*")[0]
    if name in IPC or name.startswith("fs.mqueue."):
        return "hostIPC"
    return "hostNetwork" if name.startswith("net.") else ""


def normal(name: str) -> str:
    """Dots between the segments, and slashes within, whichever of both was written (`NormalizeName`)."""
    first = re.search(r"[./]", name)
    if first is None or first.group() == ".":
        return name
    return name.translate(str.maketrans("./", "/."))


def shared_namespace(name: str, spec: Object) -> str:
    """The field by which the pod shares the parameter's namespace with its host; empty where it does not."""
    field = namespace_of(name)
    return field if field and spec.get(field) else ""


def check_sysctls(spec: Object, path: str, errors: Errors, *, shared: bool) -> None:
    """`shared`: parameters of namespaces that are the host's are let through."""
    seen: set[str] = set()
    for i, sysctl in enumerate(spec["securityContext"]["sysctls"]):
        name, here = sysctl.get("name") or "", f"{path}[{i}].name"
        if not name:
            errors.append(field_required(here))
        elif len(name) > MAX_LENGTH or not _name.fullmatch(name):
            why = f"must have at most {MAX_LENGTH} characters and match regex ^({SEGMENT}[\\./])*{SEGMENT}$"
            errors.append(field_invalid(here, name, why))
        elif name in seen:
            errors.append(field_duplicate(here, name))
        field = "" if shared else shared_namespace(name, spec)
        if field:
            errors.append(field_invalid(here, name, f"may not be specified when '{field}' is true"))
        seen.add(name)
