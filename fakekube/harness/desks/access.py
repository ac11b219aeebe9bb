"""The desk `fakekube.access`: the server's address, clients and credentials, and what they may do."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from fakekube.harness.connecting.users import acting, user_of
from fakekube.harness.members import Need, changes, reads, steps

if TYPE_CHECKING:
    from fakekube.apiserver.user import User
    from fakekube.harness.accessreport import AccessReport


class Address(Protocol):
    """The server, as clients reach it."""

    @property
    def url(self) -> str: ...

    @property
    def kubeconfig(self) -> Path: ...

    def configure(self, user: User | None) -> None: ...

    def api_client(self, user: User | None) -> Any: ...

    def transport(self, user: User | None) -> Any: ...

    def access_report(self, user: User) -> AccessReport: ...


class Access:
    """How clients reach the cluster, and as whom.

    A user is a `fakekube.User`, or the name of one; a service account is `namespace/name`.
    """

    def __init__(self, backend: str, address: Address) -> None:
        self._backend, self._address = backend, address

    @property
    @reads()
    def backend(self) -> str:
        """Which API server this is: "fakekube", "envtest" or "cluster"."""
        return self._backend

    @property
    @reads()
    def url(self) -> str:
        """The address of the server, which listens on a free port of 127.0.0.1 when this is first read."""
        return self._address.url

    @property
    @reads()
    def kubeconfig(self) -> Path:
        """The path of a kubeconfig file for this cluster, which is removed when it closes."""
        return self._address.kubeconfig

    @steps(Need.SERVER)
    def configure(self, *, service_account: str = "", user: User | str | None = None) -> None:
        """Point the configuration that operators load themselves at this cluster, until it closes.

        For every client: `KUBECONFIG`, also where a client has read it already; the files and the address that
        `load_incluster_config()` reads; default configurations are restored. As a service account, as a user, or by
        default as the administrator.
        """
        self._address.configure(acting(service_account, user))

    @steps()
    def api_client(self, *, user: User | str | None = None) -> Any:
        """An official `kubernetes.client.ApiClient` for this cluster, as `user` (with `rbac=True`); closed with it."""
        return self._address.api_client(user_of(user))

    @changes()
    def transport(self, *, user: User | str | None = None) -> Any:
        """A transport of controllerlib, by default as the administrator:
        `controllerlib.Client(fakekube.access.transport(), user_agent="mine/1.0")`.
        """
        return self._address.transport(user_of(user))

    @reads(Need.REQUESTS)
    def rbac_report(self, *, service_account: str = "", user: User | str | None = None) -> AccessReport:
        """Compares what a service account or a user did with the roles that are bound to it.

        The report has used, missing and unused permissions, and minimal roles. It also works without `rbac=True`: then
        no request is denied, and the report has all missing permissions at once.
        """
        found = acting(service_account, user)
        if found is None:
            raise ValueError("rbac_report() needs service_account= or user=")
        return self._address.access_report(found)
