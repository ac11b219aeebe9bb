"""Creating subresources: a binding, and one whose answer is an object."""

import pytest

from controllerlib import ApiError, Client
from controllerlib.record import ClientSink, CoreEventBroadcaster
from fakekube import FakeKube

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {"containers": [{"name": "c", "image": "nginx"}]},
}


async def test_a_subresource_is_created_at_the_path_of_its_object(fakekube: FakeKube) -> None:
    client = Client(fakekube.access.transport(), user_agent="mine/1.0")
    pod = fakekube.create(POD)
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "web"}, "target": {"name": "node-1"}}
    await client.create_subresource(pod, "binding", binding)
    assert fakekube.get("v1", "Pod", "web")["spec"]["nodeName"] == "node-1"
    (sent,) = fakekube.requests(user_agent="mine/1.0", subresource="binding")
    assert (sent.verb, sent.path) == ("create", "/api/v1/namespaces/default/pods/web/binding")
    with pytest.raises(ApiError, match="is already assigned to node"):
        await client.create_subresource(pod, "binding", binding)


async def test_the_answer_is_returned(fakekube: FakeKube) -> None:
    client = Client(fakekube.access.transport())
    account = fakekube.create(
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "app", "namespace": "default"}}
    )
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    answer = await client.create_subresource(account, "token", request)
    assert answer["status"]["token"].count(".") == 2


async def test_broadcasters_that_share_the_timestamps_of_a_manager_use_no_name_twice(fakekube: FakeKube) -> None:
    """All Events of an object at one moment have different names."""
    from controllerlib import Manager

    manager = Manager(fakekube.access.transport(), clock=fakekube.clock)
    pod = fakekube.create(POD)
    made = [CoreEventBroadcaster(clock=fakekube.clock, timestamps=manager.event_timestamps) for _ in range(2)]
    for number, broadcaster in enumerate(made):
        broadcaster.start_recording_to_sink(ClientSink(manager.client))
        broadcaster.new_recorder("mine", f"host-{number}").event(pod, "Normal", "Done", "done")
    for broadcaster in made:
        await broadcaster.shutdown()
    assert len({event["metadata"]["name"] for event in fakekube.events(reason="Done")}) == 2
