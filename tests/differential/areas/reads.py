"""Lists, watches, tables and other reads of objects that the scenario has written."""

from __future__ import annotations

from tests.differential import definitions
from tests.differential.scenario import MERGE_PATCH, PROTOBUF, Draw, Object, Scenario, Step, create, patch

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
PARTIALS = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"

ACCEPTED = (
    TABLE, TABLE, f"{TABLE},application/json", PARTIAL, PARTIALS, f"{PARTIALS},{PARTIAL},application/json", "application/json", "application/yaml", "*/*",
    "text/html", "application/json;as=Table;v=v1beta1;g=meta.k8s.io", "application/json;as=Table;v=v9;g=meta.k8s.io", "application/json;as=Other;v=v1;g=meta.k8s.io",
    "text/plain, application/json;q=0.5", "application/cbor", "application/json;stream=watch", "", PROTOBUF,
    f"{PROTOBUF};as=Table;v=v1;g=meta.k8s.io", f"{PROTOBUF};as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
)  # fmt: skip

QUERIES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("limit", ("1", "2", "0", "-1", "x", "100")),
    ("resourceVersion", ("", "0", "${first}", "${last}", "x", "-1", "999999999999", "${middle}")),
    ("resourceVersionMatch", ("Exact", "NotOlderThan", "", "Other")),
    ("labelSelector", ("app=a", "app!=a", "app in (a,b)", "app notin (a)", "app", "!app", "app=a,tier=x", "app=", "app==a", "a b", "app in (", "app>1", "n>1", "n<3", "x/y/z=a", "App=A,")),
    ("fieldSelector", ("metadata.name=o1", "metadata.name!=o1", "metadata.namespace=${ns}", "status.phase=Running", "spec.nodeName=", "type=Opaque", "nosuch=1", "metadata.name",
                       "metadata.name=o1,metadata.name=o2", "spec.restartPolicy=Always", "metadata.labels.a=b", "=", "metadata.name==o1", "immutable=true")),
    ("continue", ("x", "", "${cont}")),
    ("timeoutSeconds", ("30", "0", "x", "-1")),
    ("sendInitialEvents", ("true", "false", "x")),
    ("allowWatchBookmarks", ("true", "false", "x")),
    ("includeObject", ("None", "Object", "Metadata", "Other")),
    ("pretty", ("true", "1", "false")),
    ("shardSelector", ("x",)),
    ("unknown", ("x",)),
)  # fmt: skip


def scenario(draw: Draw, namespace: str) -> Scenario:
    """Objects of one kind, and reads of them."""
    kind = draw.weighted(
        {
            "configmaps": 3,
            "pods": 4,
            "secrets": 1,
            "deployments": 2,
            "services": 1,
            "gadgets": 2,
            "nodes": 0,
            "events": 0.5,
            "jobs": 1,
        }
    )
    collection = _collection(kind, namespace)
    steps: list[Step] = []
    cleanup: list[str] = []
    if kind == "gadgets":
        steps += definitions.defined(namespace, _definition(namespace))
        cleanup = [definitions.path(namespace)]
    steps += _writes(draw, kind, namespace, collection)
    if kind == "services":
        cleanup = [f"{collection}/o{i}" for i in range(6)]
    for _ in range(draw.number(6, 10)):
        steps.append(_read(draw, collection))
    if draw.chance(0.3):
        steps += [
            Step(
                "DELETE",
                collection,
                query=tuple(_query(draw, "labelSelector", "fieldSelector", "limit", "resourceVersion")),
            ),
            Step("GET", collection),
        ]
    return Scenario(steps, cleanup)


def _collection(kind: str, namespace: str) -> str:
    if kind == "gadgets":
        return definitions.collection(namespace)
    root = {"deployments": "/apis/apps/v1", "events": "/api/v1", "jobs": "/apis/batch/v1"}.get(kind, "/api/v1")
    return f"{root}/namespaces/{namespace}/{kind}"


def _definition(namespace: str) -> Object:
    spec = {"type": "object", "properties": {"a": {"type": "string"}, "n": {"type": "integer"}}}
    columns = [
        {"name": "A", "type": "string", "jsonPath": ".spec.a"},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ]
    return definitions.definition(
        namespace,
        {"type": "object", "properties": {"spec": spec}},
        additionalPrinterColumns=columns,
        selectableFields=[{"jsonPath": ".spec.a"}],
    )


def _content(draw: Draw, kind: str, namespace: str) -> Object:
    small: Object = {"containers": [{"name": "c", "image": "x"}]}
    template = {"metadata": {"labels": {"app": "a"}}, "spec": small}
    match kind:
        case "pods":
            return {
                "spec": {
                    **small,
                    **draw.one(
                        (
                            {},
                            {"restartPolicy": "Never"},
                            {"nodeName": "n1"},
                            {"readinessGates": [{"conditionType": "x"}]},
                        )
                    ),
                }
            }
        case "deployments":
            return {
                "spec": {"replicas": draw.number(0, 3), "selector": {"matchLabels": {"app": "a"}}, "template": template}
            }
        case "jobs":
            return {"spec": {"template": {"spec": {**small, "restartPolicy": "Never"}}, "suspend": draw.chance(0.3)}}
        case "services":
            return {"spec": {"ports": [{"port": 80}], "type": draw.one(("ClusterIP", "NodePort"))}}
        case "secrets":
            return {"type": draw.one(("Opaque", "example.com/x")), "data": {"a": "YQ=="}}
        case "gadgets":
            return {"spec": {"a": draw.one("xy"), "n": draw.number(0, 3)}}
        case "events":
            return {
                "involvedObject": {"kind": "Pod", "name": "p", "namespace": namespace},
                "reason": draw.one(("A", "B")),
                "type": "Normal",
            }
    return {"data": {"a": draw.one("xy")}, **draw.one(({}, {"immutable": True}))}


