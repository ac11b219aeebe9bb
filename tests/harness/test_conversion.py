"""A conversion webhook over HTTPS: every client and every watch gets its version."""

from aiohttp import web

TEXT = {"type": "string"}


def definition():
    """People: v1, the storage version, has a full name, v2 its parts."""

    def version(name, storage, **fields):
        spec = {"type": "object", "properties": fields}
        schema = {"type": "object", "properties": {"spec": spec}}
        return {"name": name, "served": True, "storage": storage, "schema": {"openAPIV3Schema": schema}}

    client = {"service": {"namespace": "default", "name": "converter", "path": "/convert"}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "people.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "people", "kind": "Person"},
            "versions": [version("v1", True, full=TEXT), version("v2", False, first=TEXT, last=TEXT)],
            "conversion": {
                "strategy": "Webhook",
                "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": client},
            },
        },
    }


def converted(obj, desired):
    spec = obj["spec"]
    if desired.endswith("/v2"):
        first, _, last = spec["full"].partition(" ")
        new = {"first": first, "last": last}
    else:
        new = {"full": f"{spec['first']} {spec['last']}"}
    return {**obj, "apiVersion": desired, "spec": new}


async def convert(http):
    review = await http.json()
    asked = review["request"]
    made = [converted(obj, asked["desiredAPIVersion"]) for obj in asked["objects"]]
    response = {"uid": asked["uid"], "result": {"status": "Success"}, "convertedObjects": made}
    return web.json_response({"apiVersion": review["apiVersion"], "kind": "ConversionReview", "response": response})


def serve(fakekube):
    fakekube.webhooks.serve(convert, service="converter")
    fakekube.apply(definition())
    fakekube.webhooks.inject_ca_bundle()


def person(name, version, **spec):
    return {"apiVersion": f"example.com/{version}", "kind": "Person", "metadata": {"name": name}, "spec": spec}


def test_each_version_has_its_own_fields(fakekube):
    serve(fakekube)
    fakekube.create(person("ada", "v1", full="Ada Lovelace"))
    assert fakekube.get("example.com/v2", "Person", "ada")["spec"] == {"first": "Ada", "last": "Lovelace"}
    fakekube.patch("example.com/v2", "Person", "ada", {"spec": {"first": "Augusta"}})
    assert fakekube.get("example.com/v1", "Person", "ada")["spec"] == {"full": "Augusta Lovelace"}
    fakekube.create(person("grace", "v2", first="Grace", last="Hopper"))
    shown = [one["spec"] for one in fakekube.list("example.com/v1", "Person")]
    assert shown == [{"full": "Augusta Lovelace"}, {"full": "Grace Hopper"}]
    fakekube.delete("example.com/v2", "Person", "ada")
    assert not fakekube.exists("example.com/v1", "Person", "ada")


async def test_a_watch_delivers_its_version(fakekube):
    fakekube.webhooks.serve(convert, service="converter")
    client = fakekube.access.transport()
    await client.request("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", body=definition())
    fakekube.webhooks.inject_ca_bundle()
    path = "/apis/example.com/{}/namespaces/default/people"
    code, _, made = await client.request("POST", path.format("v1"), body=person("ada", "v1", full="Ada Lovelace"))
    assert (code, made["spec"]) == (201, {"full": "Ada Lovelace"})
    events = []
    _, _, stream = await client.open_watch(path.format("v2"))
    async for event in stream:
        events.append((event["type"], event["object"]["apiVersion"], event["object"]["spec"]))
        if len(events) == 1:
            body = person("grace", "v2", first="Grace", last="Hopper")
            assert (await client.request("POST", path.format("v2"), body=body))[0] == 201
        else:
            break
    assert events == [
        ("ADDED", "example.com/v2", {"first": "Ada", "last": "Lovelace"}),
        ("ADDED", "example.com/v2", {"first": "Grace", "last": "Hopper"}),
    ]
