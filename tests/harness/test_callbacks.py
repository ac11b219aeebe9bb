"""What a function of the test raises where the server calls it is raised by the test's next step."""

import pytest
from kubernetes import client
from kubernetes.stream import stream

from fakekube import FakeKube

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "a"},
    "spec": {"nodeName": "n", "containers": [{"name": "c", "image": "busybox"}]},
}


def broken(*_):
    raise KeyError("a typo of the test")


def writes(kube):
    api = client.CoreV1Api(kube.access.api_client())

    def run():
        try:
            api.create_namespaced_config_map("default", {"metadata": {"name": "a"}})
        except client.ApiException as error:
            assert error.status == 500

    return run


@pytest.mark.slow
def test_before_of_a_fault_raises_in_the_next_step():
    with FakeKube() as kube:
        kube.fault(verb="create", resource="configmaps", before=lambda: broken())
        kube.thread(writes(kube))
        with pytest.raises(KeyError, match="a typo of the test"):
            kube.settle()


def test_before_that_takes_an_argument_is_refused(fakekube):
    with pytest.raises(TypeError, match=r"it is called without arguments, like `before=lambda: ...`"):
        fakekube.fault(verb="create", resource="configmaps", before=lambda request: None)


@pytest.mark.parametrize("interactive", [False, True])
def test_an_exec_handler_raises_in_the_next_step(interactive):
    def conversation(request):
        yield "$ "
        broken()

    with FakeKube() as kube:
        kube.create(POD)
        kube.pods.on_exec(conversation if interactive else broken)
        core = client.CoreV1Api(kube.access.api_client())

        def run():
            try:
                stream(core.connect_get_namespaced_pod_exec, "a", "default", command=["sh"], stdout=True)
            except client.ApiException:
                pass

        kube.thread(run)
        with pytest.raises(KeyError, match="a typo of the test"):
            kube.settle()


def test_a_log_handler_raises_in_the_next_step():
    with FakeKube() as kube:
        kube.create(POD)
        kube.pods.on_logs(broken)
        with pytest.raises(client.ApiException):
            client.CoreV1Api(kube.access.api_client()).read_namespaced_pod_log("a", "default")
        with pytest.raises(KeyError, match="a typo of the test"):
            kube.settle()


@pytest.mark.parametrize("application", [False, True])
def test_a_webhook_handler_raises_in_the_next_step(application):
    from aiohttp import web

    async def handler(request):
        broken()

    app = web.Application()
    app.router.add_post("/", handler)
    with FakeKube() as kube:
        url = kube.webhooks.serve(app if application else handler, service="hook")
        rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
        hook = {
            "name": "hook.example.com",
            "clientConfig": {"url": f"{url}/", "caBundle": kube.webhooks.ca_bundle},
            "rules": [rule],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            "failurePolicy": "Ignore",
        }
        kube.create(
            {
                "apiVersion": "admissionregistration.k8s.io/v1",
                "kind": "ValidatingWebhookConfiguration",
                "metadata": {"name": "hook"},
                "webhooks": [hook],
            }
        )
        kube.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})
        with pytest.raises(KeyError, match="a typo of the test"):
            kube.settle()
