"""The address, the clients and the credentials of a cluster under virtual time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fakekube.apiserver.user import User
from fakekube.harness import accessreport
from fakekube.harness.assembly import Assembly
from fakekube.harness.members import check_reachable
from fakekube.server.direct import DirectTransport


class DirectAddress:
    """Implements `fakekube.harness.desks.access.Address` for a cluster under virtual time."""

    def __init__(self, assembly: Assembly) -> None:
        self._parts = assembly

    @property
    def url(self) -> str:
        check_reachable("access.url", is_closed=self._parts.is_closed())
        return self._parts.endpoint.url

    @property
    def kubeconfig(self) -> Path:
        check_reachable("access.kubeconfig", is_closed=self._parts.is_closed())
        return self._parts.endpoint.kubeconfig

    def configure(self, user: User | None) -> None:
        self._parts.endpoint.configure(user)

    def api_client(self, user: User | None) -> Any:
        return self._parts.endpoint.api_client(user)

    def transport(self, user: User | None) -> DirectTransport:
        return self._parts.transport(user)

    def access_report(self, user: User) -> Any:
        self._parts.ledger.inspect_errors(user.name)
        return accessreport.report(self._parts.server.apiserver.store, self._parts.server.log, user)
