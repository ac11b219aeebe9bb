"""Requests over HTTP, beside the same aiohttp answering a constant.

Goals: GET of a small object at least 60 %, create at least 45 % of it.
"""

import itertools

import pytest

from tests.bench.wire import SERVERS, request, serving, talk

PATH = "/api/v1/namespaces/default/configmaps"
REQUESTS = 1_000
_names = itertools.count()


def config_map(name):
    meta = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"colour": "red"}}


POST_A = request("POST", PATH, config_map("a"))


@pytest.fixture(scope="module", params=SERVERS)
def url(request):
    with serving(request.param) as (url, _):
        talk(url, iter([POST_A]))
        yield url


def gets():
    return itertools.repeat(request("GET", f"{PATH}/a"), REQUESTS)


def creates():
    return iter([request("POST", PATH, config_map(f"n{next(_names)}")) for _ in range(REQUESTS)])


@pytest.mark.parametrize("connections", [1, 16])
@pytest.mark.parametrize("make", [gets, creates])
def test_a_thousand(benchmark, url, make, connections):
    benchmark.group = f"{REQUESTS} {make.__name__} over {connections} connections"
    benchmark.pedantic(talk, setup=lambda: ((url, make(), connections), {}), rounds=7, warmup_rounds=1)
    benchmark.extra_info["requests per second"] = round(REQUESTS / benchmark.stats.stats.median)
