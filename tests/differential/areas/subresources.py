"""Subresources: scale, status, eviction, binding, resize, ephemeral containers, tokens, approvals."""

from __future__ import annotations

from typing import Any

from tests.differential import objects, vocabulary
from tests.differential.areas import reviews
from tests.differential.mutations import drawn, mutated, schemas
from tests.differential.scenario import (
    JSON_PATCH,
    MERGE_PATCH,
    STRATEGIC_PATCH,
    Draw,
    Object,
    Scenario,
    Step,
    create,
    patch,
)

SMALL: Object = {
    "containers": [
        {"name": "c", "image": "x", "resources": {"requests": {"cpu": "100m"}, "limits": {"cpu": "1", "memory": "1Gi"}}}
    ]
}


def scenario(draw: Draw, namespace: str) -> Scenario:
    """Requests to subresources of one kind, or reviews."""
    return draw.one(
        (
            _scale,
            _scale,
            _pod,
            _pod,
            _pod,
            _eviction,
            _eviction,
            _token,
            _approval,
            _status,
            _status,
            reviews.scenario,
            reviews.finalized,
        )
    )(draw, namespace)


def _maybe(draw: Draw, *values: Any) -> Any:
    """One of the values, rarely another one."""
    return draw.one(vocabulary.OTHER) if draw.chance(0.1) else draw.one(values)


def _scale(draw: Draw, namespace: str) -> Scenario:
    group, plural = draw.one(
        (("apps", "deployments"), ("apps", "replicasets"), ("apps", "statefulsets"), ("", "replicationcontrollers"))
    )
    found = objects.resource(group, plural)
    collection = objects.collection(found, namespace)
    path = f"{collection}/a"
    steps = [
        create(collection, objects.valid(draw, found, namespace, "a"), save={"uid": "metadata.uid"}),
        Step("GET", f"{path}/scale", save={"rv": "metadata.resourceVersion"}),
    ]
    for _ in range(draw.number(4, 8)):
        spec: Any = {"replicas": _maybe(draw, 0, 1, 5, -1, 2147483647, 2147483648)}
        metadata: Object = {
            "name": draw.one(("a", "a", "a", "b", "")),
            "namespace": draw.one((namespace, namespace, "", "other")),
        }
        if draw.chance(0.3):
            metadata[draw.one(("resourceVersion", "uid"))] = draw.one(("1", "", "${rv}", "${uid}"))
        body: Object = {
            "apiVersion": _maybe(draw, "autoscaling/v1", "autoscaling/v1", "v1"),
            "kind": _maybe(draw, "Scale", "Scale", "Deployment"),
            "metadata": metadata,
            "spec": spec,
        }
        query = draw.one(((), (), (("dryRun", "All"),), (("fieldManager", "m"),), (("fieldValidation", "Strict"),)))
        match draw.weighted(
            {"put": 4, "merge": 4, "json": 2, "strategic": 1, "apply": 2, "get": 1, "delete": 0.3, "status": 1}
        ):
            case "put":
                steps.append(Step("PUT", f"{path}/scale", body, query))
            case "merge":
                steps.append(patch(f"{path}/scale", MERGE_PATCH, {"spec": spec}, *query))
            case "json":
                change = [
                    {
                        "op": draw.one(("replace", "add", "test", "remove")),
                        "path": draw.one(("/spec/replicas", "/spec", "/status/replicas", "/metadata/name")),
                        "value": spec["replicas"],
                    }
                ]
                steps.append(patch(f"{path}/scale", JSON_PATCH, change, *query))
            case "strategic":
                steps.append(patch(f"{path}/scale", STRATEGIC_PATCH, {"spec": spec}, *query))
            case "apply":
                manager = draw.one(("m", "n"))
                more = (("force", "true"),) if draw.chance(0.5) else ()
                steps.append(
                    patch(f"{path}/scale", "application/apply-patch+yaml", body, ("fieldManager", manager), *more)
                )
            case "get":
                steps.append(
                    Step(
                        "GET",
                        f"{path}/scale",
                        headers={
                            "Accept": draw.one(("application/json;as=Table;v=v1;g=meta.k8s.io", "application/yaml"))
                        },
                    )
                )
            case "delete":
                steps.append(Step("DELETE", f"{path}/scale"))
            case "status":
                steps.append(
                    patch(
                        f"{path}/status",
                        MERGE_PATCH,
                        {"status": {"replicas": draw.number(0, 5), "observedGeneration": 1}},
                    )
                )
    return Scenario([*steps, Step("GET", path)])


def _pod_body(namespace: str, name: str, **spec: Any) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": "a"}},
        "spec": {**SMALL, **spec},
    }


