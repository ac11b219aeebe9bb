"""The cluster's address for clients: the listening server, kubeconfig files and the official client."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack, ExitStack
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from fakekube.apiserver.auth.authentication import authenticated
from fakekube.apiserver.user import ADMIN, User
from fakekube.server import kubeconfig
from fakekube.server.runner import ServerRunner
from fakekube.virtualtime.simulatedprocess import HARNESS, running_in

if TYPE_CHECKING:
    from fakekube.server.certificates import Authority
    from fakekube.server.http import HttpServer
    from fakekube.virtualtime.network.network import Network

T = TypeVar("T")


def _namespace(user: User | None) -> str:
    """The namespace of a service account; that of others is `default`."""
    parts = user.name.split(":") if user is not None else []
    return parts[2] if parts[:2] == ["system", "serviceaccount"] else "default"


@lru_cache(maxsize=1)
def _authority() -> Authority:
    """One for the process: to create keys takes longer than to create a cluster."""
    from fakekube.server.certificates import Authority

    return Authority(secret=1)


class Endpoint:
    """Starts to listen when the address is first read; `drive` runs a coroutine from sync code.

    `tokens`: the bearer tokens that the server accepts. `admin`: the one that clients created here send.
    """

    admin: str

    def __init__(
        self,
        runner: ServerRunner,
        drive: Callable[[Coroutine[Any, Any, None]], None],
        tokens: dict[str, User],
        admin: str = "",
        *,
        network: Network,
    ) -> None:
        self._runner, self._drive, self._tokens, self.admin = runner, drive, tokens, admin
        self._network = network
        self._server: HttpServer | None = None
        self._secure: HttpServer | None = None
        self._serving = AsyncExitStack()
        self._leave = ExitStack()
        self._kubeconfig: Path | None = None

    def __repr__(self) -> str:
        return self._server.url if self._server else "not listening"

    @property
    def url(self) -> str:
        if self._server is None:
            self._drive(self.listen())
        assert self._server is not None
        return self._server.url

    async def listen(self) -> None:
        if self._server is None:
            from fakekube.server.directhttp import HttpConversation
            from fakekube.server.http import listen

            with running_in(HARNESS):  # whoever reads the address first
                self._server = await self._serving.enter_async_context(listen(self._runner))
            self._network.answer_in_place(self._server.port, partial(HttpConversation, self._runner))

    def disconnect(self) -> set[int]:
        """Break all connections. Returns the ports of the server; none if it does not listen."""
        servers = [server for server in (self._server, self._secure) if server is not None]
        for server in servers:
            server.abort_connections()
        return {server.port for server in servers}

    @property
    def kubeconfig(self) -> Path:
        if self._kubeconfig is None:
            folder = self._leave.enter_context(tempfile.TemporaryDirectory(prefix="fakekube-"))
            path = Path(folder, "kubeconfig")
            kubeconfig.write(path, self.url, token=self.admin)
            self._kubeconfig = path
        return self._kubeconfig

    def configure(self, user: User | None = None) -> None:
        """Point the configuration of every client at the server, as `user` if given, until the endpoint is closed."""
        from fakekube.harness.connecting.configuration import configured

        token = self.admin if user is None else self.token_of(user)
        folder = Path(self._leave.enter_context(tempfile.TemporaryDirectory(prefix="fakekube-")))
        path = folder / "kubeconfig"
        kubeconfig.write(path, self.url, token=token)
        self._drive(self.listen_securely())
        assert self._secure is not None
        (folder / "ca.crt").write_bytes(_authority().certificate)
        (folder / "namespace").write_text(_namespace(user))
        (folder / "token").write_text(token or self.token_of(ADMIN))
        self._leave.enter_context(configured(path, folder, "127.0.0.1", self._secure.port))

    async def listen_securely(self) -> None:
        """Listen with TLS beside the plain address, as in a cluster, where pods reach the server by TLS only."""
        from fakekube.server.directhttp import HttpConversation
        from fakekube.server.http import listen

        if self._secure is None:
            tls = _authority().server_context(["127.0.0.1", "localhost"])
            address, secure = self._runner.apiserver.address, self._runner.apiserver.secure
            self._secure = await self._serving.enter_async_context(listen(self._runner, tls=tls))
            self._network.answer_in_place(self._secure.port, partial(HttpConversation, self._runner), tls)
            self._runner.apiserver.address, self._runner.apiserver.secure = address, secure

    def api_client(self, user: User | None = None) -> Any:
        """An official `kubernetes.client.ApiClient`, with a token of `user` if given; closed with the endpoint."""
        from kubernetes import client

        token = self.admin if user is None else self.token_of(user)
        configuration = client.Configuration(host=self.url)
        made = self._leave.enter_context(client.ApiClient(configuration))
        self._leave.callback(_disconnect, made.rest_client.pool_manager)
        if token:
            made.set_default_header("Authorization", f"Bearer {token}")
        return made

    def token_of(self, user: User) -> str:
        """A token for a user. Raises ValueError if another user of that name has one."""
        user, token = authenticated(user), f"token-of-{user.name}"
        if self._tokens.setdefault(token, user) != user:
            raise ValueError(f"another user has the name {user.name!r}: {self._tokens[token]}")
        return token

    async def aclose(self) -> None:
        """Stop listening; open watches end first."""
        await self._serving.aclose()

    def forget_clients(self) -> None:
        """Close the clients and remove the files that were created here."""
        self._leave.close()


def _disconnect(manager: Any) -> None:
    """Close the connections of a client of urllib3: before kubernetes 37, the client's `close` does not."""
    for key in manager.pools.keys():  # noqa: SIM118 - it cannot be iterated
        manager.pools[key].close()
