"""Probes of containers, and what is called when they start and end."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.registry.generic.validation import content
from fakekube.apiserver.registry.generic.validation.content import Errors, check_nonnegative
from fakekube.apiserver.wire.status import field_forbidden, field_invalid, field_not_supported, field_required

Object = dict[str, Any]

HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")
NUMBERS = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")
ONCE = ("livenessProbe", "startupProbe")


def check_handler(handler: Object, path: str, errors: Errors, grace: int | None) -> None:
    """One way of calling a container. `grace`: the seconds that the pod has to end."""
    found = [kind for kind in HANDLERS if handler.get(kind) is not None]
    for n, kind in enumerate(found):
        if n:
            errors.append(field_forbidden(f"{path}.{kind}", "may not specify more than 1 handler type"))
        else:
            _check_call(kind, handler[kind], f"{path}.{kind}", errors, grace)
    if not found:
        errors.append(field_required(path, "must specify a handler type"))


def _check_call(kind: str, call: Object, path: str, errors: Errors, grace: int | None) -> None:
    if kind == "exec":
        if not call.get("command"):
            errors.append(field_required(f"{path}.command"))
    elif kind == "httpGet":
        _check_http(call, path, errors)
    elif kind == "sleep":
        seconds = call.get("seconds") or 0
        if grace is not None and not 0 <= seconds <= grace:
            why = f"must be non-negative and less than terminationGracePeriodSeconds ({grace})"
            errors.append(field_invalid(path, seconds, why))
    else:
        content.check_port(call.get("port", 0), f"{path}.port", errors)


def _check_http(call: Object, path: str, errors: Errors) -> None:
    if not call.get("path"):
        errors.append(field_required(f"{path}.path"))
    content.check_port(call.get("port", 0), f"{path}.port", errors)
    if call.get("scheme") not in ("HTTP", "HTTPS"):
        errors.append(field_not_supported(f"{path}.scheme", call.get("scheme") or "", ("HTTP", "HTTPS")))
    for header in call.get("httpHeaders") or ():
        name = header.get("name") or ""
        content.add(errors, f"{path}.httpHeaders", name, content.http_header_problems(name))


def check_probes(container: Object, path: str, errors: Errors, grace: int | None) -> None:
    for kind in ("livenessProbe", "readinessProbe", "startupProbe"):
        if container.get(kind) is not None:
            _check_probe(kind, container[kind], f"{path}.{kind}", errors, grace)


def _check_probe(kind: str, probe: Object, path: str, errors: Errors, grace: int | None) -> None:
    check_handler(probe, path, errors, grace)
    for number in NUMBERS:
        check_nonnegative(probe.get(number), f"{path}.{number}", errors)
    seconds = probe.get("terminationGracePeriodSeconds")
    if seconds is not None and seconds <= 0:
        errors.append(field_invalid(f"{path}.terminationGracePeriodSeconds", seconds, "must be greater than 0"))
    if kind in ONCE:
        successes = probe.get("successThreshold") or 0
        if successes != 1:
            errors.append(field_invalid(f"{path}.successThreshold", successes, "must be 1"))
    elif seconds is not None:
        why = "must not be set for readinessProbes"
        errors.append(field_invalid(f"{path}.terminationGracePeriodSeconds", seconds, why))


def check_lifecycle(lifecycle: Object, path: str, errors: Errors, grace: int | None) -> None:
    for hook in ("postStart", "preStop"):
        if lifecycle.get(hook) is not None:
            check_handler(lifecycle[hook], f"{path}.{hook}", errors, grace)
