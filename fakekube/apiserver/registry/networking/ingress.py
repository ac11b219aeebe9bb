"""Ingress (`ValidateIngressCreate`, `ValidateIngressUpdate`)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from fakekube.apiserver import names
from fakekube.apiserver.names import dns_subdomain_problems, service_name_problems
from fakekube.apiserver.registry.core.service.table import SHOWN, load_balancer_addresses
from fakekube.apiserver.registry.core.service.validation import load_balancer_ips, validate_host
from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy, no_update_warnings
from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import AGE, NAME, Printer, age_of, columns, get, joined, name_of
from fakekube.apiserver.registry.generic.validation.content import (
    parse_ip,
    port_name_problems,
)
from fakekube.apiserver.registry.generic.validation.field import Field
from fakekube.apiserver.registry.generic.validation.metadata import validate_metadata
from fakekube.apiserver.registry.generic.validation.rules import update_validator, validator
from fakekube.apiserver.registry.networking.ingressclass import validate_typed_reference
from fakekube.apiserver.wire.goprint import Literal

Object = dict[str, Any]

PATH_TYPES = ("Exact", "ImplementationSpecific", "Prefix")

#: Sequences that paths of the types Exact and Prefix do not contain.
FORBIDDEN_SEQUENCES = ("//", "/./", "/../", "%2f", "%2F")

FORBIDDEN_ENDS = ("/..", "/.")

CLASS_ANNOTATION = "kubernetes.io/ingress.class"

WILDCARD = rf"\*\.{names.DNS_SUBDOMAIN}"


WILDCARD_MESSAGE = (
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of "
    "lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character"
)


_wildcard = re.compile(WILDCARD)


def wildcard_problems(host: str) -> list[str]:
    problems = [names.too_long(253)] if len(host) > 253 else []
    if not _wildcard.fullmatch(host):
        problems.append(names.regex_message(WILDCARD_MESSAGE, WILDCARD, "*.example.com"))
    return problems


def validate(ingress: Field) -> None:
    _validate_spec(ingress["spec"])
    name = ingress["spec"]["ingressClassName"].value
    annotation = ingress.at("annotations", ingress["metadata"]["annotations"].value)[CLASS_ANNOTATION]
    if name is not None and annotation.value not in (None, name):
        annotation.invalid("must match `ingressClassName` when both are specified")


def validate_update(new: Field, old: Field) -> None:
    before = old["spec"]
    wildcards = (rule for rule in before["rules"] if "*" in rule["host"].text)
    validate_metadata(new)
    _validate_spec(
        new["spec"],
        any_secret_name=any(
            tls["secretName"] and dns_subdomain_problems(tls["secretName"].text) for tls in before["tls"]
        ),
        any_wildcard_rule=any(_has_errors(rule) for rule in wildcards),
    )


def _has_errors(rule: Field) -> bool:
    alone = Field(rule.value)
    _validate_paths(alone)
    return bool(alone.errors)


def _validate_spec(spec: Field, *, any_secret_name: bool = False, any_wildcard_rule: bool = False) -> None:
    """`any_...`: the stored object is wrong in this way already."""
    backend = spec["defaultBackend"]
    if not spec["rules"] and backend.value is None:
        rules = spec["rules"].value
        shown = Literal("[]networking.IngressRule" + ("(nil)" if rules is None else "{}"), rules)
        spec.invalid("either `defaultBackend` or `rules` must be specified", shown)
    if backend.value is not None:
        _validate_backend(backend)
    for rule in spec["rules"]:
        host = rule["host"]
        if host:
            if parse_ip(host.text) is not None:
                host.invalid("must be a DNS name, not an IP address")
            _validate_host_name(host)
        if not (any_wildcard_rule and "*" in host.text):
            _validate_paths(rule)
    for tls in spec["tls"]:
        for host in tls["hosts"]:
            _validate_host_name(host)
        if not any_secret_name:
            tls["secretName"].optional().dns_subdomain()
    spec.get("ingressClassName").dns_subdomain()


def _validate_host_name(host: Field) -> None:
    host.check(wildcard_problems if "*" in host.text else dns_subdomain_problems)


def _validate_paths(rule: Field) -> None:
    for path in rule.get("http")["paths"].required():
        _validate_path(path)


def _validate_path(path: Field) -> None:
    kind, text = path["pathType"].specified("pathType must be specified"), path["path"]
    if kind.value is None:
        return
    if kind.value not in PATH_TYPES:
        kind.not_supported(PATH_TYPES)
    elif not text.text.startswith("/") and (text or kind.value != "ImplementationSpecific"):
        text.invalid("must be an absolute path")
    if kind.value in ("Exact", "Prefix"):
        text.check(_path_problems)
    _validate_backend(path["backend"])


def _path_problems(path: str) -> list[str]:
    problems = [f"must not contain '{part}'" for part in FORBIDDEN_SEQUENCES if part in path]
    return problems + [f"cannot end with '{part}'" for part in FORBIDDEN_ENDS if path.endswith(part)]


def _validate_backend(backend: Field) -> None:
    resource, service = backend["resource"], backend["service"]
    if resource.value is not None and service.value is not None:
        backend.invalid("cannot set both resource and service backends", "")
    elif resource.value is not None:
        validate_typed_reference(resource)
    elif service.value is None:
        backend.invalid("resource or service backend is required", "")
    else:
        _validate_service(service)


def _validate_service(service: Field) -> None:
    service["name"].required().check(service_name_problems)
    name, number = service["port"]["name"], service["port"]["number"]
    if name and number:
        service.parent.invalid("cannot set both port name & port number", "")
    elif name:
        name.check(port_name_problems)
    elif number:
        number.port_number()
    else:
        service.parent.missing("port name or number is required")


def validate_status_update(new: Field, old: Field) -> None:
    known = load_balancer_ips(old)
    for point in new["status"]["loadBalancer"]["ingress"]:
        point["ip"].optional().ip(known)
        validate_host(point["hostname"].optional())


def ingress_warnings(ingress: Object) -> list[str]:
    annotations = ingress["metadata"].get("annotations") or {}
    if CLASS_ANNOTATION in annotations and (ingress.get("spec") or {}).get("ingressClassName") is None:
        return [f"annotation \"{CLASS_ANNOTATION}\" is deprecated, please use 'spec.ingressClassName' instead"]
    return []


def _hosts(rules: Sequence[Object]) -> str:
    """Returns the first hosts; the number of the others counts all rules, with a host or without one."""
    shown: list[str] = []
    for rule in rules:
        if len(shown) == SHOWN:
            return f"{joined(shown)} + {len(rules) - SHOWN} more..."
        if rule.get("host"):
            shown.append(rule["host"])
    return joined(shown) or "*"


def _ingress(obj: Object, ages: Ages) -> list[Any]:
    return [
        name_of(obj),
        get(obj, "spec.ingressClassName", "<none>"),
        _hosts(get(obj, "spec.rules", ())),
        joined(load_balancer_addresses(obj)),
        "80, 443" if get(obj, "spec.tls") else "80",
        age_of(obj, ages),
    ]


KIND = Kind(
    "ingresses.networking.k8s.io",
    Strategy(
        generation=("spec",),
        validate=validator(validate),
        validate_update=update_validator(validate_update),
        validate_status_update=update_validator(validate_status_update),
        warnings=ingress_warnings,
        update_warnings=no_update_warnings,
    ),
    printer=Printer(columns(NAME, "Class", "Hosts", "Address", "Ports", AGE), _ingress),
)
