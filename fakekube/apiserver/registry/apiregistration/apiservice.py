"""APIService: the server of a group and version (kube-aggregator `ValidateAPIService`)."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

from fakekube.apiserver import names
from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import AGE, NAME, Printer, age_of, columns, get, name_of
from fakekube.apiserver.registry.generic.validation.content import range_problem
from fakekube.apiserver.registry.generic.validation.field import Field
from fakekube.apiserver.registry.generic.validation.metadata import validate_metadata
from fakekube.apiserver.registry.generic.validation.rules import update_validator, validator
from fakekube.apiserver.wire.goprint import go_quote

Object = dict[str, Any]


def default_api_service(obj: Object) -> None:
    service = (obj.get("spec") or {}).get("service")
    if service is not None:
        service.setdefault("port", 443)


def prepare_api_service(obj: Object) -> Object:
    """A group that this server serves itself is available at once."""
    if (obj.get("spec") or {}).get("service") is not None:
        return {**obj, "status": {}}
    available = {
        "type": "Available",
        "status": "True",
        "lastTransitionTime": obj["metadata"]["creationTimestamp"],
        "reason": "Local",
        "message": "Local APIServices are always available",
    }
    return {**obj, "status": {"conditions": [available]}}


MOST_GROUP_PRIORITY, MOST_VERSION_PRIORITY = 20000, 1000


def name_problems(service: Object, name: str) -> Sequence[str]:
    """The problem of the name of an APIService, which follows from its spec."""
    spec = service.get("spec") or {}
    wanted = f"{spec.get('version') or ''}.{spec.get('group') or ''}"
    if name == wanted or names.path_segment_problems(name):
        return ()
    return (f'must be `spec.version+"."+spec.group`: {go_quote(wanted)}',)


def validate(service: Field) -> None:
    spec = service["spec"]
    group, version = spec["group"], spec["version"]
    if version.value != "v1":
        group.required("only v1 may have an empty group and it better be legacy kube")
    group.optional().dns_subdomain()
    version.check(names.dns1035_label_problems)
    for field, most in (("groupPriorityMinimum", MOST_GROUP_PRIORITY), ("versionPriority", MOST_VERSION_PRIORITY)):
        spec[field].between(1, most, f"must be positive and less than {most}")
    if spec["service"].value is None:
        _validate_local(spec)
    else:
        _validate_remote(spec)


def _validate_local(spec: Field) -> None:
    bundle = len(base64.b64decode(spec["caBundle"].text))
    if bundle:
        spec["caBundle"].invalid("local APIServices may not have a caBundle", f"{bundle} bytes")
    spec["insecureSkipTLSVerify"].optional().invalid("local APIServices may not have insecureSkipTLSVerify")


def _validate_remote(spec: Field) -> None:
    service = spec["service"]
    service.require("namespace", "name")
    service["port"].between(1, 65535, f"port is not valid: {range_problem(1, 65535)}")
    if spec["insecureSkipTLSVerify"] and spec["caBundle"]:
        spec["insecureSkipTLSVerify"].invalid("may not be true if caBundle is present")


def validate_status_update(new: Field, old: Field) -> None:
    for condition in new["status"]["conditions"]:
        condition["status"].one_of(("True", "False", "Unknown"))


def _validate_update(new: Field, old: Field) -> None:
    for name in new["metadata"].members(("generateName", "name")):
        for problem in name_problems(new.value, name.text):
            name.invalid(problem)
    validate_metadata(new, names.path_segment_problems, qualified=False)
    validate(new)


def _api_service(obj: Object, ages: Ages) -> list[Any]:
    service = get(obj, "spec.service")
    where = f"{service.get('namespace') or ''}/{service.get('name') or ''}" if service else "Local"
    available: Object = next((one for one in get(obj, "status.conditions", ()) if one.get("type") == "Available"), {})
    state = available.get("status") or "Unknown"
    if available and state != "True":
        state = f"{state} ({available.get('reason') or ''})"
    return [name_of(obj), where, state, age_of(obj, ages)]


KIND = Kind(
    "apiservices.apiregistration.k8s.io",
    Strategy(
        qualified_finalizers=False,
        status_keeps=("generation", "labels", "annotations", "finalizers", "ownerReferences"),
        name_check=names.path_segment_problems,
        name_problems=name_problems,
        unconditional_update=False,
        default=default_api_service,
        prepare_create=prepare_api_service,
        validate=validator(validate),
        validate_update=update_validator(_validate_update),
        validate_status_update=update_validator(validate_status_update),
    ),
    printer=Printer(columns(NAME, "Service", "Available", AGE), _api_service),
)
