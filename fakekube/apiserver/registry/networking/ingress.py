"""TODO"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from fakekube.apiserver.registry.core.service.table import SHOWN, load_balancer_addresses
from fakekube.apiserver.registry.core.service.validation import check_host
from fakekube.apiserver.registry.generic import names
from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import AGE, NAME, Printer, age_of, columns, get, joined, name_of
from fakekube.apiserver.registry.generic.validation.content import (
    Errors,
    add,
    check_dns_label,
    check_dns_subdomain,
    check_ip,
    check_port_number,
    parse_ip,
    port_name_problems,
)
from fakekube.apiserver.registry.generic.validation.metadata import check_again
from fakekube.apiserver.registry.networking.ingressclass import check_typed_reference
from fakekube.apiserver.wire.status import FieldError, field_invalid, field_not_supported, field_required

Object = dict[str, Any]


def no_warnings(new: Object, old: Object) -> list[str]:
    """An update's, where only a create has any."""
    return []


PATH_TYPES = ("Exact", "ImplementationSpecific", "Prefix")


#: What no path has that is matched as it stands.
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


def validate_ingress(ingress: Object) -> list[FieldError]:
    errors: Errors = []
    spec = ingress.get("spec") or {}
    _check_spec(spec, errors)
    annotation = (ingress["metadata"].get("annotations") or {}).get(CLASS_ANNOTATION)
    name = spec.get("ingressClassName")
    if annotation is not None and name is not None and annotation != name:
        why = "must match `ingressClassName` when both are specified"
        errors.append(field_invalid(f"annotations.{CLASS_ANNOTATION}", annotation, why))
    return errors


def validate_ingress_update(new: Object, old: Object) -> list[FieldError]:
    errors: Errors = []
    check_again(new, errors)
    before = old.get("spec") or {}
    _check_spec(
        new.get("spec") or {},
        errors,
        any_secret_name=any(_secret_name_errors(tls) for tls in before.get("tls") or ()),
        any_wildcard_rule=any(
            "*" in (rule.get("host") or "") and _rule_errors(rule) for rule in before.get("rules") or ()
        ),
    )
    return errors


def _check_spec(
    spec: Object, errors: Errors, *, any_secret_name: bool = False, any_wildcard_rule: bool = False
) -> None:
    """`any_...`: what is stored already may go on being wrong in this way."""
    rules, backend = spec.get("rules") or (), spec.get("defaultBackend")
    if not rules and backend is None:
        errors.append(field_invalid("spec", None, "either `defaultBackend` or `rules` must be specified"))
    if backend is not None:
        _check_backend(backend, "spec.defaultBackend", errors)
    for i, rule in enumerate(rules):
        _check_rule(rule, f"spec.rules[{i}]", errors, any_wildcard_rule)
    for i, tls in enumerate(spec.get("tls") or ()):
        for j, host in enumerate(tls.get("hosts") or ()):
            _check_hostname(host, f"spec.tls[{i}].hosts[{j}]", errors)
        if not any_secret_name:
            errors += _secret_name_errors(tls, f"spec.tls[{i}].")
    if spec.get("ingressClassName") is not None:
        check_dns_subdomain(spec["ingressClassName"], "spec.ingressClassName", errors)


def _secret_name_errors(tls: Object, path: str = "") -> list[FieldError]:
    errors: Errors = []
    if tls.get("secretName"):
        check_dns_subdomain(tls["secretName"], f"{path}secretName", errors)
    return errors


def _check_hostname(host: str, path: str, errors: Errors) -> None:
    if "*" in host:
        add(errors, path, host, wildcard_problems(host))
    else:
        check_dns_subdomain(host, path, errors)


def _check_rule(rule: Object, path: str, errors: Errors, any_wildcard_rule: bool) -> None:
    host = rule.get("host") or ""
    if host:
        if parse_ip(host) is not None:
            errors.append(field_invalid(f"{path}.host", host, "must be a DNS name, not an IP address"))
        _check_hostname(host, f"{path}.host", errors)
    if not (any_wildcard_rule and "*" in host):
        errors += _rule_errors(rule, path)


