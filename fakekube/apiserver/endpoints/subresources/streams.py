"""`/log`, `/exec`, `/attach` and `/portforward` of pods, answered by the handlers that a test registers.

Requests are checked first, as kube-apiserver does before it calls the kubelet (`core/pod.LogLocation`,
`streamLocation`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any, cast

from fakekube.apiserver.call import Call
from fakekube.apiserver.containerlog import ContainerLog, FollowedLog, LogOptions, run_of, time_of
from fakekube.apiserver.kubelet import (
    ExecHandler,
    ExecRequest,
    ForwardRequest,
    InteractiveHandler,
    LogRequest,
    conversation_of,
    is_interactive,
    result_of,
)
from fakekube.apiserver.response import Raw, Response, Upgrade
from fakekube.apiserver.schema.times import InvalidTime, time_text
from fakekube.apiserver.wire.channels import ExecSession, ForwardSession, InteractiveSession, Session, choose
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
        raise _no_handler(call, pod, "on_logs")
    query = call.request.query
    previous, follow = (parse_bool(query, name) or False for name in ("previous", "follow"))
    request = LogRequest(
        pod,
        container,
        previous=previous,
        since_seconds=options["sinceSeconds"],
        since_time=call.request.option("sinceTime"),
        timestamps=parse_bool(query, "timestamps") or False,
        follow=follow,
    )
    now, run = time_of(call.context.micro), run_of(pod, container, previous=previous)
    started = run.started if run is not None else time_of(pod["metadata"].get("creationTimestamp") or call.context.now)
    wanted = LogOptions(options["tailLines"], options["limitBytes"], _since(request, now), request.timestamps)
    found = ContainerLog(handler(request), started, wanted)
    if follow and not previous and run is not None and run.ended is None:
        uid = pod["metadata"]["uid"]
        return Response(content_type="text/plain", followed=FollowedLog(found, call.path, uid, container, run))
    ended = run.ended if run is not None else None
    return Response(body=Raw(found.read(ended or now)), content_type="text/plain")


def _since(request: LogRequest, now: datetime) -> datetime | None:
    """The time before which lines are left out."""
    if request.since_seconds is not None:
        return now - timedelta(seconds=request.since_seconds)
    text = request.since_time
    return time_of(text) if text and text != "null" else None


def _log_options(call: Call) -> dict[str, int | None]:
    """The numeric options of a log request. Raises 400, 422 (`ValidatePodLogOptions`)."""
    since = parse_int(call.request.query, "sinceSeconds")
    _check_time(call.request.option("sinceTime"))
    tail, limit = (parse_int(call.request.query, name) for name in ("tailLines", "limitBytes"))
    found = {"tailLines": tail, "limitBytes": limit, "sinceSeconds": since}
    errors: list[FieldError] = []
    if tail is not None and tail < 0:
        errors.append(field_invalid("tailLines", tail, "must be greater than or equal to 0"))
    if limit is not None and limit < 1:
        errors.append(field_invalid("limitBytes", limit, "must be greater than 0"))
    if since is not None and call.request.option("sinceTime"):
        errors.append(field_forbidden("[]", "at most one of `sinceTime` or `sinceSeconds` may be specified"))
    elif since is not None and since < 1:
        errors.append(field_invalid("sinceSeconds", since, "must be greater than 0"))
    if call.request.option("stream") is not None:
        errors.append(field_forbidden("stream", "may not be specified"))
    if errors:
        raise invalid("", "PodLogOptions", call.info.name, errors)
    return found


def _check_time(text: str | None) -> None:
    """Raises 400 for a `sinceTime` that is no time."""
    if text and text != "null":
        try:
            time_text(text)
        except InvalidTime as problem:
            raise bad_request(str(problem)) from None


# --- streams ---------------------------------------------------------------------------------------------------------


def exec_(call: Call) -> Response:
    return _command(call, call.server.kubelet.exec, "on_exec", tuple(call.request.query.get("command", ())))


def attach(call: Call) -> Response:
    return _command(call, call.server.kubelet.attach, "on_attach", ())


def _command(
    call: Call, handler: ExecHandler | InteractiveHandler | None, register: str, command: tuple[str, ...]
) -> Response:
    pod = _pod(call)
    container = _container(call, pod)
    if handler is None:
        raise _no_handler(call, pod, register)
    query = call.request.query
    stdin, tty = parse_bool(query, "stdin") or False, parse_bool(query, "tty") or False

    def open() -> Session:
        if is_interactive(handler):
            interactive = cast(InteractiveHandler, handler)
            conversation = conversation_of(interactive, ExecRequest(pod, container, command, b"", tty))
            return InteractiveSession(conversation, command, stdin=stdin)

        def run(data: bytes) -> Any:
            return result_of(cast(ExecHandler, handler)(ExecRequest(pod, container, command, data, tty)))

        return ExecSession(run, command, stdin=stdin)

    return _upgraded(call, open)


def port_forward(call: Call) -> Response:
    pod = _pod(call)
    handler = call.server.kubelet.forward
    if handler is None:
        raise _no_handler(call, pod, "on_port_forward")
    ports = _ports(call.request.query.get("ports", ()))

    def open() -> Session:
        return ForwardSession(lambda port, data: handler(ForwardRequest(pod, port, data)), ports)

    return _upgraded(call, open)


def _ports(texts: Sequence[str]) -> list[int]:
    """The ports of `ports=80,443`, which may be repeated. Raises 400."""
    found = []
    for text in (part for one in texts for part in one.split(",")):
        if not text.isascii() or not text.isdigit() or not 0 < int(text) < 65536:
            raise bad_request(f'unable to parse "{text}" as a port: it must be between 1 and 65535')
        found.append(int(text))
    return found


def _upgraded(call: Call, open: Callable[[], Session]) -> Response:
    """Upgrade the connection to a WebSocket. Raises 400 if the client does not offer a supported protocol."""
    _check_upgrade(call)
    headers = call.request.headers
    if "websocket" not in headers.get("upgrade", "").lower():
        raise bad_request("unable to upgrade: fakekube speaks WebSocket only, not SPDY")
    offered = [one.strip() for one in headers.get("sec-websocket-protocol", "").split(",") if one.strip()]
    protocol = choose(offered)
    if offered and not protocol:
        raise bad_request(f"unable to upgrade: no subprotocol of {', '.join(offered)} is supported")
    return Response(101, upgrade=Upgrade(protocol, open()))


def _check_upgrade(call: Call) -> None:
    """Raises 400 if the request for a stream is not one to upgrade the connection (`httpstream.IsUpgradeRequest`)."""
    if call.info.subresource != "log" and "upgrade" not in call.request.headers.get("connection", "").lower():
        raise bad_request("Upgrade request required")


# --- shared checks ------------------------------------------------------------------------------------------


def _pod(call: Call) -> Object:
    found = call.stored()
    if found is None:
        raise not_found(call.resource.qualified, call.info.name)
    return found.object


def _names(pod: Object, kind: str) -> list[str]:
    return [container.get("name") or "" for container in (pod.get("spec") or {}).get(kind) or ()]


def _container(call: Call, pod: Object) -> str:
    """The requested container; without a request, the only one of the pod. Raises 400."""
    requested, name = call.request.option("container") or "", call.info.name
    containers = _names(pod, "containers")
    known = [*_names(pod, "initContainers"), *containers, *_names(pod, "ephemeralContainers")]
    if requested:
        if requested not in known:
            raise bad_request(f"container {requested} is not valid for pod {name}")
        return requested
    if len(containers) == 1:
        return containers[0]
    text = f"a container name must be specified for pod {name}"
    if containers:
        text += f", choose one of: [{' '.join(known)}]"
    raise bad_request(text)


def _no_handler(call: Call, pod: Object, register: str) -> StatusError:
    """The error of a request without a handler: that of kube-apiserver before it calls the kubelet, else 501."""
    node = (pod.get("spec") or {}).get("nodeName")
    if not node:
        return bad_request(f"pod {call.info.name} does not have a host assigned")
    check_node(call, node)
    _check_upgrade(call)
    advice = call.server.kubelet.advice.format(handler=register)
    return not_implemented(f"{call.info.subresource} of pods without a handler: {advice}")


def check_node(call: Call, name: str) -> None:
    """Raises 404 if the node does not exist, 500 if its status has no addresses (`GetConnectionInfo`)."""
    found = call.server.store.get("nodes", name)
    if found is None:
        raise not_found(call.resource.qualified, name)  # the registry names the resource of the request
    if not (found.object.get("status") or {}).get("addresses"):
        raise internal_error("no preferred addresses found; known addresses: []")


#: (collection, subresource) -> the kind of the connection's options, and the function that opens it.
CONNECTIONS = {
    ("pods", "exec"): ("PodExecOptions", exec_),
    ("pods", "attach"): ("PodAttachOptions", attach),
    ("pods", "portforward"): ("PodPortForwardOptions", port_forward),
}
