"""A broker runs as one Pod, which is replaced for each version. Two replicas of the operator elect a leader."""

from controllerlib import LeaderElection, LeaderElectionOptions, Manager
from tests.simulation.samples.definitions import API, custom, definition, discard, find, pod, report

FAMILY = "old leader writes late"
NEEDS = "the `delete pod/a` of a leader is committed when the other replica leads already: the new pod is deleted"


def make(bug):
    def build(manager: Manager) -> None:
        live = manager.api_reader

        async def reconcile(request):
            broker = await find(live, API, "Broker", request.name, request.namespace)
            if broker is None:
                return
            version = broker["spec"]["version"]
            running = await find(live, "v1", "Pod", request.name, request.namespace)
            if running is not None and running["metadata"]["annotations"]["version"] != version:
                if bug:
                    await live.delete("v1", "Pod", request.name, request.namespace)
                else:
                    await discard(live, running)
                running = None
            if running is None:
                await live.create(pod(broker, request.name, version=version))
            await report(live, broker, version=version)

        manager.controller("broker").for_(API, "Broker").owns("v1", "Pod").complete(reconcile)

    return build


def election(identity):
    return LeaderElection(LeaderElectionOptions("brokers", "default", identity=identity))


def scenario(fakekube, build):
    fakekube.apply(definition("Broker", version="string"))
    fakekube.start(build, election=election("one"))
    fakekube.start(build, election=election("two"))

    fakekube.create(custom("Broker", version="1"))
    fakekube.advance(40)

    fakekube.patch(API, "Broker", "a", {"spec": {"version": "2"}})
    fakekube.advance(40)

    fakekube.patch(API, "Broker", "a", {"spec": {"version": "3"}})
    fakekube.advance(40)

    assert fakekube.get("v1", "Pod", "a")["metadata"]["annotations"]["version"] == "3"
    assert fakekube.get(API, "Broker", "a")["status"]["version"] == "3"
