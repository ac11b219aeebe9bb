"""A Kubernetes API server for tests: it answers as kube-apiserver answers, owns time, and knows why."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fakekube.cluster import FakeKube
    from fakekube.core.authentication import User

__all__ = ["FakeKube", "User"]


def __getattr__(name: str) -> Any:
    # doors, not imports: this package is imported by every pytest run on the machine
    if name == "FakeKube":
        from fakekube.cluster import FakeKube

        return FakeKube
    if name == "User":
        from fakekube.core.authentication import User

        return User
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
