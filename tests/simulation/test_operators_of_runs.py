"""Which operators a run knows, what is done to them, and how long a test waits until they have recovered."""

import asyncio
import json
from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace

import pytest

from fakekube.apiserver.resource import Resource
from fakekube.harness.engine import Engine
from fakekube.simulation.releases import Releases
from fakekube.simulation.running.clusterhands import ClusterHands
from fakekube.simulation.running.recorder import Actor
from fakekube.simulation.running.recovery import LONGEST_RETRY, RECOVERY, Recovery
from tests.simulation.observations import commit


class Process:
    """The process of an operator: whether it was killed, and whether it runs."""

    def __init__(self):
        self.fenced, self.runs = False, True


def operator(name="db", incarnation=1, *, alive=True, launch="by the test", **more):
    """An operator of controllerlib. `launch`: how it was started; None if an exploration cannot start it again."""
    options = None if launch is None else SimpleNamespace(options={})
    return SimpleNamespace(
        name=name, incarnation=incarnation, is_alive=alive, launch=options, process=Process(), views=list,
        manager=SimpleNamespace(controllers={}, elected=asyncio.Event()), **more,
    )  # fmt: skip


def program(name="task", incarnation=1, *, alive=True, start=print):
    """An operator that is a task or a thread."""
    return SimpleNamespace(name=name, incarnation=incarnation, is_alive=alive, start=start, process=Process())


class Cluster:
    """A cluster, as the hands of a run use it. `log`: what is done to its operators."""

    def __init__(self, operators=(), programs=()):
        self.log, self.now, self.timers = [], 0.0, []
        self.clock = SimpleNamespace(monotonic=lambda: self.now)
        self.background = SimpleNamespace(
            operators=list(operators),
            programs=list(programs),
            restart=lambda one: self.log.append(f"restart {one.name}"),
        )
        self.disruptions = self.operators = self.server = self
        self.bubble = SimpleNamespace(loop=self)
        self.watches = []
        self._engine = object.__new__(Engine)  # which only a cluster fills
        for name in ("background", "disruptions", "operators", "server", "bubble"):
            setattr(self._engine, name, getattr(self, name))

    # what disruptions do

    def kill(self, process):
        process.fenced = True
        self.log.append(f"kill {self._name(process)}")

    def stop(self, process):
        process.runs = False
        self.log.append(f"stop {self._name(process)}")

    def resume(self, process):
        process.runs = True
        self.log.append(f"resume {self._name(process)}")

    def hold_at(self, process, resource, revision):
        name = self._name(process)
        self.log.append(f"hold {resource} of {name} at {revision}")
        return SimpleNamespace(release=lambda: self.log.append(f"release {resource} of {name}"))

    def _name(self, process):
        known = [*self.background.operators, *self.background.programs]
        return next(f"{one.name}@{one.incarnation}" for one in known if one.process is process)

    # how operators are started

    def relaunched(self, one):
        return SimpleNamespace(begin=lambda loop: self.log.append(f"start {one.name}"))

    def launched(self, launch, name):
        return SimpleNamespace(begin=lambda loop: self.log.append(f"start {name} beside it"))

    # its loop

    def next_timer(self):
        return min((one * 1e6 for one in self.timers if one > self.now), default=None)

    async def advance(self, seconds):
        self.now += seconds


KINDS = SimpleNamespace(resource=lambda kind: SimpleNamespace(plural="stores") if kind == "store" else None)


def hands(*operators, programs=(), **options):
    cluster = Cluster(operators, programs)
    return ClusterHands(cluster, SimpleNamespace(kinds=KINDS), **options), cluster


def killed(one):
    one.process.fenced = True
    return one


# --- which operators there are


