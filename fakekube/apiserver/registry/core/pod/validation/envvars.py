"""Validates the environment variables of containers, and the fields of a pod that variables and files can show."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

from fakekube.apiserver import names
from fakekube.apiserver.registry.core.pod.validation.podoptions import CONTAINERS, all_containers
from fakekube.apiserver.registry.core.resourcenames import HUGE_PAGES, number_of
from fakekube.apiserver.registry.generic.validation import content
from fakekube.apiserver.registry.generic.validation.field import Field
from fakekube.apiserver.registry.generic.validation.rules import memoized

#: Fields of a pod that a variable can show, those that a file can show, and all fields with a label.
FIELDS_OF_VARIABLES = (
    "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName",
    "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs",
)  # fmt: skip
FIELDS_OF_FILES = ("metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid")
FIELDS = frozenset((*FIELDS_OF_VARIABLES, *FIELDS_OF_FILES, "spec.restartPolicy", "spec.schedulerName", "status.phase"))
SUBSCRIPTED = ("metadata.annotations", "metadata.labels")

#: Resources of a container that can be shown.
RESOURCES = (
    "limits.cpu", "limits.ephemeral-storage", "limits.memory",
    "requests.cpu", "requests.ephemeral-storage", "requests.memory",
)  # fmt: skip
SHOWN_HUGE_PAGES = (f"limits.{HUGE_PAGES}", f"requests.{HUGE_PAGES}")

_SIZES = ("1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei")
_ONLY = f"only divisor's values {', '.join(_SIZES)} are supported with the"

#: Resource -> the divisors that it supports, and the error for others.
DIVISORS: dict[str, tuple[tuple[str, ...], str]] = {
    "cpu": (("1m", "1"), "only divisor's values 1m and 1 are supported with the cpu resource"),
    "memory": (_SIZES, f"{_ONLY} memory resource"),
    "ephemeral-storage": (_SIZES, f"{_ONLY} local ephemeral storage resource"),
    "hugepages": (_SIZES, f"{_ONLY} hugepages resource"),
}

TOO_MANY = "may not have more than one field specified at a time"


def validate_variables(variables: Field, pod: object) -> None:
    for variable in variables:
        variable.require_text("name", content.env_name_problems)
        if variable.value.get("valueFrom") is not None:
            _validate_source(variable["valueFrom"], variable.value.get("value"))


def _validate_source(source: Field, value: str | None) -> None:
    found = source.members(SOURCES)
    for member in found:
        SOURCES[member.key](member)
    if len(found) == 1 and not value:
        return
    shown = source.with_value("")
    if not found:
        one_of = "`fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
        shown.invalid(f"must specify one of: {one_of}")
    elif value:
        shown.invalid("may not be specified when `value` is not empty")
    else:
        shown.invalid(TOO_MANY)


@memoized("name", "key")
def _validate_key_selector(selector: Field) -> None:
    """A key of a ConfigMap or a Secret."""
    selector["name"].dns_subdomain()
    selector.require_text("key", content.config_key_problems)


def _validate_file_key_selector(selector: Field) -> None:
    """A variable in a file of an emptyDir."""
    selector.require_text("key", content.env_name_problems)
    selector.require_text("volumeName", content.dns_label_problems)
    selector.require_text("path", content.backstep_problems)


SOURCES: dict[str, Callable[[Field], None]] = {
    "fieldRef": lambda selector: validate_field_selector(selector, FIELDS_OF_VARIABLES),
    "resourceFieldRef": lambda selector: validate_resource_field_selector(selector, False),
    "configMapKeyRef": _validate_key_selector,
    "secretKeyRef": _validate_key_selector,
    "fileKeyRef": _validate_file_key_selector,
}


@memoized("apiVersion", "fieldPath")
def validate_field_selector(selector: Field, fields: Sequence[str]) -> None:
    """A field of the pod (`validateObjectFieldSelector`)."""
    path = selector["fieldPath"]
    if not selector["apiVersion"].required() or not path.required():
        return
    name, subscript = split_subscript(path.value)
    if problem := _unknown(selector["apiVersion"].value, path.value, name, subscript):
        path.invalid(f"error converting fieldPath: {problem}")
    elif subscript is not None:
        selector.with_value(subscript.lower() if name == "metadata.annotations" else subscript).qualified_name()
    else:
        path.with_value("spec.nodeName" if name == "spec.host" else name).one_of(sorted(fields))


def _unknown(version: str, label: str, name: str, subscript: str | None) -> str:
    if version != "v1":
        return f"unsupported pod version: {version}"
    if subscript is not None:
        return "" if name in SUBSCRIPTED else f"field label does not support subscript: {label}"
    return "" if name in FIELDS or name == "spec.host" else f"field label not supported: {label}"


def split_subscript(label: str) -> tuple[str, str | None]:
    """Splits `metadata.labels['app']` into the field and the key (`SplitMaybeSubscriptedPath`)."""
    field, bracket, key = label.removesuffix("']").partition("['")
    if not label.endswith("']") or not bracket or not field:
        return label, None
    return field, key


@memoized("resource", "containerName", "divisor")
def validate_resource_field_selector(selector: Field, of_volume: bool) -> None:
    """A request or a limit of a container (`validateContainerResourceFieldSelector`)."""
    resource = selector["resource"]
    huge_pages = resource.text.startswith(SHOWN_HUGE_PAGES)
    if of_volume and not selector["containerName"]:
        selector["containerName"].missing()
    elif not huge_pages:
        resource.required().one_of(RESOURCES)
    divisor = str(selector.value.get("divisor") or "0")
    which, _, name = resource.text.partition(".")
    kind = "hugepages" if huge_pages else name
    if number_of(divisor) and kind in DIVISORS and which in ("limits", "requests"):
        supported, problem = DIVISORS[kind]
        if divisor not in supported:
            selector["divisor"].invalid(problem, resource.text)


@lru_cache(maxsize=1024)
def _prefix_problems(name: str) -> tuple[str, ...]:
    return tuple(names.dns_subdomain_problems(name, True))


def validate_sources(sources: Field, pod: object) -> None:
    """Whole ConfigMaps and Secrets (`ValidateEnvFrom`)."""
    for source in sources:
        if source.value.get("prefix"):
            source["prefix"].check(content.env_name_problems)
        found = source.members(("configMapRef", "secretRef"))
        for reference in found:
            reference.require_text("name", _prefix_problems)
        if len(found) != 1:
            sources.with_value("").invalid(TOO_MANY if found else "must specify one of: `configMapRef` or `secretRef`")


def validate_file_volumes(spec: Field) -> None:
    """Variables in files refer to volumes that are an emptyDir (`validateFileKeyRefVolumes`)."""
    containers = [one for kind in CONTAINERS for one in spec.value.get(kind) or ()]
    if not any("fileKeyRef" in (v.get("valueFrom") or ()) for one in containers for v in one.get("env") or ()):
        return
    for container in all_containers(spec):
        for variable in container["env"]:
            if variable.find("valueFrom.fileKeyRef").value is None:
                continue
            volumes = {volume["name"].text: volume for volume in spec["volumes"]}
            name = variable.find("valueFrom.fileKeyRef.volumeName")
            if name.text not in volumes:
                name.not_found()
            elif volumes[name.text]["emptyDir"].value is None:
                name.invalid("referenced volume must be of type emptyDir")