def _rule_errors(rule: Object, path: str = "") -> list[FieldError]:
    errors: Errors = []
    http = rule.get("http")
    if http is None:
        return errors
    if not http.get("paths"):
        errors.append(field_required(f"{path}.http.paths"))
    for i, one in enumerate(http.get("paths") or ()):
        _check_path(one, f"{path}.http.paths[{i}]", errors)
    return errors


def _check_path(one: Object, path: str, errors: Errors) -> None:
    kind, text = one.get("pathType"), one.get("path") or ""
    if not kind:
        errors.append(field_required(f"{path}.pathType", "pathType must be specified"))
        return
    if kind not in PATH_TYPES:
        errors.append(field_not_supported(f"{path}.pathType", kind, PATH_TYPES))
    elif not text.startswith("/") and (text or kind != "ImplementationSpecific"):
        errors.append(field_invalid(f"{path}.path", text, "must be an absolute path"))
    if kind in ("Exact", "Prefix"):
        problems = [f"must not contain '{part}'" for part in FORBIDDEN_SEQUENCES if part in text]
        problems += [f"cannot end with '{part}'" for part in FORBIDDEN_ENDS if text.endswith(part)]
        add(errors, f"{path}.path", text, problems)
    _check_backend(one.get("backend") or {}, f"{path}.backend", errors)


def _check_backend(backend: Object, path: str, errors: Errors) -> None:
    resource, service = backend.get("resource"), backend.get("service")
    if resource is not None and service is not None:
        errors.append(field_invalid(path, "", "cannot set both resource and service backends"))
    elif resource is not None:
        check_typed_reference(resource, f"{path}.resource", errors)
    elif service is None:
        errors.append(field_invalid(path, "", "resource or service backend is required"))
    else:
        _check_service_backend(service, path, errors)


def _check_service_backend(service: Object, path: str, errors: Errors) -> None:
    if service.get("name"):
        check_dns_label(service["name"], f"{path}.service.name", errors)
    else:
        errors.append(field_required(f"{path}.service.name"))
    port = service.get("port") or {}
    name, number = port.get("name") or "", port.get("number") or 0
    if name and number:
        errors.append(field_invalid(path, "", "cannot set both port name & port number"))
    elif name:
        add(errors, f"{path}.service.port.name", name, port_name_problems(name))
    elif number:
        check_port_number(number, f"{path}.service.port.number", errors)
    else:
        errors.append(field_required(path, "port name or number is required"))


def validate_ingress_status(new: Object, old: Object) -> list[FieldError]:
    errors: Errors = []
    points = ((new.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ()
    stored = ((old.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ()
    known = [point["ip"] for point in stored if point.get("ip")]
    for i, point in enumerate(points):
        path = f"status.loadBalancer.ingress[{i}]"
        if point.get("ip"):
            check_ip(point["ip"], f"{path}.ip", errors, known)
        check_host(point.get("hostname") or "", f"{path}.hostname", errors)
    return errors


def ingress_warnings(ingress: Object) -> list[str]:
    annotations = ingress["metadata"].get("annotations") or {}
    if CLASS_ANNOTATION in annotations and (ingress.get("spec") or {}).get("ingressClassName") is None:
        return [f"annotation \"{CLASS_ANNOTATION}\" is deprecated, please use 'spec.ingressClassName' instead"]
    return []


def _hosts(rules: Sequence[Object]) -> str:
    """The first hosts; how many more there are counts rules, also those without a host."""
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
        validate=validate_ingress,
        validate_update=validate_ingress_update,
        validate_status_update=validate_ingress_status,
        warnings=ingress_warnings,
        update_warnings=no_warnings,
    ),
    printer=Printer(columns(NAME, "Class", "Hosts", "Address", "Ports", AGE), _ingress),
)