@pytest.mark.parametrize(
    ("operators", "programs", "names"),
    [
        ([operator("a"), operator("b")], [], ["operator a", "operator b"]),
        ([operator("a", alive=False)], [], []),
        ([killed(operator("a"))], [], []),
        ([operator("a", launch=None)], [program("t")], ["operator t"]),
        # beside operators of controllerlib, tasks and threads are clients
        ([operator("a")], [program("t")], ["operator a"]),
        ([operator("a", alive=False)], [program("t")], []),
        ([], [program("t"), program("u", alive=False), program("v", start=None)], ["operator t"]),
        ([operator("a", 1), operator("a", 2)], [], ["operator a"]),
    ],
)
def test_the_operators_that_run(operators, programs, names):
    found, _ = hands(*operators, programs=programs)
    assert found.names() == names
    expected = [f"operator {one.name}" for one in (*operators, *programs) if f"operator {one.name}" in names]
    only = found.only()
    assert (only is not None) is (len(names) == 1)
    if only is not None:
        assert only.name == expected[0]
        assert only.incarnation == max(
            one.incarnation for one in (*operators, *programs) if only.name.endswith(one.name)
        )


def test_the_author_of_a_request_is_known_by_its_process():
    first, second, task = operator("a", 1, alive=False), operator("a", 2), program("t")
    found, _ = hands(first, second)
    assert found.actor_of(first.process) == Actor("operator a", 1)
    assert found.actor_of(second.process) == Actor("operator a", 2)
    assert found.actor_of(task.process) is None
    found, _ = hands(programs=[task])
    assert found.actor_of(task.process) == Actor("operator t", 1)
    assert found.actor_of(None) is None


# --- what is done to them


def test_an_operator_is_killed_and_started_as_its_latest_incarnation():
    first, second = operator("a", 1, alive=False), operator("a", 2)
    found, cluster = hands(first, second, operator("b"))
    found.start("operator a")
    assert cluster.log == [], "it runs"
    found.kill("operator a")
    found.kill("operator none")
    found.start("operator a")
    assert cluster.log == ["kill a@2", "start a"]
    second.process.fenced, second.is_alive = False, False
    found.start("operator a")
    assert cluster.log[2:] == ["start a"]


def test_a_task_is_killed_and_started_again():
    task, other = program("t"), program("u", alive=False)
    found, cluster = hands(programs=[task, other])
    found.start("operator t")
    found.kill("operator t")
    task.is_alive = False
    found.start("operator t")
    found.kill("operator t")
    assert cluster.log == ["kill t@1", "restart t"]


def test_what_has_ended_by_itself_is_started_again():
    old, new = operator("a", 1, alive=False), operator("a", 2)
    found, cluster = hands(old, new, operator("b", alive=False))
    found.start_ended()
    assert cluster.log == ["start b"]
    found, cluster = hands(programs=[program("t", alive=False), program("u")])
    found.start_ended()
    assert cluster.log == ["restart t"]


def test_an_operator_is_frozen_and_thawed_once():
    one = operator("a")
    found, cluster = hands(one)
    for step in (found.stop, found.stop, found.resume, found.resume):
        step("operator a")
    assert cluster.log == ["stop a@1", "resume a@1"]
    assert found.frozen == set()
    found.stop("operator a")
    assert found.frozen == {"operator a"}
    found.stop("operator none")
    found.resume("operator none")
    assert cluster.log == ["stop a@1", "resume a@1", "stop a@1"]
    assert found.frozen == {"operator a"}


def test_a_second_replica_starts_beside_the_first_one_which_dies_at_the_end():
    first = operator("a")
    found, cluster = hands(first)
    end = found.surge("operator a")
    assert cluster.log == ["start a beside it"]
    assert first.successor is not None
    end()
    end()
    assert cluster.log == ["start a beside it", "kill a@1"]
    task = program("t")
    found, cluster = hands(programs=[task])
    end = found.surge("operator t")
    task.process.fenced = True  # it was killed meanwhile
    end()
    found.surge("operator none")()
    assert cluster.log == ["restart t"]


