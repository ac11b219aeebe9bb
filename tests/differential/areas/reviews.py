"""Reviews of access and of users, and the finalizers of namespaces."""

from __future__ import annotations

from tests.differential import vocabulary
from tests.differential.scenario import MERGE_PATCH, Draw, Object, Scenario, Step, create, patch


def scenario(draw: Draw, namespace: str) -> Scenario:
    auth = "/apis/authorization.k8s.io/v1"
    steps: list[Step] = []
    for _ in range(draw.number(5, 9)):
        kind = draw.one(
            (
                "SubjectAccessReview",
                "SelfSubjectAccessReview",
                "LocalSubjectAccessReview",
                "SelfSubjectRulesReview",
                "SelfSubjectReview",
            )
        )
        spec: Object = {}
        if kind.endswith("AccessReview"):
            if draw.chance(0.85):
                attributes = {"namespace": draw.one((namespace, "", "other")), "verb": draw.one(("get", "*", "create", "")), "resource": draw.one(("pods", "*", "secrets", "")), "group": draw.one(("", "apps", "*")),
                              **draw.one(({}, {"name": "a"}, {"subresource": "log"}, {"version": "*"}, {"labelSelector": {"rawSelector": "a=b"}}, {"fieldSelector": {"requirements": [{"key": "a", "operator": "In", "values": ["b"]}]}},
                                          {"labelSelector": {"rawSelector": "a", "requirements": []}}, {"fieldSelector": {}}, {"labelSelector": {"requirements": [{"key": "a", "operator": "Bad"}]}}))}  # fmt: skip
                spec["resourceAttributes"] = attributes
            if draw.chance(0.25):
                spec["nonResourceAttributes"] = {
                    "path": draw.one(("/healthz", "/x", "")),
                    "verb": draw.one(("get", "")),
                }
            if kind != "SelfSubjectAccessReview":
                spec |= draw.one(
                    (
                        {"user": "alice"},
                        {"user": "admin", "groups": ["system:masters"]},
                        {"groups": ["dev"]},
                        {},
                        {"user": "alice", "uid": "u", "extra": {"a": ["b"]}},
                        {"user": "system:serviceaccount:default:x"},
                    )
                )
        elif kind == "SelfSubjectRulesReview":
            spec["namespace"] = draw.one((namespace, "", "other"))
        root = f"{auth}/namespaces/{namespace}" if kind.startswith("Local") else auth
        version = "authorization.k8s.io/v1"
        if kind == "SelfSubjectReview":
            root, version = "/apis/authentication.k8s.io/v1", "authentication.k8s.io/v1"
        body: Object = {
            "apiVersion": version,
            "kind": kind,
            "metadata": draw.one(({}, {}, {}, {"name": "x"}, {"labels": {"a": "b"}})),
            "spec": spec,
        }
        if kind == "SelfSubjectReview":
            body.pop("spec")
        if draw.chance(0.1):
            body[draw.one(("spec", "status", "unknown"))] = draw.one(vocabulary.OTHER)
        steps.append(
            create(
                f"{root}/{kind.lower()}s",
                body,
                *draw.one(((), (), (), (("dryRun", "All"),), (("fieldValidation", "Strict"),))),
            )
        )
    return Scenario(steps)


def finalized(draw: Draw, namespace: str) -> Scenario:
    """Finalizers of a second namespace."""
    name = f"{namespace}-b"
    path = f"/api/v1/namespaces/{name}"
    body: Object = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    steps = [create("/api/v1/namespaces", body)]
    for _ in range(draw.number(3, 6)):
        finalizers = draw.one(([], ["kubernetes"], ["example.com/x"], ["bad"], ["kubernetes", "example.com/x"], None))
        match draw.weighted({"finalize": 4, "put": 1, "delete": 2, "create": 2, "status": 2, "meta": 1}):
            case "finalize":
                steps.append(Step("PUT", f"{path}/finalize", {**body, "spec": {"finalizers": finalizers}}))
            case "put":
                steps.append(Step("PUT", path, {**body, "spec": {"finalizers": finalizers}}))
            case "delete":
                steps.append(
                    Step("DELETE", path, draw.one((None, {"dryRun": ["All"]}, {"propagationPolicy": "Orphan"})))
                )
            case "create":
                steps.append(
                    create(
                        f"{path}/configmaps",
                        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "c-"}},
                    )
                )
            case "status":
                steps.append(
                    patch(
                        f"{path}/status",
                        MERGE_PATCH,
                        {
                            "status": draw.one(
                                (
                                    {"phase": "Terminating"},
                                    {"phase": "Active"},
                                    {"phase": "Other"},
                                    {"conditions": [{"type": "x", "status": "True"}]},
                                )
                            )
                        },
                    )
                )
            case "meta":
                steps.append(
                    patch(path, MERGE_PATCH, {"metadata": {"finalizers": draw.one((["example.com/y"], [], ["bad"]))}})
                )
    return Scenario([*steps, Step("GET", path)], [path])
