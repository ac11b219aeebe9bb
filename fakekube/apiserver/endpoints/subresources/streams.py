"""`/log`, `/exec`, `/attach`, `/portforward` of pods: checked as the real server checks them before it asks the kubelet
(`core/pod.LogLocation`, `streamLocation`), then answered by whom a test registered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fakekube.apiserver.call import Call
from fakekube.apiserver.kubelet import ExecHandler, ExecRequest, ForwardRequest, LogRequest, in_bytes, result_of
from fakekube.apiserver.response import Raw, Response, Upgrade
from fakekube.apiserver.wire.channels import ExecSession, ForwardSession, Session, choose
from fakekube.apiserver.wire.options import parse_bool, parse_int
from fakekube.apiserver.wire.status import (
    FieldError,
    StatusError,
    bad_request,
    field_forbidden,
    field_invalid,
    internal_error,
    invalid,
    not_found,
    not_implemented,
)

Object = dict[str, Any]


# --- logs ------------------------------------------------------------------------------------------------------------


def log(call: Call) -> Response:
    options = _log_options(call)
    pod = _pod(call)
    container = _container(call, pod)
    handler = call.server.kubelet.logs
    if handler is None:
        if not (pod.get("spec") or {}).get("nodeName"):
            return Response(204, content_type="")
        raise _nobody(call, pod, "on_logs")
    query = call.request.query
    request = LogRequest(
        pod,
        container,
        previous=parse_bool(query, "previous") or False,
        since_seconds=options["sinceSeconds"],
        since_time=call.request.option("sinceTime"),
        timestamps=parse_bool(query, "timestamps") or False,
    )
    text = cut(in_bytes(handler(request)), options["tailLines"], options["limitBytes"])
    return Response(body=Raw(text), content_type="text/plain")


def _log_options(call: Call) -> dict[str, int | None]:
    """The numbers that a log may be asked for with. Raises 422 (`ValidatePodLogOptions`)."""
    found = {name: parse_int(call.request.query, name) for name in ("tailLines", "limitBytes", "sinceSeconds")}
    tail, limit, since = found.values()
    errors: list[FieldError] = []
    if tail is not None and tail < 0:
        errors.append(field_invalid("tailLines", tail, "must be greater than or equal to 0"))
    if limit is not None and limit < 1:
        errors.append(field_invalid("limitBytes", limit, "must be greater than 0"))
    if since is not None and call.request.option("sinceTime"):
        errors.append(field_forbidden("", "at most one of `sinceTime` or `sinceSeconds` may be specified"))
    elif since is not None and since < 1:
        errors.append(field_invalid("sinceSeconds", since, "must be greater than 0"))
    if errors:
        raise invalid("", "PodLogOptions", call.info.name, errors)
    return found


def cut(text: bytes, tail: int | None, limit: int | None) -> bytes:
    """The last `tail` lines of a log, and of these the first `limit` bytes."""
    if tail is not None:
        lines = text.splitlines(keepends=True)
        text = b"".join(lines[len(lines) - min(tail, len(lines)) :])
    return text if limit is None else text[:limit]


# --- streams ---------------------------------------------------------------------------------------------------------


def exec_(call: Call) -> Response:
    return _command(call, call.server.kubelet.exec, "on_exec", tuple(call.request.query.get("command", ())))


def attach(call: Call) -> Response:
    return _command(call, call.server.kubelet.attach, "on_attach", ())


def _command(call: Call, handler: ExecHandler | None, register: str, command: tuple[str, ...]) -> Response:
    pod = _pod(call)
    container = _container(call, pod)
    if handler is None:
        raise _nobody(call, pod, register)
    query = call.request.query
    stdin, tty = parse_bool(query, "stdin") or False, parse_bool(query, "tty") or False

    def open(protocol: str) -> Session:
        def run(data: bytes) -> Any:
            return result_of(handler(ExecRequest(pod, container, command, data, tty)))

        return ExecSession(run, command, protocol, stdin=stdin)

    return _upgraded(call, open)


def port_forward(call: Call) -> Response:
    pod = _pod(call)
    handler = call.server.kubelet.forward
    if handler is None:
        raise _nobody(call, pod, "on_port_forward")
    ports = _ports(call.request.query.get("ports", ()))

    def open(protocol: str) -> Session:
        return ForwardSession(lambda port, data: handler(ForwardRequest(pod, port, data)), ports)

    return _upgraded(call, open)


def _ports(texts: Sequence[str]) -> list[int]:
    """`ports=80,443`, or several of them. Raises 400."""
    found = []
    for text in (part for one in texts for part in one.split(",")):
        if not text.isascii() or not text.isdigit() or not 0 < int(text) < 65536:
            raise bad_request(f'unable to parse "{text}" as a port: it must be between 1 and 65535')
        found.append(int(text))
    return found


def _upgraded(call: Call, open: Callable[[str], Session]) -> Response:
    """The connection becomes a WebSocket. Raises 400 where it cannot."""
    headers = call.request.headers
    if "websocket" not in headers.get("upgrade", "").lower():
        raise bad_request("unable to upgrade: fakekube speaks WebSocket only, not SPDY")
    offered = [one.strip() for one in headers.get("sec-websocket-protocol", "").split(",") if one.strip()]
    protocol = choose(offered)
    if offered and not protocol:
        raise bad_request(f"unable to upgrade: no subprotocol of {', '.join(offered)} is supported")
    return Response(101, upgrade=Upgrade(protocol, open(protocol)))


# --- what all of them check ------------------------------------------------------------------------------------------


def _pod(call: Call) -> Object:
    found = call.stored()
    if found is None:
        raise not_found(call.resource.qualified, call.info.name)
    return found.object


def _names(pod: Object, kind: str) -> list[str]:
    return [container.get("name") or "" for container in (pod.get("spec") or {}).get(kind) or ()]


def _container(call: Call, pod: Object) -> str:
    """The container that is asked for, else the only one. Raises 400."""
    asked, name = call.request.option("container") or "", call.info.name
    containers, initial = _names(pod, "containers"), _names(pod, "initContainers")
    if asked:
        if asked not in [*containers, *initial, *_names(pod, "ephemeralContainers")]:
            raise bad_request(f"container {asked} is not valid for pod {name}")
        return asked
    if len(containers) == 1:
        return containers[0]
    text = f"a container name must be specified for pod {name}"
    if containers:
        text += f", choose one of: [{' '.join(containers)}]"
        if initial:
            text += f" or one of the init containers: [{' '.join(initial)}]"
    raise bad_request(text)


def _nobody(call: Call, pod: Object, register: str) -> StatusError:
    """There is no kubelet, and nobody in its place: as far as the real server would come, in its words."""
    node = (pod.get("spec") or {}).get("nodeName")
    if not node:
        return bad_request(f"pod {call.info.name} does not have a host assigned")
    check_node(call, node)
    return not_implemented(f"{call.info.subresource} of pods without a handler: register one with {register}()")


def check_node(call: Call, name: str) -> None:
    """Raises 404 of a node that is not there, 500 of one that says nowhere where it is (`GetConnectionInfo`)."""
    found = call.server.store.get("nodes", name)
    if found is None:
        raise not_found("nodes", name)
    if not (found.object.get("status") or {}).get("addresses"):
        raise internal_error("no preferred addresses found; known addresses: []")


#: (collection, subresource) -> the kind of the connection's options, and what opens it.
CONNECTIONS = {
    ("pods", "exec"): ("PodExecOptions", exec_),
    ("pods", "attach"): ("PodAttachOptions", attach),
    ("pods", "portforward"): ("PodPortForwardOptions", port_forward),
}
