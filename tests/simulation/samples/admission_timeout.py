"""A gate has a key and rules; a webhook admits the rules."""

from aiohttp import web

from controllerlib import ApiError, Manager
from tests.simulation.samples.definitions import API, child, custom, definition, ensure, find, report

FAMILY = "admission time-out mid-sequence"
NEEDS = "the webhook times out at `create configmap/b` or `update configmap/a`: the gate stays rejected"


def make(bug):
    def build(manager: Manager) -> None:
        live = manager.api_reader

        async def reconcile(request):
            gate = await find(live, API, "Gate", request.name, request.namespace)
            if gate is None:
                return
            generation, status = gate["metadata"]["generation"], gate.get("status") or {}
            if bug and status.get("phase") == "Rejected" and status["observedGeneration"] == generation:
                return
            await ensure(live, child(gate, "Secret", request.name, data={"key": "c2VjcmV0"}))
            try:
                await ensure(live, child(gate, "ConfigMap", request.name, data={"rules": gate["spec"]["rules"]}))
            except ApiError as error:
                if not bug or "failed calling webhook" not in error.message:
                    raise
                await report(live, gate, phase="Rejected")
                return
            await report(live, gate, phase="Open")

        builder = manager.controller("gate").for_(API, "Gate")
        builder.owns("v1", "Secret").owns("v1", "ConfigMap").complete(reconcile)

    return build


async def admit(http: web.Request) -> web.Response:
    review = await http.json()
    response = {"uid": review["request"]["uid"], "allowed": True}
    return web.json_response({"apiVersion": review["apiVersion"], "kind": "AdmissionReview", "response": response})


def webhook(ca_bundle):
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE", "UPDATE"]}
    hook = {
        "name": "rules.samples.example.com",
        "clientConfig": {"service": {"name": "rules", "namespace": "default", "path": "/"}, "caBundle": ca_bundle},
        "rules": [rule],
        "timeoutSeconds": 5,
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    kind = "ValidatingWebhookConfiguration"
    meta = {"name": "rules"}
    return {"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": meta, "webhooks": [hook]}


def scenario(fakekube, build, handler=admit):
    fakekube.webhooks.serve(handler, service="rules")
    fakekube.apply(definition("Gate", rules="string"), webhook(fakekube.webhooks.ca_bundle))
    fakekube.start(build)

    fakekube.create(custom("Gate", rules="all"))
    fakekube.advance(60)

    fakekube.create(custom("Gate", "b", rules="all"))
    fakekube.advance(60)

    fakekube.patch(API, "Gate", "a", {"spec": {"rules": "none"}})
    fakekube.advance(60)

    assert fakekube.get("v1", "ConfigMap", "a")["data"] == {"rules": "none"}
    assert [gate["status"]["phase"] for gate in fakekube.list(API, "Gate")] == ["Open", "Open"]
