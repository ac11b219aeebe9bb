"""Asking conversion webhooks: a request waits until all that it stores and shows is known in the versions it takes.

A verb that meets an object whose conversion is not known is begun again once it is: until it commits it has changed
nothing. What a write is about to store is therefore made known before it commits, in every version that is served, as
the real server's caches of each version have it; watches then find all that they tell.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import Any

from fakekube.apiserver.admission.webhooks import post
from fakekube.apiserver.call import Call, Step
from fakekube.apiserver.crd.conversionwebhook import TIMEOUT, Unconverted
from fakekube.apiserver.crd.custom import CustomVersion
from fakekube.apiserver.needs import Need, Posts, Reply
from fakekube.apiserver.response import Response, StoredList, StoredObject
from fakekube.apiserver.storage.store import Entry
from fakekube.apiserver.wire.status import StatusError

Object = dict[str, Any]

#: Verbs that show many objects: their conversions are asked for at once.
MANY = frozenset({"list", "watch", "deletecollection"})


def answered(call: Call, handler: Callable[[Call], Step]) -> Step:
    """What a verb answers, every object in it known in the version that it is shown in."""
    custom = call.custom
    if custom is None or custom.webhook is None:
        return (yield from handler(call))
    warnings = list(call.warnings)
    while True:
        try:
            response: Response = yield from handler(call)
            break
        except Unconverted as asked:
            call.warnings[:] = warnings
            yield from _ask(call, _widened(call, custom, asked))
    while (unknown := custom.unconverted([entry.object for entry in _entries(call, response)])) is not None:
        yield from _ask(call, unknown)
    return response


def prepare(call: Call, obj: Object) -> Generator[Need, Any, None]:
    """Make known what a write stores, and how every version shows it. Raises 500 where the request's own cannot be."""
    custom = call.custom
    if custom is None or custom.webhook is None:
        return
    while True:
        try:
            stored = custom.write(obj)
            break
        except Unconverted as asked:
            yield from _ask(call, asked)
    questions = [(one, unknown) for one in _served(call) if (unknown := one.unconverted([stored])) is not None]
    if not questions:
        return
    problems = yield from _ask_all(call, [unknown for _, unknown in questions])
    for (one, _), problem in zip(questions, problems, strict=True):
        if problem is not None and one is custom:
            raise problem


def _served(call: Call) -> Iterator[CustomVersion]:
    for resource in call.server.catalog.resources():
        if resource.collection == call.resource.collection:
            found = call.server.custom(resource)
            if found is not None:
                yield found


def _widened(call: Call, custom: CustomVersion, asked: Unconverted) -> Unconverted:
    """Where many objects are to be shown, all of them."""
    if call.info.verb not in MANY:
        return asked
    collection = call.server.store.collection(call.resource.collection)
    prefix = f"{call.namespace}/" if call.namespace else ""
    found = custom.unconverted([entry.object for _, entry in collection.scan(prefix, "", None)])
    return found if found is not None and found.api_version == asked.api_version else asked


def _entries(call: Call, response: Response) -> Iterator[Entry]:
    body, watch = response.body, response.watch
    if isinstance(body, StoredObject):
        yield body.entry
    elif isinstance(body, StoredList):
        yield from body.entries
    if watch is not None and watch.refused is None:
        yield from (event.entry for event in watch.initial if event.type != "BOOKMARK")
        if call.server.store.readable(watch.revision):
            for change in call.server.store.since(call.resource.collection, watch.revision):
                yield from (entry for entry in (change.before, change.after) if entry is not None)


def _ask(call: Call, asked: Unconverted) -> Generator[Need, Any, None]:
    """Raises 500 where there is no answer, or a wrong one."""
    for problem in (yield from _ask_all(call, [asked])):
        if problem is not None:
            raise problem


def _ask_all(call: Call, questions: list[Unconverted]) -> Generator[Need, Any, list[StatusError | None]]:
    """What is wrong with the answer to each."""
    uids = [call.context.uid(f"conversion/{call.resource.collection}/{one.api_version}") for one in questions]
    posts = [
        post(one.webhook.config, one.webhook.review(one, uid), TIMEOUT)
        for one, uid in zip(questions, uids, strict=True)
    ]
    replies: list[Reply] = yield Posts(tuple(posts))
    problems: list[StatusError | None] = []
    for one, uid, reply in zip(questions, uids, replies, strict=True):
        try:
            one.webhook.learn(one, uid, reply.document, reply.problem)
            problems.append(None)
        except StatusError as problem:
            problems.append(problem)
    return problems
