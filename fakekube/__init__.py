"""A Kubernetes API server for tests: it answers as kube-apiserver answers, owns time, and knows why."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fakekube.cluster import FakeKube

__all__ = ["FakeKube"]


def __getattr__(name: str) -> Any:
    # a door, not an import: this package is imported by every pytest run on the machine
    if name == "FakeKube":
        from fakekube.cluster import FakeKube

        return FakeKube
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
