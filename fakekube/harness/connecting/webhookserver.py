"""Serves a test's webhooks over HTTPS, as the Services that webhook configurations name."""

from __future__ import annotations

import base64
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

from fakekube.apiserver.needs import Service
from fakekube.server.runner import ServerRunner
from fakekube.server.webhookclient import base_url

if TYPE_CHECKING:
    from fakekube.server.certificates import Authority

#: The kinds that configure webhooks and aggregated API servers: apiVersion and kind.
CONFIGURATIONS = (
    ("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration"),
    ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"),
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
    ("apiregistration.k8s.io/v1", "APIService"),
)


class WebhookServers:
    """Serves webhooks until the cluster is closed; `drive` runs a coroutine from sync code.

    `secret`: the number that the CA follows from. `failed` is called with what a handler raises.
    """

    def __init__(
        self,
        runner: ServerRunner,
        drive: Callable[[Coroutine[Any, Any, None]], None],
        secret: int,
        failed: Callable[[BaseException], None],
    ) -> None:
        self._runner, self._drive, self._secret, self._failed = runner, drive, secret, failed
        self._serving = AsyncExitStack()
        self._made: Authority | None = None

    @property
    def authority(self) -> Authority:
        """The CA that signs their certificates, created on first use."""
        if self._made is None:
            from fakekube.server.certificates import Authority

            self._made = Authority(self._secret)
        return self._made

    @property
    def ca_bundle(self) -> str:
        """The CA's certificate as a `caBundle`: PEM, in base64."""
        return base64.b64encode(self.authority.certificate).decode()

    def serve(self, handler: Any, service: Service) -> str:
        """Serve an application as a Service; returns its address (`https://host:port`). Raises TypeError."""
        if service in self._runner.webhooks.services:
            raise ValueError(f"service={service.name!r}: a webhook is served as {service} already")
        self._drive(self._listen(handler, service))
        return self._runner.webhooks.services[service]

    def map(self, service: Service, url: str) -> None:
        """Reach a Service at an address. Raises ValueError for a URL that is not one of a host."""
        self._runner.webhooks.services[service] = base_url(url)
        self._runner.apiserver.controllers.check_api_services()

    async def _listen(self, handler: Any, service: Service) -> None:
        from fakekube.server.http import listen_for

        names = (f"{service.name}.{service.namespace}.svc", "localhost", "127.0.0.1")
        tls = self.authority.server_context(names)
        url = await self._serving.enter_async_context(listen_for(handler, tls, self._failed))
        self._runner.webhooks.services[service] = url
        self._runner.apiserver.controllers.check_api_services()

    async def aclose(self) -> None:
        """Stop serving."""
        self._runner.webhooks.services.clear()
        await self._serving.aclose()


def trusting(obj: dict[str, Any], ca_bundle: str) -> dict[str, Any] | None:
    """A configuration (see CONFIGURATIONS) with `ca_bundle` for its Services; None if nothing changes.

    Webhooks and APIServices with a caBundle are left as they are, also those without a Service, and those that verify
    no certificates.
    """
    if "webhooks" in obj:
        hooks = [_with_ca(hook, ca_bundle) for hook in obj["webhooks"]]
        return {**obj, "webhooks": hooks} if hooks != obj["webhooks"] else None
    spec = obj.get("spec") or {}
    if "groupPriorityMinimum" in spec:
        unverified = spec.get("caBundle") or spec.get("insecureSkipTLSVerify")
        return None if unverified or "service" not in spec else {**obj, "spec": {**spec, "caBundle": ca_bundle}}
    conversion = (obj.get("spec") or {}).get("conversion") or {}
    webhook = conversion.get("webhook")
    if not webhook:
        return None
    changed = _with_ca(webhook, ca_bundle)
    if changed == webhook:
        return None
    return {**obj, "spec": {**obj["spec"], "conversion": {**conversion, "webhook": changed}}}


def _with_ca(hook: dict[str, Any], ca_bundle: str) -> dict[str, Any]:
    config = hook.get("clientConfig") or {}
    if config.get("caBundle") or "service" not in config:
        return hook
    return {**hook, "clientConfig": {**config, "caBundle": ca_bundle}}