@pytest.mark.parametrize(
    ("name", "kind", "log"),
    [
        ("", "store", ["hold stores of a@1 at 7", "hold stores of b@1 at 7"]),
        ("operator b", "store", ["hold stores of b@1 at 7"]),
        ("operator b", "unknown", ["hold unknown of b@1 at 7"]),
        ("operator none", "store", []),
    ],
)
def test_the_watches_of_one_operator_or_of_all_are_held(name, kind, log):
    found, cluster = hands(operator("a"), operator("b"), operator("c", alive=False))
    release = found.hold(name, kind, 7)
    assert cluster.log == log
    release()
    assert cluster.log[len(log) :] == [one.replace("hold", "release").partition(" at")[0] for one in log]


@pytest.mark.parametrize(
    ("releases", "is_old", "given", "started"),
    [
        (Releases(min, max), False, max, max),
        (Releases(min, max), True, max, min),
        (Releases(min, max), True, print, print),  # another function of the test
        (Releases(min, max), True, min, min),
        (None, True, max, max),
    ],
)
def test_a_release_is_started_in_place_of_the_new_one(releases, is_old, given, started):
    found, _ = hands(releases=releases, is_old=is_old)
    assert found.released(given) is started
    found.switch(not is_old)
    assert found.released(given) is (given if releases is None or given is not max else max if is_old else min)


class Requests:
    """The requests of a competing writer, each with whether the record was told of it."""

    def __init__(self, recorder, error=None):
        self.made, self._recorder, self._error = [], recorder, error

    def begin(self, method, path, *, headers, body):
        self.made.append(
            (method, path, headers["User-Agent"], headers["Content-Type"], json.loads(body), self._recorder.racing)
        )
        if self._error is not None:
            raise self._error


def racing(kind="store", namespace="prod", before=(), error=None, namespaced=True):
    """The requests of a competing writer of `store/a`."""
    resource = Resource(
        "example.com", "v1", "stores", "store", "Store", "StoreList", namespaced, frozenset(), "stores.example.com"
    )
    kinds = SimpleNamespace(resource=lambda name: resource if name == "store" else None)
    recorder = SimpleNamespace(kinds=kinds, racing=False)
    cluster = Cluster()
    requests = Requests(recorder, error)
    cluster.access = SimpleNamespace(transport=lambda: requests)
    found = ClusterHands(cluster, recorder)
    one = replace(commit(5, "update", "store/a"), kind=kind, namespace=namespace, before=None if before is None else {})
    return found, one, requests, recorder


@pytest.mark.parametrize(("how", "field"), [("label", "labels"), ("annotate", "annotations")])
@pytest.mark.parametrize(
    ("namespaced", "namespace", "path"),
    [
        (True, "prod", "/apis/example.com/v1/namespaces/prod/stores/a"),
        (False, "", "/apis/example.com/v1/stores/a"),
    ],
)
def test_a_competing_writer_patches_the_object(how, field, namespaced, namespace, path):
    found, one, requests, recorder = racing(namespace=namespace, namespaced=namespaced)
    found.race(how, one)
    body = {"metadata": {field: {"fakekube.dev/race": "1"}}}
    assert requests.made == [("PATCH", path, "race", "application/merge-patch+json", body, True)]
    assert recorder.racing is False


def test_a_competing_writer_needs_an_object():
    for changes in ({"before": None}, {"kind": "unknown"}):
        found, one, requests, _ = racing(**changes)
        found.race("label", one)
        assert requests.made == []


def test_what_is_written_after_a_competing_write_that_fails_is_not_one():
    found, one, _, recorder = racing(error=ConnectionError("x"))
    with pytest.raises(ConnectionError):
        found.race("label", one)
    assert recorder.racing is False


def test_what_else_atoms_do():
    enqueued = []
    found, cluster = hands(*(operator(name, enqueue_all=lambda name=name: enqueued.append(name)) for name in "ab"))
    cluster.faults = SimpleNamespace(
        compact=lambda: cluster.log.append("compact"),
        fail_webhooks=lambda name, times: cluster.log.append(f"fail {name} {times} times"),
    )
    cluster.jump = lambda clock, seconds: cluster.log.append(f"jump {clock} {seconds}")
    found.compact()
    found.time_out_webhooks()
    found.jump(5)
    found.resync()
    assert cluster.log == ["compact", "fail * 1 times", "jump None 5"]
    assert enqueued == ["a", "b"]


