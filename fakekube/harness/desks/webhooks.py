"""The desk `fakekube.webhooks`: webhooks that the test serves, and the Services that lead to them."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.needs import Service
from fakekube.harness.connecting.webhookserver import CONFIGURATIONS, WebhookServers, trusting
from fakekube.harness.members import Need, changes, reads, steps
from fakekube.harness.objects import Objects


class Webhooks:
    """Webhooks and aggregated APIs of a test."""

    def __init__(self, servers: WebhookServers, objects: Objects) -> None:
        self._servers, self._objects = servers, objects

    @steps(Need.WEBHOOKS)
    def serve(self, handler: Any, *, service: str, namespace: str = "default", port: int = 443) -> str:
        """Serve an application over HTTPS, as a Service that webhook configurations can name.

        handler: an aiohttp handler or `web.Application`, a WSGI application (Flask), or an ASGI application (FastAPI).
        Returns its URL, which they can name instead. Raises ValueError if a webhook is served as that Service already,
        TypeError for anything else than an application.
        """
        return self._servers.serve(handler, Service(namespace, service, port))

    @changes(Need.WEBHOOKS)
    def map_service(self, service: str, url: str, *, namespace: str = "default") -> None:
        """Reach the webhooks and the aggregated APIs of a Service at `url`, like `https://127.0.0.1:9443`.

        Without it they are reached at a ready endpoint of the Service. The server there is verified as usual: its
        certificate is for `SERVICE.NAMESPACE.svc`, and signed by the caBundle of the configuration. Raises ValueError
        for another URL.
        """
        self._servers.map(Service(namespace, service, 0), url)

    @property
    @reads(Need.WEBHOOKS)
    def ca_bundle(self) -> str:
        """The `caBundle` for webhooks that are served here: the CA's certificate, PEM in base64."""
        return self._servers.ca_bundle

    @changes(Need.WEBHOOKS)
    def inject_ca_bundle(self) -> None:
        """Set the caBundle of webhooks and APIServices that name a Service and have none, as cert-manager does."""
        for api_version, kind in CONFIGURATIONS:
            for obj in self._objects.list(api_version, kind, None):
                changed = trusting(dict(obj), self.ca_bundle)
                if changed is not None:
                    self._objects.update(changed, "")
