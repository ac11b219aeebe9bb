"""The cluster's own controllers get the objects of the store itself, not copies."""

import pytest

from tests.controllers.storedobjects import none_changes
from tests.controllers.test_deployment import set_image
from tests.controllers.workloads import deployment


@pytest.mark.fakekube(controllers=["*"], nodes=2)
def test_a_paused_rollout_changes_no_stored_object(fakekube):
    """A Deployment is written several times in one reconcile, each time with another status."""
    with none_changes(fakekube):
        fakekube.create(deployment(3))
        fakekube.settle()
        for paused in (True, False):
            fakekube.patch("apps/v1", "Deployment", "web", {"spec": {"paused": paused, "replicas": 5}})
            set_image(fakekube, f"nginx:{paused}")
            fakekube.advance(60)
        fakekube.delete("apps/v1", "Deployment", "web")
        fakekube.advance(60)
