"""Records of runs, as oracles judge them."""

from fakekube.simulation.anchor import Anchor, changed_fields
from fakekube.simulation.observation import Commit, Observation, ReconcileRecord


def obj(kind, name, uid="", generation=1, **more):
    return {"kind": kind, "metadata": {"name": name, "uid": uid or f"u-{name}", "generation": generation}, **more}


def commit(revision, verb, target, actor="operator db", before=None, after=None, occurrence=1, **more):
    kind, _, name = target.partition("/")
    fields = changed_fields(before or {}, after or {}) if verb == "update" else ()
    return Commit(revision, float(revision), Anchor(verb, target, fields, occurrence), kind, "default", name, actor,
                  before=before, after=after, **more)  # fmt: skip


def record(started=0.0, **more):
    return ReconcileRecord("db", 1, "db", "default/a", started, 0, 100, **more)


CHILD = obj("Pod", "a-0", spec={"image": "1"})
REFERENCE = Observation(
    0,
    final={"pod/a-0": CHILD},
    commits=[commit(1, "create", "store/a", "test"), commit(2, "create", "pod/a-0")],
    reconciles=[record()] * 3,
)


def conditions(**statuses):
    return {"status": {"conditions": [{"type": name, "status": status} for name, status in statuses.items()]}}
