"""A valid body for each resource of discovery: of the recorded scenarios, or of this module."""

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

from fakekube.apiserver.resource import Resource

Object = dict[str, Any]

PACKS = Path(__file__).parents[1] / "conformance" / "packs"
COLLECTION_PATH = re.compile(r"/(?:api/(v1)|apis/([^/]+)/([^/]+))(?:/namespaces/[^/]+)?/([a-z]+)")


def meta(name: str = "x") -> Object:
    return {"metadata": {"name": name}}


def slice_of(node: str, name: str) -> Object:
    """A ResourceSlice of a node, without devices."""
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    return {**meta(name), "spec": {"driver": "d.example.com", "pool": pool, "nodeName": node, "devices": []}}


#: Kinds that no recorded scenario creates.
BODIES: dict[tuple[str, str], Object] = {
    ("networking.k8s.io", "ipaddresses"): {
        **meta("10.0.0.9"),
        "spec": {"parentRef": {"resource": "services", "name": "x", "namespace": "default"}},
    },
    ("networking.k8s.io", "servicecidrs"): {**meta(), "spec": {"cidrs": ["10.9.0.0/24"]}},
    ("storage.k8s.io", "csinodes"): {**meta(), "spec": {"drivers": []}},
    ("storage.k8s.io", "csistoragecapacities"): {**meta(), "storageClassName": "fast"},
    ("storage.k8s.io", "volumeattachments"): {
        **meta(),
        "spec": {"attacher": "a.example.com", "nodeName": "n", "source": {"persistentVolumeName": "pv"}},
    },
    ("storage.k8s.io", "volumeattributesclasses"): {**meta(), "driverName": "d.example.com", "parameters": {"a": "b"}},
    ("resource.k8s.io", "deviceclasses"): {**meta(), "spec": {}},
    ("resource.k8s.io", "resourceclaims"): {**meta(), "spec": {}},
    ("resource.k8s.io", "resourceclaimtemplates"): {**meta(), "spec": {"spec": {}}},
    ("resource.k8s.io", "resourceslices"): {
        **meta(),
        "spec": {
            "driver": "d.example.com",
            "nodeName": "n",
            "pool": {"name": "n", "generation": 1, "resourceSliceCount": 1},
        },
    },
    ("flowcontrol.apiserver.k8s.io", "flowschemas"): {
        **meta(),
        "spec": {"priorityLevelConfiguration": {"name": "exempt"}, "matchingPrecedence": 9000},
    },
    ("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations"): {
        **meta(),
        "spec": {"type": "Limited", "limited": {"nominalConcurrencyShares": 1, "limitResponse": {"type": "Reject"}}},
    },
    ("example.com", "widgets"): {**meta(), "spec": {"replicas": 1}},
}


@cache
def recorded_bodies() -> dict[tuple[str, str, str], Object]:
    """(group, version, plural) -> the first body that a recorded scenario creates."""
    found: dict[tuple[str, str, str], Object] = {}
    for pack in sorted(PACKS.glob("*.json")):
        content = json.loads(pack.read_text())
        for scenario in content if isinstance(content, list) else content["scenarios"]:
            for step in scenario["steps"]:
                path, _, query = step.get("path", "").partition("?")
                match = COLLECTION_PATH.fullmatch(path)
                created = step.get("method") == "POST" and step.get("response", {}).get("status") == 201
                if created and match and not query and isinstance(step.get("body"), dict):
                    core, group, of_group, plural = match.groups()
                    key = (group or "", core or of_group, plural)
                    found.setdefault(key, json.loads(json.dumps(step["body"]).replace("${ns}", "default")))
    return found


def body_of(resource: Resource) -> Object:
    own = BODIES.get((resource.group, resource.plural))
    body = own or recorded_bodies()[(resource.group, resource.version, resource.plural)]
    if resource.plural == "namespaces":
        body = {**body, "metadata": {"name": "of-a-test"}}
    return {"apiVersion": resource.api_version, "kind": resource.kind, **body}
