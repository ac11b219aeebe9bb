"""Variables of containers, and the fields of a pod that they, and files, can show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fakekube.apiserver import names
from fakekube.apiserver.registry.core.pod.validation.podoptions import containers
from fakekube.apiserver.registry.core.resourcenames import number_of
from fakekube.apiserver.registry.generic.validation import content
from fakekube.apiserver.registry.generic.validation.content import Errors, add
from fakekube.apiserver.wire.status import field_invalid, field_not_found, field_not_supported, field_required

Object = dict[str, Any]

#: Fields of a pod that a variable can show, those that a file can, and those that there are.
FIELDS_OF_VARIABLES = (
    "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName",
    "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs",
)  # fmt: skip
FIELDS_OF_FILES = ("metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid")
FIELDS = frozenset((*FIELDS_OF_VARIABLES, *FIELDS_OF_FILES, "spec.restartPolicy", "spec.schedulerName", "status.phase"))

#: Resources of a container that can be shown.
RESOURCES = (
    "limits.cpu", "limits.ephemeral-storage", "limits.memory",
    "requests.cpu", "requests.ephemeral-storage", "requests.memory",
)  # fmt: skip
HUGE_PAGES = ("limits.hugepages-", "requests.hugepages-")

SIZES = frozenset(["1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"])
SIZES_TEXT = "1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei"

#: Resource -> the divisors that it takes, and what is said of others.
DIVISORS = {
    "cpu": (frozenset(("1m", "1")), "only divisor's values 1m and 1 are supported with the cpu resource"),
    "memory": (SIZES, f"only divisor's values {SIZES_TEXT} are supported with the memory resource"),
    "ephemeral-storage": (
        SIZES,
        f"only divisor's values {SIZES_TEXT} are supported with the local ephemeral storage resource",
    ),
    "hugepages": (SIZES, f"only divisor's values {SIZES_TEXT} are supported with the hugepages resource"),
}

TOO_MANY = "may not have more than one field specified at a time"


def check_variables(variables: Sequence[Object], path: str, errors: Errors) -> None:
    for i, variable in enumerate(variables):
        name = variable.get("name") or ""
        if not name:
            errors.append(field_required(f"{path}[{i}].name"))
        else:
            add(errors, f"{path}[{i}].name", name, content.relaxed_env_name_problems(name))
        if variable.get("valueFrom") is not None:
            _check_source(variable, f"{path}[{i}].valueFrom", errors)


def _check_source(variable: Object, path: str, errors: Errors) -> None:
    source: Object = variable["valueFrom"]
    count = sum(source.get(key) is not None for key in SOURCES)
    for key, check in SOURCES.items():
        if source.get(key) is not None:
            check(source[key], f"{path}.{key}", errors)
    if not count:
        one_of = "`fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
        errors.append(field_invalid(path, "", f"must specify one of: {one_of}"))
    elif variable.get("value"):
        errors.append(field_invalid(path, "", "may not be specified when `value` is not empty"))
    elif count > 1:
        errors.append(field_invalid(path, "", TOO_MANY))


def _check_field(selector: Object, path: str, errors: Errors) -> None:
    check_field_selector(selector, FIELDS_OF_VARIABLES, path, errors)


def _check_resource(selector: Object, path: str, errors: Errors) -> None:
    check_resource_selector(selector, path, errors, of_volume=False)


def _check_key(selector: Object, path: str, errors: Errors) -> None:
    """Of a ConfigMap or a Secret."""
    name, key = selector.get("name") or "", selector.get("key") or ""
    content.check_dns_subdomain(name, f"{path}.name", errors)
    if not key:
        errors.append(field_required(f"{path}.key"))
    else:
        add(errors, f"{path}.key", key, content.config_key_problems(key))


def _check_file(selector: Object, path: str, errors: Errors) -> None:
    """A variable in a file of an emptyDir."""
    key, volume, file = (selector.get(name) or "" for name in ("key", "volumeName", "path"))
    if not key:
        errors.append(field_required(f"{path}.key"))
    else:
        add(errors, f"{path}.key", key, content.relaxed_env_name_problems(key))
    if not volume:
        errors.append(field_required(f"{path}.volumeName"))
    else:
        content.check_dns_label(volume, f"{path}.volumeName", errors)
    if not file:
        errors.append(field_required(f"{path}.path"))
    else:
        content.check_no_backsteps(file, f"{path}.path", errors)


SOURCES = {
    "fieldRef": _check_field,
    "resourceFieldRef": _check_resource,
    "configMapKeyRef": _check_key,
    "secretKeyRef": _check_key,
    "fileKeyRef": _check_file,
}


def check_field_selector(selector: Object, fields: Sequence[str], path: str, errors: Errors) -> None:
    """A field of the pod (`validateObjectFieldSelector`)."""
    version, label = selector.get("apiVersion") or "", selector.get("fieldPath") or ""
    if not version:
        errors.append(field_required(f"{path}.apiVersion"))
        return
    if not label:
        errors.append(field_required(f"{path}.fieldPath"))
        return
    field, subscript = split_subscript(label)
    problem = _unknown(version, label, field, subscript)
    if problem:
        errors.append(field_invalid(f"{path}.fieldPath", label, f"error converting fieldPath: {problem}"))
        return
    field = "spec.nodeName" if field == "spec.host" else field
    if subscript is not None:
        key = subscript.lower() if field == "metadata.annotations" else subscript
        content.check_qualified_name(key, path, errors)
    elif field not in fields:
        errors.append(field_not_supported(f"{path}.fieldPath", field, sorted(fields)))


def _unknown(version: str, label: str, field: str, subscript: str | None) -> str:
    if version != "v1":
        return f"unsupported pod version: {version}"
    if subscript is not None:
        known = field in ("metadata.annotations", "metadata.labels")
        return "" if known else f"field label does not support subscript: {label}"
    return "" if field in FIELDS or field == "spec.host" else f"field label not supported: {label}"


def split_subscript(label: str) -> tuple[str, str | None]:
    """`metadata.labels['app']` in its two parts (`SplitMaybeSubscriptedPath`)."""
    field, bracket, key = label.removesuffix("']").partition("['")
    if not label.endswith("']") or not bracket or not field:
        return label, None
    return field, key


def check_resource_selector(selector: Object, path: str, errors: Errors, *, of_volume: bool) -> None:
    """A container's request or limit (`validateContainerResourceFieldSelector`)."""
    resource: str = selector.get("resource") or ""
    if of_volume and not selector.get("containerName"):
        errors.append(field_required(f"{path}.containerName"))
    elif not resource:
        errors.append(field_required(f"{path}.resource"))
    elif resource not in RESOURCES and not resource.startswith(HUGE_PAGES):
        errors.append(field_not_supported(f"{path}.resource", resource, RESOURCES))
    divisor = str(selector.get("divisor") or "0")
    kind = "hugepages" if resource.startswith(HUGE_PAGES) else resource.partition(".")[2]
    if number_of(divisor) and kind in DIVISORS and resource.startswith(("limits.", "requests.")):
        supported, problem = DIVISORS[kind]
        if divisor not in supported:
            errors.append(field_invalid(f"{path}.divisor", resource, problem))


