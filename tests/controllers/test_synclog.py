"""What is logged of the reconciles of the cluster's controllers that fail."""

import logging

import pytest

from controllerlib import ApiError
from fakekube.controllers.core.namespacecontent import ContentFailure
from fakekube.controllers.lister import StaleCache
from fakekube.controllers.synclog import SYNC_LOG


def logged(caplog, error):
    with caplog.at_level(logging.DEBUG, "fakekube.controllers"):
        SYNC_LOG.error("Reconciler error: %s, %s", "job-controller", "default/a", exc_info=error)
    (record,) = caplog.records
    return record.levelname, record.getMessage(), bool(record.exc_info)


@pytest.mark.parametrize(
    ("error", "level"),
    [
        (ApiError(409, "Conflict", "the object has been modified"), "DEBUG"),
        (StaleCache("the object has been modified"), "DEBUG"),
        (ApiError(500, "InternalError", "the object has been modified"), "WARNING"),
        (ConnectionError("the object has been modified"), "WARNING"),
        (ContentFailure("the object has been modified"), "WARNING"),
    ],
    ids=["conflict", "stale cache", "other error of the API", "connection", "error of a controller"],
)
def test_expected_errors_are_a_line(caplog, error, level):
    line = f"Reconciler error: job-controller, default/a: {error}"
    assert logged(caplog, error) == (level, line, False)


def test_other_errors_have_a_traceback(caplog):
    assert logged(caplog, KeyError("spec")) == ("ERROR", "Reconciler error: job-controller, default/a", True)


@pytest.mark.fakekube(controllers=["deployment", "replicaset"])
def test_a_new_deployment_logs_no_warning(fakekube, caplog):
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "web", "image": "example.com/web"}]}}
    spec = {"selector": {"matchLabels": labels}, "template": template}
    meta = {"name": "web", "namespace": "default"}
    fakekube.create({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": spec})
    fakekube.settle()
    assert fakekube.controllers["deployment"].errors() != []  # it writes the status twice
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []
