"""The control API beside the cluster's own controllers and simulated nodes, in stepped time."""

import asyncio
from functools import partial

import pytest

from fakekube.control.api import ControlApi
from fakekube.control.guard import Guard
from fakekube.control.steering import Beside, Steering
from fakekube.controllers.realtime import cluster
from fakekube.server.process.pacedloop import PacedClock, PacedLoop
from fakekube.server.standalone import Options
from tests.control.rig import Steered

PODS = "/api/v1/namespaces/default/pods"
CONTAINER = {"name": "c", "image": "i"}
REPLICA_SET = {
    "metadata": {"name": "web"},
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [CONTAINER]}},
    },
}


#: Metrics that cannot be set, and what is answered.
WRONG_METRICS = [
    ({"resource": [{"name": "cpu", "value": "abc"}]}, 400,
     "metrics.resource: value of 'cpu': 'abc' is not a quantity, like '250m'"),
    ({"external": [{"name": "q", "values": [1, "x"]}]}, 400,
     "metrics.external: values of 'q': 'x' is not a quantity, like '250m'"),
    ({"external": [{"values": [1]}]}, 400, "metrics.external: the field 'name' is required"),
    ({"resource": [{"name": "cpu"}]}, 400, "metrics.resource: the field 'value' is required"),
    ({"node": [{"name": "cpu", "value": 1, "node": "node-7"}]}, 404, "metrics.node: there is no node 'node-7'"),
    ({"object": [{"name": "hits", "value": 1, "kind": "Pod", "of": "web-7"}]}, 404,
     "metrics.object: there is no pod 'default/web-7'"),
]  # fmt: skip

#: Scripts that pods cannot have, and what is answered.
WRONG_SCRIPTS = [
    ({"logs": "hello"}, "do.logs='hello' is not an object with the fields text, container"),
    ({"exec": "x"}, "do.exec='x' is not an object with the fields handler, container"),
    ({"startAfter": "soon"}, "do.startAfter='soon' is not an object with the fields delay, container"),
    ({"recover": 3}, "do.recover=3 is not an empty object"),
    ({"logs": {}}, "do.logs: the field 'text' is required"),
    ({"startAfter": {}}, "do.startAfter: the field 'delay' is required"),
]


class Controlled(Steered):
    """A Steered with controllers of the cluster."""

    def __init__(self, clock, running, controllers):
        self.clock, self.runner = clock, running.server.runner
        self.loop = asyncio.get_running_loop()
        self.steering = Steering(running, clock, Beside(controllers, self.loop))
        self.control = ControlApi(self.steering, Guard(is_local=True))

    async def pods(self):
        _, _, found = await self.client().request("GET", PODS)
        return found["items"]

    async def advance(self, by):
        assert (await self.call("POST", "/clock:advance", {"by": by}))[0] == 200


async def walk():
    clock, made = PacedClock(asyncio.get_running_loop()), []
    steer = lambda running, found: made.append(Controlled(clock, running, found))  # noqa: E731
    async with cluster(Options(), ["replicaset"], 1, clock=clock, steer=steer):
        await scenes(made[0])


