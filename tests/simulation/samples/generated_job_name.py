"""A task runs one Job for each attempt, and its status names the Job."""

from controllerlib import Manager
from tests.simulation.samples.definitions import API, child, custom, definition, find, report

FAMILY = "duplicate child after a crash or a lost reply"
NEEDS = "crash or lost reply at `create job/a-*`: the same attempt runs twice"

TEMPLATE = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "main:1"}]}}


def make(bug):
    def build(manager: Manager) -> None:
        live = manager.api_reader

        async def reconcile(request):
            task = await find(live, API, "Task", request.name, request.namespace)
            if task is None:
                return
            attempt, status = task["spec"]["attempt"], task.get("status") or {}
            if bug:
                if status.get("attempt") == attempt:
                    return
                job = await live.create(job_of(task, f"{request.name}-"))
            else:
                name = f"{request.name}-{attempt}"
                job = await find(live, "batch/v1", "Job", name, request.namespace)
                job = job or await live.create(job_of(task, name))
            await report(live, task, attempt=attempt, job=job["metadata"]["name"])

        manager.controller("task").for_(API, "Task").owns("batch/v1", "Job").complete(reconcile)

    return build


def job_of(task, name):
    return child(task, "Job", name, api_version="batch/v1", spec={"template": TEMPLATE})


def scenario(fakekube, build):
    fakekube.apply(definition("Task", attempt="integer"))
    fakekube.start(build)

    fakekube.create(custom("Task", attempt=1))
    fakekube.advance(60)

    fakekube.create(custom("Task", "b", attempt=1))
    fakekube.advance(60)

    fakekube.patch(API, "Task", "a", {"spec": {"attempt": 2}})
    fakekube.advance(60)

    status = fakekube.get(API, "Task", "a")["status"]
    assert status["attempt"] == 2
    assert fakekube.exists("batch/v1", "Job", status["job"])
