"""A server without transports: requests are processed by `ApiServer.answer` with a fixed time and fixed randomness."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs

import orjson

from fakekube.apiserver import features
from fakekube.apiserver.admission.enablement import enabled_plugins
from fakekube.apiserver.response import Response
from fakekube.apiserver.storage.store import Change
from fakekube.apiserver.user import ADMIN, User
from fakekube.apiserver.wire.request import Request, RequestInfo, parse
from fakekube.server import bootstrap, initialobjects
from fakekube.server.initialobjects import ClusterOptions

Object = dict[str, Any]

START = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass
class RequestContext:
    """A fixed time, and values derived from the purpose and the key for which they are drawn."""

    time: datetime = START
    suffixes: list[str] = field(default_factory=list)
    draws: Counter[str] = field(default_factory=Counter)

    @property
    def now(self) -> str:
        return self.after(0)

    @property
    def micro(self) -> str:
        return self.time.strftime("%Y-%m-%dT%H:%M:%S.%fZ")

    def after(self, seconds: float) -> str:
        return (self.time + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")

    def uid(self, key: str) -> str:
        self.draws[key] += 1
        return f"uid-{self.draws[key]}-of-{key}"

    def suffix(self, key: str) -> str:
        return self.suffixes.pop(0) if self.suffixes else "xxxxx"

    def fraction(self, purpose: str, key: str) -> float:
        return 0.5


class Api:
    """A new server, with the interface of a client."""

    def __init__(
        self,
        *,
        authorization_mode: str = "AlwaysAllow",
        history_window: int = 20_000,
        version: str = bootstrap.KUBERNETES_VERSION,
        options: ClusterOptions = initialobjects.DEFAULT,
        enable_admission_plugins: Sequence[str] = (),
        disable_admission_plugins: Sequence[str] = (),
        feature_gates: Mapping[str, bool] | None = None,
    ) -> None:
        self.context = RequestContext()
        self.apiserver = bootstrap.api_server(
            START,
            self.context,
            authorization_mode=authorization_mode,
            history_window=history_window,
            version=version,
            options=options,
            admission_plugins=enabled_plugins(enable_admission_plugins, disable_admission_plugins),
            feature_gates=feature_gates,
            fixed_uids=True,  # the initial objects are made once
        )
        self.changes: list[Change] = []
        self.apiserver.on_commit = self.changes.append
        self.needs: list[Any] = []

    @property
    def revision(self) -> int:
        return self.apiserver.store.revision

    def answer(
        self,
        method: str,
        target: str,
        body: Any = b"",
        *,
        user: User = ADMIN,
        during: Any = None,
        reply: Any = None,
        **headers: str,
    ) -> Response:
        """The response. The needs of the request are recorded; `during` is called while it waits.

        `reply` is a function of a need that returns what the request receives for it; without it that is None.
        """
        path, _, query = target.partition("?")
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        request = Request(method, path, parse_qs(query, keep_blank_values=True), sent, body, user)
        step = self.apiserver.answer(request, parse(request), user, self.context)
        version = features.use(self.apiserver.features)
        try:
            need = next(step)
            while True:
                self.needs.append(need)
                if during:
                    during()
                need = step.send(reply(need) if reply else None)
        except StopIteration as end:
            return end.value
        finally:
            features.leave(version)

    def call(self, method: str, target: str, body: Any = b"", **how: Any) -> tuple[int, Any]:
        """Status code and body, which must be the same for direct and HTTP clients."""
        response = self.answer(method, target, body, **how)
        if response.body is None:
            return response.status, None
        shown = response.body.to_object()
        if not isinstance(shown, str):
            assert orjson.loads(response.body.encode()) == shown
        return response.status, shown

    def ok(self, method: str, target: str, body: Any = b"", **how: Any) -> Any:
        code, shown = self.call(method, target, body, **how)
        assert code < 400, shown
        return shown

    def refused(self, method: str, target: str, body: Any = b"", **how: Any) -> tuple[int, str, str]:
        """Code, reason and message of an error. Checks that nothing changed."""
        before = self.revision
        code, shown = self.call(method, target, body, **how)
        assert code >= 400, shown
        assert self.revision == before, "a refusal that wrote"
        if isinstance(shown, str):
            return code, "", shown
        assert (shown["kind"], shown["status"], shown["code"]) == ("Status", "Failure", code)
        return code, shown.get("reason", ""), shown["message"]


def info(verb: str = "get", resource: str = "pods", **more: Any) -> RequestInfo:
    return RequestInfo(verb=verb, path="", is_resource=True, version="v1", resource=resource, **more)


CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
BACKUPS = "/apis/example.com/v1/namespaces/default/backups"


def configmap(name: str = "a", **more: Any) -> Object:
    meta = {"name": name, **more.pop("metadata", {})}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, **more}


def pod(name: str = "a", **more: Any) -> Object:
    meta = {"name": name, **more.pop("metadata", {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {}, **more}


def definition(plural: str = "backups", kind: str = "Backup", **spec: Any) -> Object:
    """A CustomResourceDefinition of example.com, with a status subresource."""
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
        "subresources": {"status": {}},
    }
    names = {"plural": plural, "singular": kind.lower(), "kind": kind, "shortNames": [plural[:2]]}
    whole = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version], **spec}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.example.com"},
        "spec": whole,
    }


def backup(name: str = "nightly", **more: Any) -> Object:
    meta = {"name": name, **more.pop("metadata", {})}
    return {"apiVersion": "example.com/v1", "kind": "Backup", "metadata": meta, **more}
