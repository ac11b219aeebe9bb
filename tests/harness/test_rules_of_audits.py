"""What an audit says of answered requests: the latest, the writes since a mark, the busiest writers of a second."""

from types import SimpleNamespace

import pytest

from fakekube.apiserver.requestlog import RequestRecord
from fakekube.harness.audit import Audit, _is

OWN = "the test"


def record(serial, verb="update", at=0.0, agent="op", path="/a", **more):
    values = {"at": at, "verb": verb, "resource": "pods", "group": "", "namespace": "d", "name": "a", "subresource": "",
              "user": "ann", "user_agent": agent, "code": 200, "reason": "", "path": path, "revision": 1, **more}  # fmt: skip
    return RequestRecord(**values, serial=serial)


def audit(*records, at=0.0):
    made = object.__new__(Audit)
    made._runner, made._own = SimpleNamespace(log=list(records)), OWN
    made._clock = SimpleNamespace(monotonic=lambda: at)
    return made


LOG = [
    record(1, "create"), record(4, "get"), record(5, "patch", agent=OWN), record(7, "delete"), record(8, "deletecollection"),
    record(9, "list"), record(11, "update"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("mark", "serials"),
    [(0, [1, 7, 8, 11]), (1, [7, 8, 11]), (6, [7, 8, 11]), (7, [8, 11]), (10, [11]), (11, []), (99, [])],
)
def test_the_writes_of_others_since_a_mark(mark, serials):
    assert [one.serial for one in audit(*LOG).writes_since(mark)] == serials


def test_a_mark_is_the_serial_of_the_latest_request():
    assert (audit().mark(), audit(*LOG).mark(), audit(*LOG[:2]).mark()) == (0, 11, 4)
    assert audit(*LOG).writes_since(audit(*LOG).mark()) == []


def test_the_busiest_writers_of_the_present_second():
    earlier = [record(n, at=4.999) for n in range(9)]
    now = [
        *(record(20 + n, "update", at=5.0 + n / 10, path="/b") for n in range(3)),
        *(record(30 + n, "patch", at=5.5, agent="", path="/c") for n in range(2)),
        *(record(40 + n, "get", at=5.6, path="/d") for n in range(9)),
        *(record(50 + n, "create", at=5.9, path=f"/e{n}") for n in range(2)),
    ]
    found = audit(*earlier, *now, at=5.99)
    assert found.busiest() == ["op: update /b (3x)", "ann: patch /c (2x)", "op: create /e1 (1x)"]
    assert found.busiest(1) == ["op: update /b (3x)"]
    assert audit(*earlier, *now, at=6.0).busiest() == []
    assert audit(*earlier, at=4.0).busiest() == ["op: update /a (9x)"]


@pytest.mark.parametrize(
    ("value", "wanted", "equal"),
    [("pods", "p*", True), ("pods", "pods", True), ("p[o]ds", "p[o]ds", True), ("pods", "P*", False), (3, 3, True), (3, "3", False),
     ("3", 3, False), ("", "*", True)],
)  # fmt: skip
def test_a_text_is_equal_or_matches_a_pattern(value, wanted, equal):
    assert _is(value, wanted) is equal


@pytest.mark.parametrize("stored", ["a", "b", "ab", "aba", ""])
def test_a_request_has_stored_what_was_written_while_it_was_answered(stored):
    """Of two requests at a time, one waits meanwhile, for a webhook."""
    made, infos = audit(), {"a": object(), "b": object()}
    written = [(infos[name], serial, object()) for serial, name in enumerate(stored)]
    made._pending = list(written)
    assert list(made._stored_by(infos["b"])) == [one for one in written if one[0] is infos["b"]]
    assert list(made._pending) == [one for one in written if one[0] is infos["a"]]
