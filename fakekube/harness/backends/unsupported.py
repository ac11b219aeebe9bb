"""Skips tests that need more than the API of a cluster."""

from __future__ import annotations

from typing import Any, NoReturn

#: What the methods and properties of FakeKube need beyond the API. Others of FakeKube need the server itself.
NEEDS = {
    "the clock": (
        "advance", "advance_to", "advance_until", "clock", "bubble", "why", "thread", "assert_no_writes_at_rest",
        "always", "never", "eventually",
    ),
    "faults": ("fault", "hold", "kill", "restart", "compact", "cut_watches"),
    "the server's store": (
        "snapshot", "restore", "force_state", "versions", "diff", "export", "assert_state", "golden", "noop_writes",
        "assert_written",
    ),
    "the server's request log": ("requests", "log", "rbac_report", "assert_requests"),
    "the cluster's own controllers and nodes": ("controller", "metrics", "add_node", "node", "pods", "add_stages"),
    "a simulated kubelet": ("on_logs", "on_exec", "on_attach", "on_port_forward"),
    "webhooks in virtual time": ("serve_webhook", "map_service", "inject_ca_bundle", "ca_bundle"),
}  # fmt: skip

_REASONS = {name: reason for reason, names in NEEDS.items() for name in names}


def reason(name: str) -> str:
    """What a name of FakeKube needs."""
    return _REASONS.get(name, "fakekube's own server")


def skip(needed: str, what: str, backend: str) -> NoReturn:
    """Skip the test that runs: `needs the clock: advance() is not available on backend envtest`."""
    import pytest

    pytest.skip(f"needs {needed}: {what} is not available on backend {backend}")


class Unsupported:
    """A method that skips the test when it is called."""

    def __init__(self, name: str, backend: str) -> None:
        self._name, self._backend = name, backend

    def __call__(self, *args: Any, **options: Any) -> NoReturn:
        skip(reason(self._name), f"{self._name}()", self._backend)
