"""Detects writes that change nothing, or not what their author intended."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controllerlib.controller import Outcome
from fakekube.apiserver.resource import APPLY_PATCH
from fakekube.apiserver.wire.request import Request
from fakekube.harness.detectors.detector import UPDATES, Doing, Exchange, Scene, meta_of
from fakekube.harness.detectors.levels import Level
from fakekube.harness.detectors.presenttime import has_kept_times, writes_present
from fakekube.harness.detectors.texts.unchanged import why


class NoopWrites:
    """Updates and patches that succeed and change nothing.

    Not reported: renewals of Leases, and writes of the present time: on a cluster, time would have moved, and they
    would change something. Whether they trigger themselves is what the detector of timestamp loops looks for. A time
    that a reconcile has copied from its cache is not the present one. Server-side apply is meant to be repeated: the
    client sends what it wants in each reconcile, and the server compares.
    """

    levels: Mapping[str, Level] = {"noop-write": "warn"}

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        #: by the identity of the reconcile: its writes of what is, or only equals, the present time
        self._stamps: dict[int, list[Exchange]] = {}
        #: by the client, the verb and the path: what was found first
        self._texts: dict[tuple[str, str, str], str] = {}

    def unchanged(self, exchange: Exchange) -> None:
        if exchange.record.resource == "leases" or _is_apply(exchange.request):
            return
        if exchange.request.query and exchange.request.option("dryRun"):
            return
        if not writes_present(exchange.body(), self._scene.now()):
            self._report(exchange)
        elif exchange.doing is not None:
            self._scene.follow(finished=self._finished)
            self._stamps.setdefault(id(exchange.doing), []).append(exchange)

    def _finished(self, doing: Doing, outcome: Outcome) -> None:
        for exchange in self._stamps.pop(id(doing), ()):
            bodies = [sent.body for sent in doing.sent if sent.path == exchange.record.path]
            if bodies and all(has_kept_times(doing, body, self._scene.now()) for body in bodies):
                self._report(exchange)

    def _report(self, exchange: Exchange) -> None:
        record = exchange.record
        key = (exchange.agent, record.verb, record.path)
        if (text := self._texts.get(key)) is None:
            reason = self._reason(exchange)
            text = f"{record} changed nothing{exchange.within}{f': {reason}' if reason else ''}"
            self._texts[key] = text
        self._scene.report("noop-write", text, who=exchange.who, key=key)

    def _reason(self, exchange: Exchange) -> str:
        info, answer = exchange.info, exchange.response.body
        resource = self._scene.runner.apiserver.catalog.find(info.group, info.version, info.resource)
        has_status = resource is not None and "status" in resource.subresources
        stored = answer.to_object() if answer is not None else None
        return why(exchange.record.verb, exchange.body(), stored, exchange.record.subresource, has_status)

    def finish(self) -> None:
        """Nothing is left to report."""


class IgnoredStatus:
    """Writes of a changed status to the main resource, which the server ignores: the kind has a subresource for it."""

    levels: Mapping[str, Level] = {"ignored-status": "error"}
    verbs: frozenset[str] = UPDATES

    def __init__(self, scene: Scene) -> None:
        self._scene = scene

    def answered(self, exchange: Exchange) -> None:
        record = exchange.record
        if record.code != 200 or record.subresource or not exchange.may_name(b"status"):
            return
        body = exchange.body()
        wanted = body.get("status") if isinstance(body, dict) else _patched_status(body)
        if not wanted:
            return
        info = exchange.info
        resource = self._scene.runner.apiserver.catalog.find(info.group, info.version, info.resource)
        if resource is None or "status" not in resource.subresources:
            return
        entry = self._scene.entry(info.path)
        stored = None if entry is None else entry.object.get("status")
        if _is_ignored(record.verb, stored, wanted) and _is_ignored(record.verb, _answered_status(exchange), wanted):
            self._scene.report(
                "ignored-status",
                f"{record} has a changed status, which the server ignores there{exchange.within}: write it to the "
                "subresource status (update_status, patch_status)",
                who=exchange.who,
                key=(exchange.agent, record.verb, info.resource),
            )

    def finish(self) -> None:
        """Nothing is left to report."""


class UnguardedUpdates:
    """Updates of an object that was read, without its resourceVersion: they overwrite what others have changed since.

    An object without a uid was not read, but replaces the stored one on purpose.
    """

    levels: Mapping[str, Level] = {"unguarded-update": "warn"}
    verbs: frozenset[str] = frozenset({"update"})

    def __init__(self, scene: Scene) -> None:
        self._scene = scene

    def answered(self, exchange: Exchange) -> None:
        record = exchange.record
        if record.code != 200 or not exchange.changed:
            return
        meta = meta_of(exchange.body())
        if meta.get("resourceVersion") or not meta.get("uid"):
            return
        self._scene.report(
            "unguarded-update",
            f"{record} sent back an object that was read, without its resourceVersion{exchange.within}: it overwrites "
            "what others have changed meanwhile",
            who=exchange.who,
            key=(exchange.agent, record.resource, record.subresource),
        )

    def finish(self) -> None:
        """Nothing is left to report."""


def _is_apply(request: Request) -> bool:
    """Whether a request is a server-side apply."""
    return request.headers.get("content-type", "").partition(";")[0].strip() == APPLY_PATCH


def _is_ignored(verb: str, stored: Any, wanted: Any) -> bool:
    if verb == "patch":
        return not _contains(_tidied(stored), _tidied(wanted))
    return bool((_tidied(stored) or {}) != (_tidied(wanted) or {}))


def _answered_status(exchange: Exchange) -> Any:
    """The status in the version of the request, to which the stored one may have been converted."""
    body = exchange.response.body
    answer = body.to_object() if body is not None else None
    return answer.get("status") if isinstance(answer, dict) else None


def _patched_status(body: Any) -> Any:
    """What a JSON Patch sets below `/status`, as far as it is not only a test."""
    if not isinstance(body, list):
        return None
    for step in body:
        path = step.get("path", "") if isinstance(step, dict) else ""
        if isinstance(path, str) and (path == "/status" or path.startswith("/status/")) and step.get("op") != "test":
            return {path: step.get("value", "removed")}
    return None


def _tidied(value: Any) -> Any:
    """The value without nulls and empty containers, which typed clients add."""
    if isinstance(value, dict):
        return {key: one for key, raw in value.items() if (one := _tidied(raw)) not in (None, {}, [])}
    return [_tidied(one) for one in value] if isinstance(value, list) else value


def _contains(found: Any, wanted: Any) -> bool:
    if isinstance(wanted, dict):
        return isinstance(found, dict) and all(_contains(found.get(key), one) for key, one in wanted.items())
    return bool(found == wanted)


DETECTORS = (
    IgnoredStatus,
    NoopWrites,
    UnguardedUpdates,
)