def _pod(draw: Draw, namespace: str) -> Scenario:
    """Binding, status, resize, ephemeral containers and deletion of a pod."""
    collection = f"/api/v1/namespaces/{namespace}/pods"
    path = f"{collection}/p"
    steps = [
        create(
            collection,
            _pod_body(namespace, "p", **draw.one(({}, {"nodeName": "n1"}, {"schedulingGates": [{"name": "g"}]}))),
            save={"uid": "metadata.uid", "rv": "metadata.resourceVersion"},
        )
    ]
    schema = schemas().type("core.v1.Pod")
    for _ in range(draw.number(5, 9)):
        match draw.weighted(
            {
                "binding": 3,
                "bindings": 1,
                "status": 4,
                "resize": 4,
                "ephemeral": 4,
                "get": 1,
                "delete": 1,
                "log": 0.5,
                "exec": 0.3,
            }
        ):
            case "binding":
                steps.append(create(f"{path}/binding", _binding(draw, namespace)))
            case "bindings":
                steps.append(create(f"/api/v1/namespaces/{namespace}/bindings", _binding(draw, namespace)))
            case "status":
                body = (
                    {"status": drawn(draw, schema.fields["status"], "status", 3)}
                    if draw.chance(0.6)
                    else {"status": draw.one(STATUSES)}
                )
                steps.append(patch(f"{path}/status", draw.one((MERGE_PATCH, STRATEGIC_PATCH)), body))
            case "resize":
                steps.append(patch(f"{path}/resize", draw.one((MERGE_PATCH, STRATEGIC_PATCH)), _resize(draw)))
            case "ephemeral":
                container = mutated(
                    draw,
                    {"e": {"name": "d", "image": "busybox", "targetContainerName": "c"}},
                    _WRAPPED,
                    draw.number(0, 1),
                    ("e",),
                )
                containers = [container.get("e"), *draw.one(([], [{"name": draw.one("cdf"), "image": "x"}]))]
                steps.append(
                    patch(
                        f"{path}/ephemeralcontainers",
                        draw.one((MERGE_PATCH, STRATEGIC_PATCH)),
                        {"spec": {"ephemeralContainers": containers}},
                    )
                )
            case "get":
                steps.append(
                    Step(
                        "GET",
                        f"{path}/{draw.one(('status', 'ephemeralcontainers', 'resize', 'binding', 'eviction', 'nosuch'))}",
                    )
                )
            case "delete":
                steps.append(
                    Step(
                        "DELETE",
                        path,
                        draw.one(
                            (None, {"gracePeriodSeconds": 0}, {"gracePeriodSeconds": 5}, {"gracePeriodSeconds": -1})
                        ),
                    )
                )
            case "log":
                steps.append(
                    Step(
                        "GET",
                        f"{path}/log",
                        query=draw.one(
                            (
                                (),
                                (("container", "x"),),
                                (("tailLines", "-1"),),
                                (("sinceSeconds", "0"),),
                                (("limitBytes", "0"),),
                            )
                        ),
                    )
                )
            case "exec":
                steps.append(
                    Step(
                        draw.one(("GET", "POST")),
                        f"{path}/{draw.one(('exec', 'attach', 'portforward'))}",
                        query=draw.one(((), (("command", "x"),), (("container", "no"), ("command", "x")))),
                    )
                )
    return Scenario([*steps, Step("GET", path)])


class _Wrapped:
    """The schema of a map with the schema of an ephemeral container."""

    type = "object"
    required = frozenset()

    @property
    def fields(self) -> Any:
        return {"e": schemas().type("core.v1.EphemeralContainer")}


_WRAPPED: Any = _Wrapped()