# --- how long a test waits


class Hits:
    """How often atoms have taken effect: at these times."""

    def __init__(self, cluster, times=()):
        self._cluster, self._times = cluster, times

    def __call__(self):
        return sum(one <= self._cluster.now for one in self._times)


def recovery(*operators, programs=(), timers=range(10, 4_000, 10), hits=(), failing=()):
    cluster = Cluster(operators, programs)
    cluster.timers = list(timers)
    found = ClusterHands(cluster, SimpleNamespace(kinds=KINDS))
    return Recovery(cluster, found, failing, Hits(cluster, hits)), cluster


def waited(found, cluster):
    asyncio.run(found.wait())
    return cluster.now


def test_nothing_is_waited_for_if_nothing_is_due():
    assert waited(*recovery(operator())) == 0.0


def test_what_never_comes_is_waited_for_two_minutes():
    found, cluster = recovery(operator())
    found.late = 1
    assert waited(found, cluster) == RECOVERY == 120.0
    found, cluster = recovery(operator(), timers=[7, 50])
    found.late = 1
    assert waited(found, cluster) == 50.0, "then nothing can happen any more"


@pytest.mark.parametrize(("until", "ends"), [(0.0, 0.0), (25.0, 30.0), (30.0, 30.0), (500.0, 500.0)])
def test_a_delay_is_waited_for_from_timer_to_timer(until, ends):
    found, cluster = recovery(operator())
    found.until = until
    assert waited(found, cluster) == ends


def test_the_end_is_reached_where_the_clock_can_move_no_more():
    found, cluster = recovery(operator(), timers=[119.999_999_5, 121.0])
    found.late = 1
    assert waited(found, cluster) == 119.999_999_5


class Retrying:
    """The view of a controller whose key has failed, and is tried again at a time."""

    name = "db"

    def __init__(self, cluster_of, *times, key="default/a"):
        self._cluster_of, self._times, self._key = cluster_of, times, key

    @property
    def waiting(self):
        now = self._cluster_of().now
        later = [timedelta(seconds=one - now) for one in self._times if one > now]
        return {self._key: later[0]} if later else {}

    ready = ()

    def failures(self, key):
        return 1 if self.waiting else 0


def retrying(*times, failing=(), hits=()):
    holder = []
    one = operator()
    one.views = lambda: [Retrying(lambda: holder[0], *times)]
    found, cluster = recovery(one, failing=failing, hits=hits)
    holder.append(cluster)
    return found, cluster


@pytest.mark.parametrize(
    ("at", "seconds", "ends"),
    [
        (50, 50.0, 50.0),
        (119, 119.0, 120.0),
        (600, 600.0, 600.0),  # a long back-off is waited for
        (LONGEST_RETRY, 1000.0, 1000.0),
        (1_500, 1500.0, 1001.0),  # but no longer than that of client-go
    ],
)
def test_a_retry_is_waited_for(at, seconds, ends):
    found, cluster = retrying(at)
    assert found.next_retries() == seconds
    assert waited(found, cluster) == ends


def test_a_retry_that_fails_in_the_reference_too_is_waited_for_two_minutes_only():
    found, cluster = retrying(600, failing={("db", "default/a")})
    assert found.next_retries() == 0.0
    assert waited(found, cluster) == 120.0


def test_a_retry_that_fails_by_another_fault_is_waited_for_again():
    found, cluster = retrying(300, 900, hits=[300])
    assert waited(found, cluster) == 900.0
    found, cluster = retrying(300, 900)
    assert waited(found, cluster) == 301.0, "by itself it is not"


@pytest.mark.parametrize(("ready", "runs", "is_due"), [(["k"], True, True), ([], True, False), (["k"], False, False)])
def test_a_key_that_has_failed_and_is_ready_is_due_unless_its_operator_is_frozen(ready, runs, is_due):
    one = operator()
    one.process.runs = runs
    one.views = lambda: [SimpleNamespace(name="db", waiting={}, ready=ready, failures=lambda key: 1)]
    assert recovery(one)[0].is_due() is is_due


