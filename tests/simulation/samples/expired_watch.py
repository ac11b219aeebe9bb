"""An index lists all notes in a ConfigMap. The notes are followed by a watch that is written by hand."""

from controllerlib import ApiError, Manager
from controllerlib.client import ListOptions, from_status, is_expired
from tests.simulation.samples.definitions import API, custom, definition, ensure

FAMILY = "expired watch not relisted"
NEEDS = "a gap of the watch of notes over `delete note/b` or `create note/c`: the index never shows it"
INDEX = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "index", "namespace": "default"}}


class Index:
    def __init__(self, manager: Manager, bug: bool) -> None:
        self.live, self.clock, self.bug = manager.api_reader, manager.clock, bug
        self.notes: dict[str, str] | None = None
        self.version = ""

    async def start(self) -> None:
        while True:
            try:
                if not self.version:
                    await self.relist()
                await self.publish()
                await self.follow()
            except ApiError as error:
                if is_expired(error):
                    self.version = await self.newest() if self.bug else ""
                    continue
                await self.clock.sleep_until(self.clock.monotonic() + 1)
            except OSError:
                await self.clock.sleep_until(self.clock.monotonic() + 1)

    async def relist(self) -> None:
        page = await self.live.list_page(API, "Note", "default")
        self.notes = {one["metadata"]["name"]: one["spec"]["text"] for one in page["items"]}
        self.version = page["metadata"]["resourceVersion"]

    async def newest(self) -> str:
        page = await self.live.list_page(API, "Note", "default", ListOptions(limit=1))
        return page["metadata"]["resourceVersion"]

    async def follow(self) -> None:
        stream = await self.live.watch(API, "Note", "default", ListOptions(resource_version=self.version))
        try:
            async for event in stream:
                if event["type"] == "ERROR":
                    raise from_status(event["object"])
                name = event["object"]["metadata"]["name"]
                if event["type"] == "DELETED":
                    self.notes.pop(name, None)
                else:
                    self.notes[name] = event["object"]["spec"]["text"]
                self.version = event["object"]["metadata"]["resourceVersion"]
                await self.publish()
        finally:
            await stream.aclose()

    async def publish(self, request=None) -> None:
        if self.notes is not None:
            await ensure(self.live, {**INDEX, "data": dict(sorted(self.notes.items()))})


def make(bug):
    def build(manager: Manager) -> None:
        index = Index(manager, bug)
        manager.add(index)
        manager.controller("index").for_("v1", "ConfigMap").complete(index.publish)

    return build


def scenario(fakekube, build):
    fakekube.apply(definition("Note", text="string"))
    fakekube.create(custom("Note", text="one"))
    fakekube.start(build)

    fakekube.create(custom("Note", "b", text="two"))
    fakekube.advance(60)

    fakekube.create(custom("Note", "c", text="three"))
    fakekube.advance(60)

    fakekube.delete(API, "Note", "b")
    fakekube.advance(60)

    fakekube.patch(API, "Note", "a", {"spec": {"text": "four"}})
    fakekube.advance(60)

    fakekube.create(custom("Note", "d", text="five"))
    fakekube.advance(60)

    assert fakekube.get("v1", "ConfigMap", "index")["data"] == {"a": "four", "c": "three", "d": "five"}
