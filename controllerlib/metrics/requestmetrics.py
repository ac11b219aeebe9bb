"""Metrics of a client's requests (client-go: tools/metrics)."""

from typing import Any

from controllerlib.metrics.registry import Registry


def count_requests(registry: Registry, transport: Any) -> None:
    """Count the requests of a transport that has the callback `on_answer`, unless it is set already."""
    if getattr(transport, "on_answer", count_requests) is not None:
        return
    requests = registry.family(
        "rest_client_requests_total",
        "Number of HTTP requests, partitioned by status code, method, and host.",
        "counter",
        ("code", "method", "host"),
    )
    transport.on_answer = requests.add
