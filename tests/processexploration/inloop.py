"""An operator in the loop of the server, in place of the process that an exploration runs, and time that moves by itself."""

import asyncio
import functools
import inspect
import itertools
import signal
from typing import NamedTuple

from fakekube.processexploration.changesteps import steps_of
from fakekube.processexploration.exploring import Exploration, Outcome
from fakekube.processexploration.reproduction import Setting
from tests.control.rig import CONFIGMAPS, stepped

AGENT = "site-operator/1"

SITE = "{apiVersion: v1, kind: ConfigMap, metadata: {name: shop, labels: {app: site}}}"


class Refused(Exception):
    """The server has answered a request with an error."""


class Operator:
    """Makes two children of each ConfigMap with the label app=site, and notes that it has, each 0.2 s.

    Unless it is `correct`, it makes the second child only if the first one is absent.
    """

    def __init__(self, steered, *, correct=False, ends=None, lease=False, agents=(AGENT,), output=""):
        self.steered, self.correct, self.ends, self.lease, self.output = steered, correct, ends, lease, output
        self.agents = itertools.cycle(agents)
        self.starts = 0

    async def ask(self, method, path, body=None, **query):
        client = self.steered.client(next(self.agents))
        code, _, answer = await client.request(method, path, query=list(query.items()), body=body)
        return code, answer

    async def make(self, site, name):
        meta = site["metadata"]
        owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": meta["name"], "uid": meta["uid"]}
        made = {"metadata": {"name": name, "ownerReferences": [owner]}, "data": {"of": meta["name"]}}
        code, _ = await self.ask("POST", CONFIGMAPS, made)
        if code not in (201, 409):
            raise Refused(code)

    async def reconcile(self, site):
        name = site["metadata"]["name"]
        if self.correct or (await self.ask("GET", f"{CONFIGMAPS}/{name}-a"))[0] == 404:
            await self.make(site, f"{name}-a")
            await self.make(site, f"{name}-b")
        if site.get("data", {}).get("done") != "yes":
            await self.ask("PUT", f"{CONFIGMAPS}/{name}", {**site, "data": {**site.get("data", {}), "done": "yes"}})

    async def run(self):
        self.starts += 1
        if self.lease:
            leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
            await self.ask("POST", leases, {"metadata": {"generateName": "leads-"}})
        while self.ends is None:
            try:
                for site in (await self.ask("GET", CONFIGMAPS, labelSelector="app=site"))[1]["items"]:
                    await self.reconcile(site)
            except (Refused, KeyError, ConnectionError):
                pass
            await self.steered.clock.sleep_until(self.steered.clock.monotonic() + 0.2)


class InLoop:
    """A stand-in for OperatorProcess that runs an Operator as a task."""

    def __init__(self, operator):
        self._operator, self._task = operator, None
        self.signals, self.kills = [], 0

    @property
    def ended(self):
        return self._operator.ends if self._task is not None and self._task.done() else None

    async def start(self):
        self._task = asyncio.create_task(self._operator.run())

    async def kept(self):
        return self.ended is None

    def signal(self, number):
        self.signals.append(number)
        if number == signal.SIGSTOP and self._task is not None:
            self._task.cancel()
        elif number == signal.SIGCONT:
            self._task = asyncio.create_task(self._operator.run())

    async def kill(self):
        self.kills += 1
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def tail(self):
        return self._operator.output


def explored(test):
    """Run an async test on a stepped server, with `explore` bound to it as the first argument."""

    @stepped
    async def inner(steered, tmp_path, *args, **kwargs):
        steered.runner.control = steered.control
        await test(functools.partial(explore, steered, tmp_path), *args, **kwargs)

    @functools.wraps(test)
    def run(tmp_path, *args, **kwargs):
        inner(tmp_path, *args, **kwargs)

    parameters = list(inspect.signature(test).parameters.values())[1:]
    kept = [inspect.Parameter("tmp_path", inspect.Parameter.POSITIONAL_OR_KEYWORD), *parameters]
    run.__signature__ = inspect.Signature(kept)
    return run


class Explored(NamedTuple):
    """What an exploration has returned and said, its operator, and a stand-in for the process of each run."""

    outcome: Outcome
    said: list[str]
    operator: Operator
    processes: list[InLoop]


async def explore(
    steered,
    folder,
    *,
    atoms=("crash",),
    after=(SITE,),
    budget=50,
    first=False,
    agent="*",
    quiet="1s",
    kind=Operator,
    **operator,
):
    """Explore an Operator while time moves by itself. `after`: the texts of the steps. Raises CannotServe."""
    (folder / "after").mkdir()
    for number, text in enumerate(after):
        (folder / "after" / f"{number}.yaml").write_text(text)
    steps = steps_of(steered.runner.apiserver, [folder / "after"])
    setting = Setting("run it", agent=agent, quiet=quiet, patience="2s", steps=steps)
    made, said, processes = kind(steered, **operator), [], []

    def process(command, environment, log):
        processes.append(InLoop(made))
        return processes[-1]

    exploration = Exploration(steered.steering, setting, {}, said.append, folder / "log", process)
    task = asyncio.ensure_future(exploration.explore(atoms, budget, stop_at_first=first))
    while not task.done():
        await steered.loop.advance(60)
    return Explored(await task, said, made, processes)