def check_sources(sources: Sequence[Object], path: str, errors: Errors) -> None:
    """Whole ConfigMaps and Secrets (`ValidateEnvFrom`)."""
    for i, source in enumerate(sources):
        here = f"{path}[{i}]"
        if source.get("prefix"):
            add(errors, f"{here}.prefix", source["prefix"], content.relaxed_env_name_problems(source["prefix"]))
        found = [key for key in ("configMapRef", "secretRef") if source.get(key) is not None]
        for key in found:
            name = source[key].get("name") or ""
            if not name:
                errors.append(field_required(f"{here}.{key}.name"))
            else:
                problems = names.dns_subdomain_problems(name, True)
                add(errors, f"{here}.{key}.name", name, problems)
        if not found:
            errors.append(field_invalid(path, "", "must specify one of: `configMapRef` or `secretRef`"))
        elif len(found) > 1:
            errors.append(field_invalid(path, "", TOO_MANY))


def check_files(spec: Object, path: str, errors: Errors) -> None:
    """The volumes of variables that come from files are there, and empty at the start (`validateFileKeyRefVolumes`)."""
    volumes = {volume.get("name") or "": volume for volume in spec.get("volumes") or ()}
    for place, container in containers(spec):
        for i, variable in enumerate(container.get("env") or ()):
            file = (variable.get("valueFrom") or {}).get("fileKeyRef")
            if file is None:
                continue
            name = file.get("volumeName") or ""
            here = f"{path}.{place}.env[{i}].valueFrom.fileKeyRef.volumeName"
            if name not in volumes:
                errors.append(field_not_found(here, name))
            elif volumes[name].get("emptyDir") is None:
                errors.append(field_invalid(here, name, "referenced volume must be of type emptyDir"))