def test_a_view_without_failures_is_not_waited_for():
    one = operator()
    one.views = lambda: [SimpleNamespace(name="db", waiting={"k": timedelta(9)}, ready=["l"], failures=lambda key: 0)]
    assert recovery(one)[0].is_due() is False


def controllers(*started):
    found = {}
    for number, one in enumerate(started):
        found[number] = SimpleNamespace(started=asyncio.Event())
        if one:
            found[number].started.set()
    return found


@pytest.mark.parametrize(
    ("started", "elects", "is_due"),
    [([True, True], False, False), ([True, False], False, True), ([True, False], True, True), ([], False, False)],
)
def test_a_controller_that_has_not_started_is_due_unless_another_replica_leads(started, elects, is_due):
    """A replica that is no leader starts no controllers; what is due then is that one leads."""
    one = operator()
    one.manager.controllers = controllers(*started)
    if elects:
        one.launch.options["election"] = SimpleNamespace(options=SimpleNamespace(lease_duration=15))
    assert recovery(one)[0].is_due() is is_due
    if elects:
        leader = operator("leader")
        leader.launch.options["election"] = one.launch.options["election"]
        leader.manager.elected.set()
        assert recovery(one, leader)[0].is_due() is False


@pytest.mark.parametrize("make", [operator, program])
@pytest.mark.parametrize(
    ("watched", "watching", "is_due"),
    [
        (set(), [], False),
        ({"pods"}, ["pods"], False),
        ({"pods"}, [], True),
        ({"pods", "stores"}, ["pods"], True),
        (set(), ["pods"], False),
    ],
)
def test_a_watch_that_is_not_open_again_is_due(make, watched, watching, is_due):
    one = make("a")
    found, cluster = recovery(one) if make is operator else recovery(programs=[one])
    found.watched[id(one.process)] = watched
    cluster.watches[:] = [SimpleNamespace(collection=name, client=("", one.process)) for name in watching]
    cluster.watches.append(SimpleNamespace(collection="stores", client=("", Process())))
    assert found.is_due() is is_due


@pytest.mark.parametrize(("durations", "lease"), [([], 0.0), ([15], 15.0), ([15, 40, 20], 40.0)])
def test_the_longest_lease(durations, lease):
    operators = []
    for number, seconds in enumerate(durations):
        operators.append(operator(f"o{number}"))
        operators[-1].launch.options["election"] = SimpleNamespace(options=SimpleNamespace(lease_duration=seconds))
    found, _ = recovery(*operators, operator("without"), operator("by hand", launch=None))
    assert found.lease == lease


@pytest.mark.parametrize(
    ("operators", "programs", "seconds", "ends"),
    [
        ([operator()], [], 0.0, 0.0),
        ([operator()], [], 30.0, 30.0),
        ([operator()], [], 665.0, 665.0),
        # what retries by rules of its own has 65 seconds at least; timers are due every 10 seconds
        ([], [program()], 0.0, 70.0),
        ([], [program()], 30.0, 70.0),
        ([], [program()], 665.0, 665.0),
    ],
)
def test_a_node_is_waited_for_as_long_as_it_is_away(operators, programs, seconds, ends):
    """Also for longer than two minutes."""
    found, cluster = recovery(*operators, programs=programs)
    found.begin(seconds)
    found.begin()
    assert waited(found, cluster) == ends


def test_operators_whose_retries_are_not_known_have_a_minute_and_more():
    found, cluster = recovery(programs=[program()])
    cluster.now = 10.0
    found.begin()
    assert (found.until, found.catches_up) == (75.0, False)
    cluster.now = 40.0
    found.released()
    assert (found.until, found.catches_up) == (105.0, True)
    cluster.now = 105.0
    assert found.catches_up is False
    found.until = 500.0
    found.begin()
    assert found.until == 500.0, "a longer delay stays"
    known, cluster = recovery(operator())
    cluster.now = 10.0
    known.begin()
    known.released()
    assert (known.until, known.catches_up) == (0.0, False)
