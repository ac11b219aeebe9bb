"""Validates kernel parameters of a pod and their namespaces (component-helpers `node/util/sysctl`)."""

from __future__ import annotations

import re

from fakekube.apiserver.registry.generic.validation.field import Field

SEGMENT = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
MAX_LENGTH = 253

_name = re.compile(rf"({SEGMENT}[\./])*{SEGMENT}")

#: Parameters of the IPC namespace.
IPC = frozenset(
    f"kernel.{name}"
    for name in ["sem", "shmall", "shmmax", "shmmni", "shm_rmid_forced", "shm", "msgmax", "msgmnb", "msgmni", "msg"]
)  # fmt: skip


def namespace_of(name: str) -> str:
    """The field of a pod's spec that shares the parameter's namespace; empty if the parameter has no namespace."""
    name = normalize(name).partition("*")[0]
    if name in IPC or name.startswith("fs.mqueue."):
        return "hostIPC"
    return "hostNetwork" if name.startswith("net.") else ""


def normalize(name: str) -> str:
    """Separates segments by dots; a name may use slashes instead (`NormalizeName`)."""
    first = re.search(r"[./]", name)
    if first is None or first.group() == ".":
        return name
    return name.translate(str.maketrans("./", "/."))


def shared_namespace(name: str, spec: Field) -> str:
    """The field by which the pod shares the parameter's namespace with its host; empty if it does not."""
    field = namespace_of(name)
    return field if field and spec[field] else ""


def validate_sysctls(sysctls: Field, spec: Field, *, shared: bool) -> None:
    """`shared` accepts parameters of the host's namespaces."""
    seen: set[str] = set()
    for sysctl in sysctls:
        name = sysctl["name"].required()
        text = name.text
        if text and (len(text) > MAX_LENGTH or not _name.fullmatch(text)):
            name.invalid(f"must have at most {MAX_LENGTH} characters and match regex ^({SEGMENT}[\\./])*{SEGMENT}$")
        else:
            name.unique(seen)
        field = "" if shared else shared_namespace(text, spec)
        if field:
            name.invalid(f"may not be specified when '{field}' is true")
