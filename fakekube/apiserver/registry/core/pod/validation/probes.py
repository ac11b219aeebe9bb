"""Validates the probes and the lifecycle hooks of containers."""

from __future__ import annotations

from fakekube.apiserver.registry.generic.validation import content
from fakekube.apiserver.registry.generic.validation.field import Field
from fakekube.apiserver.registry.generic.validation.rules import memoized, union

HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")
PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
NUMBERS = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")


def validate_probes(container: Field, grace: int | None) -> None:
    """`grace`: the seconds that the pod has to terminate."""
    for probe in container.members(PROBES):
        _validate_handler(probe, grace)
        _validate_numbers(probe, probe.key)


@memoized(*NUMBERS, "terminationGracePeriodSeconds")
def _validate_numbers(probe: Field, kind: str) -> None:
    probe.non_negative_members(*NUMBERS)
    seconds, successes = probe.get("terminationGracePeriodSeconds"), probe["successThreshold"]
    seconds.at_least(1, "must be greater than 0")
    if kind == "readinessProbe":
        seconds.invalid("must not be set for readinessProbes")
    elif successes.number != 1:
        successes.invalid("must be 1", successes.number)


def validate_lifecycle(lifecycle: Field, grace: int | None) -> None:
    for hook in lifecycle.members(("postStart", "preStop")):
        _validate_handler(hook, grace)


def _validate_handler(handler: Field, grace: int | None) -> None:
    many, none = "may not specify more than 1 handler type", "must specify a handler type"
    for call in union(handler, HANDLERS, many=many, none=none):
        match call.key:
            case "exec":
                call.require("command")
            case "httpGet":
                _validate_http_get(call)
                if call.value.get("httpHeaders"):
                    _validate_headers(call)
            case "sleep":
                seconds = call["seconds"].number
                if grace is not None and not 0 <= seconds <= grace:
                    call.invalid(f"must be non-negative and less than terminationGracePeriodSeconds ({grace})", seconds)
            case _:
                call["port"].port()


@memoized("path", "port", "scheme")
def _validate_http_get(call: Field) -> None:
    call.require("path")
    call["port"].port()
    call["scheme"].one_of(("HTTP", "HTTPS"))


def _validate_headers(call: Field) -> None:
    for header in call["httpHeaders"]:
        call.at("httpHeaders", header["name"].value).check(content.http_header_problems)
