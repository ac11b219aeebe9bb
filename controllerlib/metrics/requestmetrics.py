"""Metrics of a client's requests (client-go: tools/metrics)."""

from typing import Any

from controllerlib.metrics.registry import Registry


def count_requests(registry: Registry, transport: Any) -> None:
    """Count the attempts of a transport that tells of them (`on_answer`) (client-go: metrics)."""
    if getattr(transport, "on_answer", count_requests) is not None:
        return
    requests = registry.family(
        "rest_client_requests_total",
        "Number of HTTP requests, partitioned by status code, method, and host.",
        "counter",
        ("code", "method", "host"),
    )
    transport.on_answer = requests.add
