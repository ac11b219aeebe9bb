import pytest

from tests.operators.configuration import configured


@pytest.fixture(autouse=True)
def kubeconfig(fakekube):
    """The path of a kubeconfig file that all client libraries use."""
    with configured(fakekube) as path:
        yield path
