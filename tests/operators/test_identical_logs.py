"""Each published operator gives the same log in each run; `python -m tests.bench.determinism patroni=100` counts more."""

import pytest

from tests.determinism.test_determinism import first_difference
from tests.operators import scenario

RUNS = 2

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.filterwarnings("ignore:Kubernetes version:UserWarning"),
    pytest.mark.filterwarnings("ignore:datetime.datetime.utcnow:DeprecationWarning"),
    # the official client leaves sockets to the garbage collector
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.mark.parametrize("name", scenario.OPERATORS)
def test_runs_give_the_same_log(name):
    (first, requests), *others = [scenario.run(name) for _ in range(RUNS)]
    assert requests > 10
    for log, _ in others:
        assert log == first, f"first difference: {first_difference(first, log)}"


def test_another_seed_gives_another_log():
    assert scenario.run("luigi", seed=1)[0] != scenario.run("luigi", seed=2)[0]
