"""Conversion of custom resources by webhook during a request (`apiserver/conversion.crConverter`).

All objects of a request are converted in one call of the webhook, and all events of a batch of a watch. As in
kube-apiserver, every read calls the webhook.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from typing import Any

from fakekube.apiserver.apply.pathelement import encoded
from fakekube.apiserver.apply.typed import Mismatch
from fakekube.apiserver.call import Call
from fakekube.apiserver.crd.conversionwebhook import TIMEOUT, ConversionWebhook
from fakekube.apiserver.needs import Making, Need, Posts, Reply, Waiting, webhook_post
from fakekube.apiserver.registry.registration import Registration
from fakekube.apiserver.storage.store import Entry
from fakekube.apiserver.wire.status import StatusError

Object = dict[str, Any]


def read(call: Call, entries: Iterable[Entry]) -> Waiting:
    """Convert stored entries to the version of the request; `Call.shown` returns the results. Raises 500."""
    known, version = call.converted, call.registration.version
    if known is None or version is None:
        return
    others: list[Object] = []
    before: list[Object] = []
    for entry in entries:
        obj = entry.object
        if id(obj) in known:
            continue
        source = version.source(entry)
        decoded = source.decoded(obj)
        known[id(obj)] = (obj, decoded)
        if source is not version:
            others.append(obj)
            before.append(source.whole(decoded))
    if others:
        assert version.webhook is not None, "no webhook, no converted objects"
        found = yield from _converted(call, version.webhook, before, version.api_version)
        for obj, made in zip(others, found, strict=True):
            known[id(obj)] = (obj, version.pruned(made))


def written(call: Call, obj: Object) -> Generator[Need, Any, Object]:
    """The stored form of an object of the request's version. Raises 500."""
    return (yield from _to_stored(call, call.registration, obj))


def between(call: Call, obj: Object, source: Registration, target: Registration) -> Generator[Need, Any, Object]:
    """Convert an object from one version of a resource to another. Raises 500."""
    stored = yield from _to_stored(call, source, obj)
    version = target.version
    if version is None or not version.converts_on_write:
        return _read(target, stored)
    assert version.webhook is not None, "a version that converts has a webhook"
    whole = version.storage.whole(version.storage.decoded(stored))
    (found,) = yield from _converted(call, version.webhook, [whole], version.api_version)
    return version.pruned(found)


def converted(obj: Object, source: Registration, target: Registration) -> Object:
    """An object, or a part of one, of a built-in resource in another version."""
    obj = {**obj, "metadata": obj.get("metadata") or {}}  # Go's types always have metadata
    return _read(target, _write(source, obj))


def _write(source: Registration, obj: Object) -> Object:
    return source.write(obj) if source.write is not None else obj


def _read(target: Registration, stored: Object) -> Object:
    return target.read(Entry(0, stored, target.stored_version)) if target.read is not None else stored


class Unconverted(Exception):
    """An object that a pure function needs in another version, before the webhook has converted it."""

    def __init__(self, obj: Object, source: str, target: str) -> None:
        super().__init__(f"not converted from {source} to {target}")
        self.obj: Object = obj
        self.source: str = source
        self.target: str = target


def remembered(call: Call, obj: Object, source: str, target: str) -> Object:
    """An object that the webhook has converted for this request. Raises Unconverted, or Mismatch if that failed."""
    found = call.conversions.get((source, target, encoded(obj)))
    if found is None:
        raise Unconverted(obj, source, target)
    if isinstance(found, str):
        raise Mismatch(found)
    return found


def completed(call: Call, make: Callable[[], Object | Making]) -> Making:
    """The result of what uses `remembered`: it starts again after each conversion."""
    warnings = len(call.warnings)
    while True:
        try:
            made = make()
            return made if isinstance(made, dict) else (yield from made)
        except Unconverted as missing:
            del call.warnings[warnings:]
            obj, source, target = missing.obj, missing.source, missing.target
        version = call.registration.version
        assert version is not None, "only custom resources are converted by webhooks"
        known = version.sibling(source)
        assert version.webhook is not None, "a version that converts has a webhook"
        assert known is not None, "the version of the object exists"
        result: Object | str
        try:
            (result,) = yield from _converted(call, version.webhook, [known.whole(obj)], target)
        except StatusError as problem:
            result = problem.message
        call.conversions[source, target, encoded(obj)] = result


def _to_stored(call: Call, source: Registration, obj: Object) -> Generator[Need, Any, Object]:
    version = source.version
    if version is None or not version.converts_on_write:
        return _write(source, obj)
    assert version.webhook is not None, "a version that converts has a webhook"
    (found,) = yield from _converted(call, version.webhook, [version.whole(obj)], version.storage.api_version)
    return version.storage.pruned(found)


def _converted(
    call: Call, webhook: ConversionWebhook, objects: Sequence[Object], api_version: str
) -> Generator[Need, Any, list[Object]]:
    uid = call.context.uid(f"conversion/{call.resource.collection}/{api_version}")
    reply: Reply
    (reply,) = yield Posts((webhook_post(webhook.config, webhook.review(objects, api_version, uid), TIMEOUT),))
    found = webhook.converted(objects, api_version, uid, reply.document, reply.problem)
    return [{key: value for key, value in obj.items() if key not in ("apiVersion", "kind")} for obj in found]
