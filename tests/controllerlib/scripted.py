"""A scripted ListerWatcher, and a store that logs its calls."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from controllerlib.client.errors import ApiError, from_status
from controllerlib.client.listoptions import ListOptions
from controllerlib.client.names import Object
from tests.controllerlib.fakeapi import status
from tests.controllerlib.objects import named


@dataclass(frozen=True)
class Wait:
    """A delay of the stream in seconds."""

    seconds: float


#: The end of the stream.
CLOSE = "close"

Step = Wait | str | dict[str, Any]
#: The result of a list: objects and a version, an error, or a function of the options.
ListAnswer = tuple[Sequence[Any], str] | BaseException | Callable[[ListOptions], Any]
WatchAnswer = Sequence[Step] | BaseException


def added(obj: Any) -> dict[str, Any]:
    return {"type": "ADDED", "object": obj}


def modified(obj: Any) -> dict[str, Any]:
    return {"type": "MODIFIED", "object": obj}


def deleted(obj: Any) -> dict[str, Any]:
    return {"type": "DELETED", "object": obj}


def error(code: int, reason: str, message: str = "") -> dict[str, Any]:
    return {"type": "ERROR", "object": status(code, reason, message)}


def bookmark(version: str | int, end: str = "") -> dict[str, Any]:
    """Return a bookmark; `end="true"` ends a streamed list."""
    meta: dict[str, Any] = {"resourceVersion": str(version)}
    if end:
        meta["annotations"] = {"k8s.io/initial-events-end": end}
    return {"type": "BOOKMARK", "object": {"metadata": meta}}


def refusal(code: int, reason: str, message: str = "") -> ApiError:
    return from_status(status(code, reason, message))


EXPIRED = refusal(410, "Expired", "too old resource version")
TOO_MANY = refusal(429, "TooManyRequests")


class Stream:
    def __init__(self, steps: Sequence[Step]) -> None:
        self._steps = iter(steps)
        self.closed = False

    def __aiter__(self) -> "Stream":
        return self

    async def __anext__(self) -> dict[str, Any]:
        loop = asyncio.get_running_loop()
        for step in self._steps:
            if isinstance(step, Wait):
                done = loop.create_future()
                loop.call_later(step.seconds, done.set_result, None)
                await done
            elif isinstance(step, str):
                raise StopAsyncIteration
            else:
                return step
        never: asyncio.Future[dict[str, Any]] = loop.create_future()
        return await never

    async def aclose(self) -> None:
        self.closed = True


class Scripted:
    """Answers lists and watches in the order of the script; the last answer of each is repeated."""

    def __init__(
        self, lists: Sequence[ListAnswer] = (([], "1"),), watches: Sequence[WatchAnswer] = ((),), *,
        streaming: bool = False,
    ) -> None:  # fmt: skip
        self._lists, self._watches = list(lists), list(watches)
        self.watch_list_unsupported = not streaming
        #: "list rv=0 limit=500" · "watch rv=1" · "stream rv="
        self.calls: list[str] = []
        self.at: list[float] = []
        self.timeouts: list[int | None] = []
        self.streams: list[Stream] = []

    def times(self, verb: str) -> list[float]:
        return [at for at, call in zip(self.at, self.calls, strict=True) if call.startswith(verb)]

    def made(self, verb: str) -> list[str]:
        return [call for call in self.calls if call.startswith(verb)]

    async def list(self, options: ListOptions) -> Object:
        limit = f" limit={options.limit}" if options.limit else ""
        token = f" continue={options.continue_token}" if options.continue_token else ""
        self._note(f"list rv={options.resource_version}{limit}{token}")
        answer = self._next(self._lists)
        if callable(answer):
            answer = answer(options)
        if isinstance(answer, BaseException):
            raise answer
        if isinstance(answer, dict):
            return answer
        return {"kind": "PodList", "metadata": {"resourceVersion": answer[1]}, "items": list(answer[0])}

    async def watch(self, options: ListOptions) -> Stream:
        self._note(f"{'stream' if options.send_initial_events else 'watch'} rv={options.resource_version}")
        self.timeouts.append(options.timeout_seconds)
        answer = self._next(self._watches)
        if isinstance(answer, BaseException):
            raise answer
        self.streams.append(Stream(answer))
        return self.streams[-1]

    def _note(self, call: str) -> None:
        self.calls.append(call)
        self.at.append(asyncio.get_running_loop().time())

    @staticmethod
    def _next(answers: "list[Any]") -> Any:
        return answers.pop(0) if len(answers) > 1 else answers[0]


class Noting:
    """A store that logs its calls; `fail` names methods that raise."""

    def __init__(self, *, fail: Sequence[str] = (), resync: Callable[[], Awaitable[None] | None] | None = None) -> None:
        self.log: list[str] = []
        self.at: list[float] = []
        self._fail, self._resync = fail, resync

    def add(self, obj: Any) -> None:
        self._note("add", named(obj))

    def update(self, obj: Any) -> None:
        self._note("update", named(obj))

    def delete(self, obj: Any) -> None:
        self._note("delete", named(obj))

    def replace(self, objs: Sequence[Any], version: str) -> None:
        self._note("replace", f"[{' '.join(named(obj) for obj in objs)}] {version}")

    def resync(self) -> Awaitable[None] | None:
        self._note("resync", "")
        return self._resync() if self._resync else None

    def times(self, verb: str) -> list[float]:
        return [at for at, line in zip(self.at, self.log, strict=True) if line.startswith(verb)]

    def _note(self, verb: str, rest: str) -> None:
        if verb in self._fail:
            raise ZeroDivisionError(verb)
        self.log.append(f"{verb} {rest}".strip())
        self.at.append(asyncio.get_running_loop().time())


class NotingVersions(Noting):
    """A store that also takes resourceVersions and bookmarks."""

    def __init__(self) -> None:
        super().__init__()
        self.versions: list[str] = []
        self.bookmarks: list[str] = []

    def update_resource_version(self, version: str) -> None:
        self.versions.append(version)

    def bookmark(self, version: str) -> None:
        self.bookmarks.append(version)
