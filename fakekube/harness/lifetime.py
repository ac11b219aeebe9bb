"""Refuses the methods of a cluster that is not open yet, or closed: what they would run on does not run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn

#: What needs a running event loop.
STEPS = (
    "settle", "advance", "advance_to", "advance_until", "start", "restart", "stop", "kill", "pause", "resume", "task",
    "thread", "signal", "run_process", "wait_for", "wait_until_quiet", "eventually", "assert_no_writes_at_rest",
    "restart_server", "add_node", "configure", "api_client", "serve_webhook",
)  # fmt: skip

#: What changes the cluster. Objects and records can be read when it is closed.
_CHANGES = (
    "apply", "create", "update", "patch", "delete", "load", "force_state", "restore", "inject_ca_bundle", "take_lease",
    "operator", "transport", "fault", "compact", "hold", "jump", "cut_watches", "always", "never", "map_service",
    "add_stages", "on_logs", "on_exec", "on_attach", "on_port_forward",
)  # fmt: skip

_NOT_OPEN = "the cluster is not open: use the fixture `fakekube`, or `with FakeKube() as fakekube:`"
_CLOSED = (
    "this cluster is closed: its records (timeline, ledger, requests(), versions(), log()) and objects can be read; "
    "make a new cluster for what follows"
)


def _refusing(names: Iterable[str], text: str) -> Mapping[str, Callable[..., NoReturn]]:
    def refusal(name: str) -> Callable[..., NoReturn]:
        def refuse(*args: Any, **options: Any) -> NoReturn:
            raise RuntimeError(f"{name}(): {text}")

        return refuse

    return {name: refusal(name) for name in names}


#: Attributes of an instance that hide its methods.
NOT_OPEN = _refusing(STEPS, _NOT_OPEN)
CLOSED = _refusing((*STEPS, *_CHANGES), _CLOSED)


def check_can_open(*, is_open: bool, is_closed: bool) -> None:
    """Raises RuntimeError for a cluster that is, or was, open."""
    if is_open:
        raise RuntimeError("this cluster is open already: use it, without another `with`")
    if is_closed:
        raise RuntimeError(
            "this cluster is closed, and cannot be opened again: make a new one, `with FakeKube() as ...`"
        )


def check_reachable(name: str, *, is_closed: bool) -> None:
    """Raises RuntimeError for the address of a closed cluster."""
    if is_closed:
        raise RuntimeError(f"{name}: {_CLOSED}")
