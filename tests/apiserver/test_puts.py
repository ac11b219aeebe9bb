"""A PUT of each built-in kind: whether it creates an object, and whether it needs a resourceVersion."""

import pytest

from fakekube.apiserver.registry.builtin import STRATEGIES
from fakekube.server import bootstrap
from tests.apiserver.api import Api
from tests.apiserver.bodies import body_of, recorded_bodies
from tests.apiserver.test_rules_of_kinds import CREATED_BY_PUT, WITHOUT_UNCONDITIONAL_UPDATE

KINDS = {
    f"{one.qualified}/{one.version}": one
    for version in bootstrap.known_versions()
    for one in bootstrap._resources(version)
    if one.qualified in STRATEGIES
    and {"create", "update"} <= set(one.verbs)
    and (one.group, one.version, one.plural) in recorded_bodies()
    # of namespaces and accounts some are there already; labels of a Job have its uid, which is no label in these tests
    and one.plural not in ("namespaces", "serviceaccounts", "jobs")
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_put(kind):
    api, resource = Api(), KINDS[kind]
    body = body_of(resource)
    name = body["metadata"].setdefault("name", "x")
    body["metadata"].pop("namespace", None)
    root = f"/apis/{resource.api_version}" if resource.group else f"/api/{resource.api_version}"
    path = f"{root}{'/namespaces/default' if resource.namespaced else ''}/{resource.plural}"
    code, found = api.call("PUT", f"{path}/{name}", body)
    if resource.qualified in CREATED_BY_PUT:
        assert code == 201
    else:
        assert (code, found["reason"]) == (404, "NotFound")
        api.ok("POST", path, body)
    code, found = api.call("PUT", f"{path}/{name}", body)
    is_refused = "metadata.resourceVersion: Invalid value: 0: must be specified for an update" in found.get(
        "message", ""
    )
    assert is_refused is (resource.qualified in WITHOUT_UNCONDITIONAL_UPDATE), found
