"""The times of the conditions of CertificateSigningRequests (`populateConditionTimestamps`)."""

import pytest

from fakekube.apiserver.registry.certificates.certificatesigningrequest.strategy import date_status, take_approval

NOW, BEFORE = "2026-01-02T00:00:00Z", "2026-01-01T00:00:00Z"
OLD = {"status": {"conditions": [{"type": "Approved", "status": "True", "lastTransitionTime": BEFORE}]}}


@pytest.mark.parametrize("write", [date_status, take_approval])
@pytest.mark.parametrize(
    ("given", "updated", "transition"),
    [
        pytest.param({"status": "True"}, NOW, BEFORE, id="it-stays"),
        pytest.param({"status": "False"}, NOW, NOW, id="it-changes"),
        pytest.param({"status": "True", "type": "Denied"}, NOW, NOW, id="it-is-new"),
        pytest.param({"status": "False", "lastTransitionTime": "t"}, NOW, "t", id="its-own-transition"),
        pytest.param({"status": "True", "lastUpdateTime": "u"}, "u", BEFORE, id="its-own-update"),
    ],
)
def test_the_times_that_a_condition_lacks(write, given, updated, transition):
    found = write({"status": {"conditions": [{"type": "Approved", **given}]}}, OLD, NOW)
    (condition,) = found["status"]["conditions"]
    assert (condition["lastUpdateTime"], condition["lastTransitionTime"]) == (updated, transition)


def test_a_transition_without_a_time_is_one_of_now():
    old = {"status": {"conditions": [{"type": "Approved", "status": "True"}]}}
    found = date_status({"status": {"conditions": [{"type": "Approved", "status": "True"}]}}, old, NOW)
    assert found["status"]["conditions"][0]["lastTransitionTime"] == NOW
