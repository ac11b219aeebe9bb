"""kopf: an operator in a process of its own, against the standalone server."""

import os
import queue
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import pytest
from kubernetes import client, watch

from tests.clients.servers import HERE

pytestmark = pytest.mark.slow

FUSE = 60

_ANNOTATION = "example.com/"


class Output:
    """What the operator says."""

    def __init__(self, process):
        self.process, self.said, self._lines = process, [], queue.Queue()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self):
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(None)

    def until(self, words):
        deadline = time.monotonic() + FUSE
        while not (self.said and words in self.said[-1]):
            line = self._lines.get(timeout=max(0.0, deadline - time.monotonic()))
            assert line is not None, "".join(self.said)
            self.said.append(line)

    def rest(self):
        self.said += iter(self._lines.get, None)
        self._reader.join()
        return "".join(self.said)


@contextmanager
def operating(server, namespace):
    command = [sys.executable, "-m", "kopf", "run", str(HERE / "kopf_operator.py"), "--namespace", namespace]
    env = {**os.environ, "KUBECONFIG": str(server.kubeconfig)}
    with subprocess.Popen(
        [*command, "--standalone", "--verbose"], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        output = Output(process)
        try:
            yield output
        finally:
            process.terminate()
            try:
                process.wait(FUSE)
            finally:
                process.kill()
                output.rest()


@pytest.fixture
def api_client(standalone):
    with client.ApiClient(client.Configuration(host=standalone.url)) as made:
        yield made


@pytest.fixture
def gadgets(api_client, namespaced):
    """The gadgets of the test's namespace, and a way to wait until one of them is as it should be."""
    return Gadgets(api_client, namespaced)


@pytest.fixture
def elsewhere(api_client):
    """The gadgets of another namespace."""
    return Gadgets(api_client, "default")


class Gadgets:
    def __init__(self, api_client, namespace):
        self._api, self.where = client.CustomObjectsApi(api_client), ("example.com", "v1", namespace, "gadgets")
        self._core, self._namespace = client.CoreV1Api(api_client), namespace

    def create(self, name, **spec):
        body = {"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": {"name": name}, "spec": spec}
        self._api.create_namespaced_custom_object(*self.where, body)

    def patch(self, name, **spec):
        self._api.patch_namespaced_custom_object(*self.where, name, {"spec": spec})

    def delete(self, name):
        self._api.delete_namespaced_custom_object(*self.where, name)

    def names(self):
        return [found["metadata"]["name"] for found in self._api.list_namespaced_custom_object(*self.where)["items"]]

    def event(self, reason):
        """The first Event of a reason."""
        options = {"field_selector": f"reason={reason}", "timeout_seconds": FUSE}
        events = watch.Watch().stream(self._core.list_namespaced_event, self._namespace, **options)
        found = next(events)["object"]
        events.close()
        return found

    def until(self, fact):
        """Wait for an event of which `fact(type, marks)` is true; the marks that handlers left."""
        seen = []
        for event in watch.Watch().stream(self._api.list_namespaced_custom_object, *self.where, timeout_seconds=FUSE):
            annotations = event["object"]["metadata"].get("annotations", {})
            marks = {
                name[len(_ANNOTATION) :]: text for name, text in annotations.items() if name.startswith(_ANNOTATION)
            }
            seen.append((event["type"], marks))
            if fact(event["type"], marks):
                return marks
        raise AssertionError(seen)


def test_an_operator(standalone, namespaced, gadgets, elsewhere):
    gadgets.create("before", size=1)
    with operating(standalone, namespaced) as output:
        gadgets.until(lambda _, marks: marks.get("created") == "1")
        gadgets.create("a", size=1)
        gadgets.until(lambda _, marks: {"created": "1", "daemon": "ran", "ticks": "3"}.items() <= marks.items())
        gadgets.patch("a", size=2)
        gadgets.until(lambda _, marks: marks.get("updated") == "1->2")
        event = gadgets.event("Resized")
        assert (event.message, event.involved_object.name) == ("the gadget is 2 now", "a")
        gadgets.delete("a")
        output.until(f"goodbye {namespaced}/a")
        gadgets.until(lambda kind, _: kind == "DELETED" or gadgets.names() == ["before"])
        assert gadgets.names() == ["before"]
        elsewhere.create(namespaced, size=1)
        standalone.expire()
        output.until("Restarting the watch-stream for gadgets")  # after a 410
        gadgets.patch("before", size=5)
        gadgets.until(lambda _, marks: marks.get("updated") == "1->5")
        gadgets.delete("before")
        output.until(f"goodbye {namespaced}/before")
    assert "Traceback" not in "".join(output.said)
