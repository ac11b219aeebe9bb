"""A bucket has credentials in a Secret, which it removes before it goes."""

from controllerlib import Manager
from controllerlib.controller import add_finalizer, contains_finalizer, remove_finalizer
from tests.simulation.samples.definitions import (
    API,
    BY_LABEL,
    custom,
    definition,
    ensure,
    find,
    labelled,
    remove,
    report,
)

FAMILY = "finalizer after the child"
NEEDS = "the operator is down from `create secret/b` until the test deletes bucket/b: the Secret stays"
EXPLORE = {"owner_labels": ["owner"]}
FINALIZER = "samples.example.com/bucket"


def make(bug):
    def build(manager: Manager) -> None:
        live = manager.api_reader

        async def reconcile(request):
            bucket = await find(live, API, "Bucket", request.name, request.namespace)
            if bucket is None:
                return
            if "deletionTimestamp" in bucket["metadata"]:
                if contains_finalizer(bucket, FINALIZER):
                    await remove(live, "Secret", request.name, request.namespace)
                    await live.update(remove_finalizer(bucket, FINALIZER)[0])
                return
            if bug:
                await ensure(live, secret_of(bucket))
            bucket, added = add_finalizer(bucket, FINALIZER)
            if added:
                bucket = await live.update(bucket)
            if not bug:
                await ensure(live, secret_of(bucket))
            await report(live, bucket, user=bucket["spec"]["user"])

        manager.controller("bucket").for_(API, "Bucket").watches("v1", "Secret", BY_LABEL).complete(reconcile)

    return build


def secret_of(bucket):
    return labelled(bucket, "Secret", bucket["metadata"]["name"], data={"key": "c2VjcmV0"})


def scenario(fakekube, build):
    fakekube.apply(definition("Bucket", user="string"))
    fakekube.start(build)

    fakekube.create(custom("Bucket", user="ann"))
    fakekube.advance(60)

    fakekube.create(custom("Bucket", "b", user="bob"))
    fakekube.advance(60)

    fakekube.delete(API, "Bucket", "b")
    fakekube.advance(60)

    assert fakekube.exists("v1", "Secret", "a")
    assert not fakekube.exists(API, "Bucket", "b")
    assert not fakekube.exists("v1", "Secret", "b")
