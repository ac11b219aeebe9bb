"""`/healthz`, `/livez` and `/readyz`, and their individual checks (`apiserver/pkg/server/healthz`).

The server is always healthy. The checks have the names of kube-apiserver's, so that clients can read and exclude them.
"""

from __future__ import annotations

from collections.abc import Sequence

from fakekube.apiserver.response import Response, Text
from fakekube.apiserver.wire.goprint import go_quote
from fakekube.apiserver.wire.request import Request
from fakekube.apiserver.wire.status import PlainAnswer

_HOOKS = (
    "start-apiserver-admission-initializer",
    "generic-apiserver-start-informers",
    "priority-and-fairness-config-consumer",
    "priority-and-fairness-filter",
    "storage-object-count-tracker-hook",
    "start-apiextensions-informers",
    "start-apiextensions-controllers",
    "crd-informer-synced",
    "start-system-namespaces-controller",
    "peer-endpoint-reconciler-controller",
    "start-cluster-authentication-info-controller",
    "start-kube-apiserver-identity-lease-controller",
    "start-kube-apiserver-identity-lease-garbage-collector",
    "storage-readiness",
    "start-legacy-token-tracking-controller",
    "start-service-ip-repair-controllers",
    "rbac/bootstrap-roles",
    "scheduling/bootstrap-system-priority-classes",
    "priority-and-fairness-config-producer",
    "bootstrap-controller",
    "start-kubernetes-service-cidr-controller",
    "start-kube-aggregator-informers",
    "apiservice-status-local-available-controller",
    "apiservice-status-remote-available-controller",
    "apiservice-registration-controller",
    "apiservice-discovery-controller",
    "kube-apiserver-autoregistration",
)
_LAST_HOOKS = ("apiservice-openapi-controller", "apiservice-openapiv3-controller")


def _checks(*first: str) -> tuple[str, ...]:
    hooks = [f"poststarthook/{name}" for name in _HOOKS]
    return (*first, *hooks, "autoregister-completion", *(f"poststarthook/{name}" for name in _LAST_HOOKS))


#: Path -> its checks, in the order of the response.
CHECKS: dict[str, Sequence[str]] = {
    "healthz": _checks("ping", "log", "loopback-serving-certificate", "etcd"),
    "livez": _checks("ping", "log", "loopback-serving-certificate", "etcd"),
    "readyz": (*_checks("ping", "log", "etcd", "etcd-readiness", "informer-sync"), "shutdown"),
}

_CONTENT_TYPE = "text/plain; charset=utf-8"


def answers(path: str) -> bool:
    return path.strip("/").partition("/")[0] in CHECKS


def answer(request: Request) -> Response:
    """Answer a health check. Raises a plain-text 404 for an unknown check."""
    name, slash, check = request.path.lstrip("/").partition("/")
    if slash and check not in CHECKS[name]:
        raise PlainAnswer(404, "404 page not found\n")
    if check:
        return Response(body=Text("ok"), content_type=_CONTENT_TYPE)
    text = _verbose(name, request.query.get("exclude", ())) if "verbose" in request.query else "ok"
    return Response(body=Text(text), content_type=_CONTENT_TYPE, headers={"X-Content-Type-Options": "nosniff"})


def _verbose(name: str, excluded: Sequence[str]) -> str:
    """One line for each check, and a warning for excluded checks that do not exist."""
    checks = CHECKS[name]
    lines = [f"[+]{check} excluded: ok" if check in excluded else f"[+]{check} ok" for check in checks]
    unknown = sorted(set(excluded) - set(checks))
    if unknown:
        shown = ",".join(go_quote(one) for one in unknown)
        lines.append(f"warn: some health checks cannot be excluded: no matches for {shown}")
    return "\n".join([*lines, f"{name} check passed", ""])