STATUSES: tuple[Object, ...] = (
    {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
    {"phase": "Succeeded"},
    {"phase": "Other"},
    {"podIP": "1.2.3.4", "podIPs": [{"ip": "1.2.3.4"}]},
    {"podIP": "1.2.3.4", "podIPs": [{"ip": "1.2.3.5"}]},
    {"hostIP": "x"},
    {"containerStatuses": [{"name": "c", "ready": True, "restartCount": 1, "image": "x", "imageID": "y", "state": {"running": {}}}]},
    {"containerStatuses": [{"name": "c", "restartCount": 0, "image": "x", "imageID": "y", "state": {"terminated": {"exitCode": 1}}}]},
    {"containerStatuses": [{"name": "c", "restartCount": -1, "image": "x", "imageID": "y", "state": {"waiting": {"reason": "R"}}}]},
    {"nominatedNodeName": "n2"},
    {"qosClass": "Guaranteed"},
    {"conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}, {"type": "x", "status": "Maybe"}]},
    {"resize": "InProgress"},
    {"observedGeneration": -1},
    {"startTime": "2020-01-01T00:00:00Z"},
)  # fmt: skip


def _binding(draw: Draw, namespace: str) -> Object:
    target = draw.one(
        (
            {"kind": "Node", "name": "n1"},
            {"kind": "Node", "name": "n1"},
            {"name": "n2"},
            {"kind": "Pod", "name": "n1"},
            {"kind": "Node", "name": ""},
            {"kind": "Node", "name": "B_ad"},
        )
    )
    metadata: Object = {
        "name": draw.one(("p", "p", "p", "q", "")),
        **draw.one(
            (
                {},
                {"uid": "${uid}"},
                {"uid": "x"},
                {"resourceVersion": "${rv}"},
                {"annotations": {"k": "v"}, "labels": {"l": "m"}},
                {"namespace": "other"},
            )
        ),
    }
    return {"apiVersion": "v1", "kind": "Binding", "metadata": metadata, "target": target}


def _resize(draw: Draw) -> Object:
    amounts = {"cpu": draw.one(("100m", "200m", "2", "0", "x")), "memory": draw.one(("1Gi", "2Gi", "100Mi"))}
    container: Object = {
        "name": draw.one("cccz"),
        "resources": {
            draw.one(("requests", "limits")): {name: amounts[name] for name in draw.some(("cpu", "memory"), 2, 1)}
        },
    }
    if draw.chance(0.2):
        container |= draw.one(
            (
                {"image": "x:2"},
                {"resizePolicy": [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}]},
                {"resources": None},
                {"resources": {"claims": [{"name": "x"}]}},
            )
        )
    spec: Object = {"containers": [container]}
    if draw.chance(0.1):
        spec |= draw.one(
            (
                {"nodeName": "n9"},
                {"resources": {"requests": {"cpu": "1"}}},
                {"activeDeadlineSeconds": 5},
                {"initContainers": [{"name": "c"}]},
            )
        )
    return {"spec": spec}


def _eviction(draw: Draw, namespace: str) -> Scenario:
    core = f"/api/v1/namespaces/{namespace}/pods"
    budgets = f"/apis/policy/v1/namespaces/{namespace}/poddisruptionbudgets"
    steps = [
        create(core, _pod_body(namespace, f"p{i}", nodeName="n1"), save={f"uid{i}": "metadata.uid"}) for i in range(2)
    ]
    for i in range(2):
        status = {"status": draw.one(STATUSES[:2])}
        steps += [patch(f"{core}/p{i}/status", MERGE_PATCH, status)] if draw.chance(0.7) else []
    for i in range(draw.weighted({0: 1, 1: 4, 2: 1})):
        spec = {
            "minAvailable": 1,
            "selector": {"matchLabels": {"app": "a"}},
            **draw.one(
                ({}, {"unhealthyPodEvictionPolicy": "AlwaysAllow"}, {"unhealthyPodEvictionPolicy": "IfHealthyBudget"})
            ),
        }
        body = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": f"b{i}"}, "spec": spec}
        status = {
            "disruptionsAllowed": draw.number(0, 1),
            "currentHealthy": draw.number(0, 2),
            "desiredHealthy": 1,
            "expectedPods": 2,
            "observedGeneration": draw.number(0, 1),
        }
        steps += [create(budgets, body), patch(f"{budgets}/b{i}/status", MERGE_PATCH, {"status": status})]
    for _ in range(draw.number(3, 6)):
        name = draw.one(("p0", "p0", "p1", "nosuch"))
        body = {
            "apiVersion": draw.one(("policy/v1", "policy/v1", "policy/v1", "policy/v1beta1", "v1")),
            "kind": draw.one(("Eviction", "Eviction", "Eviction", "Other")),
            "metadata": {"name": draw.one((name, name, name, "other", ""))},
        }
        if draw.chance(0.5):
            body["deleteOptions"] = draw.one(
                (
                    {"gracePeriodSeconds": 0},
                    {"preconditions": {"uid": "${uid0}"}},
                    {"preconditions": {"uid": "x"}},
                    {"dryRun": ["All"]},
                    {"dryRun": ["x"]},
                    {"propagationPolicy": "Orphan"},
                    {"gracePeriodSeconds": -5},
                    {"preconditions": {"resourceVersion": "1"}},
                )
            )
        steps.append(create(f"{core}/{name}/eviction", body, *draw.one(((), (), (("dryRun", "All"),)))))
    return Scenario([*steps, Step("GET", core), Step("GET", budgets)])


def _token(draw: Draw, namespace: str) -> Scenario:
    core = f"/api/v1/namespaces/{namespace}"
    steps = [
        create(f"{core}/serviceaccounts", {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "s"}}),
        create(f"{core}/pods", _pod_body(namespace, "p", serviceAccountName="s"), save={"uid": "metadata.uid"}),
        create(
            f"{core}/secrets",
            {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "x"}},
            save={"secret": "metadata.uid"},
        ),
    ]
    bound = ({"kind": "Pod", "apiVersion": "v1", "name": "p", "uid": "${uid}"}, {"kind": "Pod", "apiVersion": "v1", "name": "p"}, {"kind": "Pod", "apiVersion": "v1", "name": "p", "uid": "x"},
             {"kind": "Secret", "apiVersion": "v1", "name": "x", "uid": "${secret}"}, {"kind": "Node", "apiVersion": "v1", "name": "nosuch"}, {"kind": "ConfigMap", "apiVersion": "v1", "name": "x"},
             {"kind": "Pod", "name": "p"}, {"kind": "Secret", "apiVersion": "v1", "name": "nosuch"})  # fmt: skip
    for _ in range(draw.number(4, 7)):
        spec: Object = {
            "audiences": _maybe(draw, ["api"], ["a", "b"], [], [""], None),
            "expirationSeconds": _maybe(draw, 3600, 600, 599, 0, 4294967297, None),
        }
        if draw.chance(0.5):
            spec["boundObjectRef"] = draw.one(bound)
        body = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": draw.one(("TokenRequest", "TokenRequest", "Token")),
            "spec": spec,
        }
        if draw.chance(0.2):
            body["metadata"] = draw.one(({"name": "s"}, {"name": "t"}, {"namespace": "other"}))
        steps.append(
            create(
                f"{core}/serviceaccounts/{draw.one(('s', 's', 's', 'nosuch'))}/token",
                body,
                *draw.one(((), (), (("dryRun", "All"),))),
            )
        )
    steps.append(
        create(
            "/apis/authentication.k8s.io/v1/tokenreviews",
            {
                "apiVersion": "authentication.k8s.io/v1",
                "kind": "TokenReview",
                "spec": {"token": draw.one(("x", "", "admin-token"))},
            },
        )
    )
    return Scenario(steps)