KINDS = {
    "configmaps": "ConfigMap",
    "pods": "Pod",
    "secrets": "Secret",
    "deployments": "Deployment",
    "services": "Service",
    "events": "Event",
    "jobs": "Job",
}
VERSIONS = {"deployments": "apps/v1", "jobs": "batch/v1"}


def _writes(draw: Draw, kind: str, namespace: str, collection: str) -> list[Step]:
    count = draw.number(3, 5)
    steps = []
    for i in range(count):
        labels = draw.one(({"app": "a"}, {"app": "b"}, {"app": "a", "tier": "x"}, {}, {"n": "2"}))
        metadata: Object = {"name": f"o{i}", "labels": labels}
        if kind == "gadgets":
            body = definitions.gadget(namespace, f"o{i}", _content(draw, kind, namespace))
            body["metadata"] = metadata
        else:
            body = {
                "apiVersion": VERSIONS.get(kind, "v1"),
                "kind": KINDS[kind],
                "metadata": metadata,
                **_content(draw, kind, namespace),
            }
        variable = {0: "first", 1: "middle"}.get(i, "last")
        steps.append(create(collection, body, save={variable: "metadata.resourceVersion"}))
    for _ in range(draw.number(1, 3)):
        path = f"{collection}/o{draw.number(0, count - 1)}"
        if draw.chance(0.6):
            steps.append(
                patch(
                    path,
                    MERGE_PATCH,
                    {"metadata": {"labels": {"app": draw.one(("a", "b", None))}}},
                    save={"last": "metadata.resourceVersion"},
                )
            )
        else:
            steps.append(Step("DELETE", path, {"gracePeriodSeconds": 0} if kind == "pods" else None))
    return steps


def _query(draw: Draw, *names: str) -> list[tuple[str, str]]:
    known = dict(QUERIES)
    return [(name, draw.one(known[name])) for name in names if draw.chance(0.5)]


def _read(draw: Draw, collection: str) -> Step:
    headers = {"Accept": draw.one(ACCEPTED)} if draw.chance(0.35) else {}
    match draw.weighted({"list": 6, "page": 3, "watch": 5, "one": 2, "odd": 2}):
        case "list":
            names = [
                name
                for name, _ in QUERIES
                if name in ("limit", "resourceVersion", "resourceVersionMatch", "labelSelector", "fieldSelector")
            ]
            return Step("GET", collection, query=tuple(_query(draw, *draw.some(names, 3, 1))), headers=headers)
        case "page":
            more = (("continue", "${cont}"),) if draw.chance(0.6) else ()
            return Step(
                "GET",
                collection,
                query=(
                    ("limit", draw.one("12")),
                    *more,
                    *_query(draw, *draw.some(("labelSelector", "resourceVersion"), 1)),
                ),
                save={"cont": "metadata.continue"},
            )
        case "one":
            query = tuple(_query(draw, "resourceVersion", "pretty", "includeObject"))
            return Step("GET", f"{collection}/{draw.one(('o0', 'o1', 'nosuch'))}", query=query, headers=headers)
        case "odd":
            query = tuple((name, draw.one(values)) for name, values in draw.some(QUERIES, 4, 2))
            return Step("GET", collection, query=query, headers=headers)
    return _watch(draw, collection, headers)


def _watch(draw: Draw, collection: str, headers: Object) -> Step:
    query: list[tuple[str, str]] = [("watch", draw.one(("1", "true", "true", "")))]
    if draw.chance(0.85):
        query.append(("resourceVersion", draw.one(("0", "", "${first}", "${first}", "${middle}", "${last}", "x"))))
    query += _query(
        draw,
        *draw.some(
            (
                "labelSelector",
                "fieldSelector",
                "resourceVersionMatch",
                "sendInitialEvents",
                "allowWatchBookmarks",
                "timeoutSeconds",
            ),
            3,
        ),
    )
    if draw.chance(0.3):
        query = [
            ("watch", "1"),
            ("sendInitialEvents", "true"),
            ("resourceVersionMatch", "NotOlderThan"),
            ("allowWatchBookmarks", "true"),
            *_query(draw, "labelSelector"),
        ]
    accepted = (
        headers
        if headers.get("Accept") in (TABLE, PARTIAL, "application/yaml", "text/html", "application/json;stream=watch")
        else {}
    )
    return Step("GET", collection, query=tuple(query), headers=accepted, watch=True)
