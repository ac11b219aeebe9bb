"""The log of requests: its records, its limits, and what is known of dropped records."""

import operator
from dataclasses import replace

import pytest

from fakekube.apiserver import requestlog
from fakekube.apiserver.requestlog import RequestLog
from tests.apiserver.api import info


def record(at=0.0, verb="get", resource="pods", code=200, path="", **more):
    request = replace(info(verb, resource, **more), path=path)
    return requestlog.record(at, request, "user", "agent", code, 7)


def test_a_record_repeats_the_request():
    request = info("create", "deployments", group="apps", namespace="d", subresource="scale")
    found = requestlog.record(
        1.5, request, "u", "a", 409, 8, name="n", reason="Conflict", message="m", trace="t", serial=9
    )
    expected = (1.5, "create", "deployments", "apps", "d", "n", "scale", "u", "a", 409, "Conflict", "", 8, "t", "m", 9)
    assert found == expected
    assert str(found) == "create deployments/scale d/n -> 409 Conflict"
    assert record(name="own").name == requestlog.record(0, info(name="own"), "", "", 200, 1, name="other").name == "own"


@pytest.mark.parametrize(
    ("more", "namespace", "text"),
    [
        ({"resource": "namespaces", "namespace": "d", "name": "d"}, "", "get namespaces d -> 200"),
        ({"resource": "namespaces", "group": "x.io", "namespace": "d", "name": "n"}, "d", "get namespaces d/n -> 200"),
        ({"resource": "pods", "namespace": "d"}, "d", "get pods d -> 200"),
        ({"resource": "", "verb": "", "path": "/version"}, "", "/version  -> 200"),
    ],
)
def test_the_namespace_of_a_record(more, namespace, text):
    found = record(**more)
    assert found.object_namespace == namespace
    assert str(found) == text


@pytest.mark.parametrize(
    ("verb", "resource", "code", "expected"),
    [
        ("get", "leases", 200, True),
        ("update", "leases", 200, True),
        ("patch", "leases", 200, True),
        ("create", "leases", 200, False),
        ("get", "leases", 404, False),
        ("get", "pods", 200, False),
    ],
)
def test_requests_of_leases(verb, resource, code, expected):
    assert requestlog.is_of_lease(record(0, verb, resource, code)) is expected


def times(log):
    return [int(one.at) for one in log]


def test_a_log_keeps_its_limit_and_at_most_an_eighth_more():
    log = RequestLog(limit=16)
    for number in range(18):
        log.append(record(number))
    assert (len(log), log.dropped({}, operator.eq)) == (18, 0)
    log.append(record(18))
    assert times(log) == list(range(3, 19))
    assert [int(one.at) for one in reversed(log)] == list(range(18, 2, -1))
    assert log.dropped({}, operator.eq) == 3


def test_leases_are_dropped_before_other_records():
    log = RequestLog(limit=100, leases=8)
    log.append(record(0))
    for number in range(1, 10):
        log.append(record(number, "update", "leases"))
        log.append(record(100 + number, "create", "leases", 201))
    assert len(log) == 19
    log.append(record(10, "update", "leases"))
    kept = [one for one in times(log) if one < 100]
    assert kept == [0, 3, 4, 5, 6, 7, 8, 9, 10]
    assert len(log) == 18
    for number in (11, 12):
        log.append(record(number, "update", "leases"))
    assert [one for one in times(log) if one < 100] == [0, *range(5, 13)]


def test_the_signatures_of_dropped_records():
    log = RequestLog(limit=8)
    for number, code in enumerate([200, 404, 404, 500, *[200] * 8]):
        log.append(record(number, code=code, name=str(number)))
    assert times(log) == list(range(4, 12)) or times(log) == list(range(2, 12))
    assert log.dropped({"verb": "get"}, operator.eq) == 12 - len(log)
    assert log.dropped({"code": 404, "verb": "get"}, operator.eq) == 2
    assert log.dropped({"code": 404, "verb": "list"}, operator.eq) == 0
    assert log.dropped({"code": 404, "name": "not in signatures"}, operator.eq) == 2


@pytest.mark.parametrize(
    ("body", "name"),
    [
        (b'{"metadata": {"name": "a"}}', "a"),
        ({"metadata": {"name": "a"}}, "a"),
        (b"{", ""),
        (b"[]", ""),
        ({}, ""),
        ({"metadata": []}, ""),
        ({"metadata": {}}, ""),
        ({"metadata": {"name": 1}}, ""),
    ],
)
def test_the_name_in_a_body(body, name):
    assert requestlog.name_in(body) == name