async def scenes(it):
    await it.advance("10s")
    await it.client().request("POST", "/apis/apps/v1/namespaces/default/replicasets", body=REPLICA_SET)
    await it.advance("10s")
    assert [pod["status"]["phase"] for pod in await it.pods()] == ["Running", "Running"]

    # pods are scripted, now and later
    name = (await it.pods())[0]["metadata"]["name"]
    assert await it.call("POST", "/pods:script", {"name": name, "do": {"crash": {"exitCode": 3}}}) == (
        200,
        {"pods": [name]},
    )
    await it.advance("1s")
    [status] = next(pod for pod in await it.pods() if pod["metadata"]["name"] == name)["status"]["containerStatuses"]
    assert (status["state"].get("terminated") or status["lastState"]["terminated"])["exitCode"] == 3
    code, said = await it.refused("POST", "/pods:script", {"selector": "app=none", "do": {"oom": {}}})
    assert (code, 'use "always": true for pods that are created later' in said) == (404, True)
    later = {"selector": "app=none", "always": True, "do": {"exitAfter": {"delay": "5s"}}}
    assert await it.call("POST", "/pods:script", later) == (200, {"pods": []})
    assert "unused-script" in {one["detector"] for one in (await it.call("GET", "/findings"))[1]["items"]}

    # nodes
    assert await it.call("POST", "/nodes/node-1:pressure", {"kind": "disk"}) == (204, "")
    await it.advance("1s")
    _, _, node = await it.client().request("GET", "/api/v1/nodes/node-1")
    assert {one["type"]: one["status"] for one in node["status"]["conditions"]}["DiskPressure"] == "True"
    assert (await it.refused("POST", "/nodes/node-1:pressure", {"kind": "noise"}))[0] == 400
    assert (await it.refused("POST", "/nodes/node-7:lose"))[0] == 404
    assert await it.call("POST", "/nodes/node-1:lose") == (204, "")
    assert (await it.call("GET", "/nodes"))[1] == {"items": [{"name": "node-1", "isLost": True}]}
    assert (await it.call("POST", "/nodes", {"name": "big", "cpu": 64, "labels": {"size": "big"}}))[0] == 201
    await it.advance("1s")
    _, _, node = await it.client().request("GET", "/api/v1/nodes/big")
    assert (node["status"]["capacity"]["cpu"], node["metadata"]["labels"]["size"]) == ("64", "big")

    assert await it.call("POST", "/nodes/node-1:recover") == (204, "")

    # controllers
    assert await it.call("POST", "/controllers/replicaset:suspend") == (204, "")
    _, found = await it.call("GET", "/controllers")
    assert {one["name"] for one in found["items"] if one["isSuspended"]} == {"replicaset-controller"}
    await it.client().request("DELETE", f"{PODS}/{name}")
    await it.advance("1m")
    assert len(await it.pods()) == 1
    assert await it.call("POST", "/controllers/replicaset:reconcileNext") == (200, {"reconciled": True})
    await it.advance("1s")
    assert len(await it.pods()) == 2
    assert await it.call("POST", "/controllers/replicaset:resume") == (204, "")
    assert (await it.refused("POST", "/controllers/job:resume"))[0] == 404

    # metrics
    value = {"name": "cpu", "value": "250m", "pods": "app=web"}
    assert await it.call("PUT", "/metrics", {"resource": [value], "external": [{"name": "q", "values": [1, 2]}]}) == (
        204,
        "",
    )
    assert [one.value for one in it.steering.beside.controllers.metrics._external["q"]] == [1, 2]
    assert (await it.refused("PUT", "/metrics", {"resource": [{**value, "pod": "x"}]}))[0] == 400
    assert await it.call("PUT", "/metrics", {"node": [{"name": "cpu", "value": 1, "node": "node-1"}]}) == (204, "")
    assert await it.call("PUT", "/metrics", {"node": [{"name": "cpu", "value": None, "node": "gone"}]}) == (204, "")
    for body, code, message in WRONG_METRICS:
        assert await it.refused("PUT", "/metrics", body) == (code, message), body
    for do, message in WRONG_SCRIPTS:
        assert await it.refused("POST", "/pods:script", {"selector": "app=web", "do": do}) == (400, message), do

    assert await it.call("POST", "/nodes/node-1:lose") == (204, "")

    # a reset: the node registers again, and nothing comes back that is gone
    began = it.loop.time()
    assert (await it.call("POST", "/reset"))[0] == 200
    assert it.loop.time() - began < 5  # the controllers watch again at once
    await it.advance("10s")
    assert await it.pods() == []
    _, _, nodes = await it.client().request("GET", "/api/v1/nodes")
    assert [one["metadata"]["name"] for one in nodes["items"]] == ["big", "node-1"]
    assert it.steering.beside.controllers.parts["kubelet"].agents["node-1"].is_lost is False
    await it.client().request("POST", "/apis/apps/v1/namespaces/default/replicasets", body=REPLICA_SET)
    await it.advance("10s")
    assert [pod["status"]["phase"] for pod in await it.pods()] == ["Running", "Running"]
    spec = {"containers": [CONTAINER]}
    await it.client().request("POST", PODS, body={"metadata": {"name": "n", "labels": {"app": "none"}}, "spec": spec})
    await it.advance("1m")
    _, _, unscripted = await it.client().request("GET", f"{PODS}/n")
    assert [one["restartCount"] for one in unscripted["status"]["containerStatuses"]] == [0]


def test_pods_nodes_controllers_and_metrics_are_steered():
    with asyncio.Runner(loop_factory=partial(PacedLoop, 0)) as runner:
        runner.run(walk())


@pytest.mark.parametrize("mode", ["", "x", "x0", "60", "x-1", "Real"])
def test_a_mode_that_is_none(mode):
    from fakekube.server.process.pacedloop import rate_of

    with pytest.raises(ValueError, match="real, stepped, or a multiple of real time like x60"):
        rate_of(mode)