def _approval(draw: Draw, namespace: str) -> Scenario:
    found = objects.resource("certificates.k8s.io", "certificatesigningrequests")
    collection = objects.collection(found, namespace)
    body = objects.valid(draw, found, namespace, "a")
    path = f"{collection}/{body['metadata']['name']}"
    steps = [create(collection, body)]
    conditions = [
        {"type": kind, "status": _maybe(draw, "True", "True", "False", "Unknown"), "reason": "R", "message": "m"}
        for kind in draw.some(("Approved", "Denied", "Failed", "Other", ""), 2, 1)
    ]
    for _ in range(draw.number(4, 7)):
        change = draw.one(({"status": {"conditions": conditions}}, {"status": {"conditions": []}}, {"status": {"certificate": "YQ=="}}, {"status": {"conditions": conditions[:1]}},
                           {"status": {"conditions": [*conditions, *conditions]}}, {"spec": {"groups": ["x"]}}, {"status": {"certificate": ""}}))  # fmt: skip
        steps.append(
            patch(
                f"{path}/{draw.one(('approval', 'approval', 'status'))}",
                MERGE_PATCH,
                change,
                *draw.one(((), (("dryRun", "All"),))),
            )
        )
    return Scenario([*steps, Step("GET", path), Step("GET", f"{path}/approval")], [path])


def _status(draw: Draw, namespace: str) -> Scenario:
    """Writes of the status of a drawn kind, and of other parts at once."""
    found = draw.one([one for one in objects.resources() if "status" in one.subresources and not objects.is_tried(one)])
    schema = schemas().of_kind(found.group, found.version, found.kind)
    assert schema is not None
    collection = objects.collection(found, namespace)
    body = objects.valid(draw, found, namespace, "a")
    path = f"{collection}/{body['metadata']['name']}"
    steps = [create(collection, body), Step("GET", f"{path}/status")]
    for _ in range(draw.number(4, 8)):
        status = {"status": drawn(draw, schema.fields["status"], "status", 3)}
        if draw.chance(0.3):
            status |= draw.one(
                (
                    {"spec": {}},
                    {"metadata": {"labels": {"z": "1"}}},
                    {"metadata": {"finalizers": ["a/b"]}},
                    {"metadata": {"annotations": {"z": "1"}}},
                    {"spec": None},
                )
            )
        if draw.chance(0.4):
            steps.append(
                Step(
                    "PUT",
                    f"{path}/status",
                    {**body, **status, "metadata": {**body["metadata"], **status.get("metadata", {})}},
                )
            )
        else:
            steps.append(
                patch(
                    f"{path}/status",
                    draw.one((MERGE_PATCH, MERGE_PATCH, STRATEGIC_PATCH)),
                    status,
                    *draw.one(((), (), (("fieldValidation", "Strict"),))),
                )
            )
    return Scenario([*steps, Step("GET", path)], [path] if not found.namespaced or found.plural == "services" else [])
