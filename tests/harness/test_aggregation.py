"""An aggregated API server in a fixture, under virtual time."""

import json
import sys

import pytest

NAME = "v1alpha1.wardle.example.com"

#: A program that prints what a URL returns.
READ = "import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1]).read().decode())"


async def wardle(http):
    from aiohttp import web

    if http.path.endswith("/flunders"):
        return web.json_response({"kind": "FlunderList", "apiVersion": "wardle.example.com/v1alpha1", "items": []})
    row = {"name": "flunders", "singularName": "flunder", "namespaced": True, "kind": "Flunder", "verbs": ["list"]}
    return web.json_response(
        {"kind": "APIResourceList", "groupVersion": "wardle.example.com/v1alpha1", "resources": [row]}
    )


def api_service():
    return {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": NAME},
        "spec": {
            "group": "wardle.example.com",
            "version": "v1alpha1",
            "groupPriorityMinimum": 2000,
            "versionPriority": 200,
            "service": {"namespace": "default", "name": "wardle"},
        },
    }


def reason(fakekube):
    return fakekube.get("apiregistration.k8s.io/v1", "APIService", NAME)["status"]["conditions"][0]["reason"]


def test_an_aggregated_server_becomes_available(fakekube):
    fakekube.apply(api_service())
    assert reason(fakekube) == "ServiceNotFound"
    fakekube.webhooks.serve(wardle, service="wardle")
    fakekube.webhooks.inject_ca_bundle()
    fakekube.advance_until(lambda: reason(fakekube) == "Passed", timeout=60)
    path = "/apis/wardle.example.com/v1alpha1/namespaces/default/flunders"
    assert fakekube.list("wardle.example.com/v1alpha1", "Flunder") == []
    with pytest.raises(LookupError, match="Other"):
        fakekube.list("wardle.example.com/v1alpha1", "Other")
    done = fakekube.run_process([sys.executable, "-c", READ, fakekube.access.url + path])
    assert json.loads(done.stdout)["kind"] == "FlunderList"


def test_without_an_aggregated_server_nothing_is_due(fakekube):
    fakekube.settle()
    assert not fakekube.clock.next_timers()
