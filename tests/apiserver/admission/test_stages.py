"""The stages of every write: each (resource, subresource, verb) of discovery is tested with recording policies,
webhooks, strategies and commits."""

import base64
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from fakekube.apiserver.needs import Posts, Reply
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.resource import Resource
from fakekube.apiserver.user import ADMIN
from fakekube.apiserver.wire.request import Request, parse
from fakekube.struct import replace
from tests.apiserver.api import CRDS, Api
from tests.apiserver.bodies import body_of, meta
from tests.apiserver.crd.test_custom import version, widgets

Object = dict[str, Any]

EXEMPT = "admissionregistration.k8s.io"
DEFINITIONS = "customresourcedefinitions"

#: Access reviews are rejected if they have metadata.
WITHOUT_METADATA = "authorization.k8s.io"

MUTATE, PREPARE, VALIDATE, REVIEW, COMMIT = "mutating webhook", "prepare", "validate", "validating webhook", "commit"


# --- recorders -------------------------------------------------------------------------------------------------------


def annotated(name: str) -> str:
    """The expression of a JSON Patch that sets an annotation."""
    return (
        "has(object.metadata.annotations)"
        f' ? [JSONPatch{{op: "add", path: "/metadata/annotations/{name}", value: "1"}}]'
        f' : [JSONPatch{{op: "add", path: "/metadata/annotations", value: {{"{name}": "1"}}}}]'
    )


HAS_HOOK = (
    "object != null && has(object.metadata) && has(object.metadata.annotations)"
    " && 'hook' in object.metadata.annotations"
)


def hooks(kind: str) -> Object:
    rules = [{"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*/*"]}]
    hook = {
        "name": "recorder.example.com",
        "clientConfig": {"url": f"https://recorder.example.com/{kind}"},
        "rules": rules,
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
    }
    name = f"{kind.capitalize()}WebhookConfiguration"
    return {"apiVersion": f"{EXEMPT}/v1", "kind": name, "metadata": {"name": "recorder"}, "webhooks": [hook]}


def policy(kind: str, spec: Object) -> Object:
    rules = [{"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*/*"]}]
    constraints: Object = {"resourceRules": rules}
    if kind == "Mutating":
        rules[0]["operations"] = ["CREATE", "UPDATE"]
        constraints["excludeResourceRules"] = [{**rules[0], "apiGroups": [WITHOUT_METADATA]}]
    return {
        "apiVersion": f"{EXEMPT}/v1",
        "kind": f"{kind}AdmissionPolicy",
        "metadata": {"name": "recorder"},
        "spec": {"matchConstraints": constraints, **spec},
    }


def binding(kind: str, **spec: Any) -> Object:
    return {
        "apiVersion": f"{EXEMPT}/v1",
        "kind": f"{kind}AdmissionPolicyBinding",
        "metadata": {"name": "recorder"},
        "spec": {"policyName": "recorder", **spec},
    }


POLICIES = {
    "mutatingadmissionpolicies": policy(
        "Mutating",
        {
            "reinvocationPolicy": "Never",
            "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": annotated("policy")}}],
        },
    ),
    "mutatingadmissionpolicybindings": binding("Mutating"),
    "validatingadmissionpolicies": policy(
        "Validating",
        {
            "validations": [
                {"expression": "false", "messageExpression": f"'seen after the webhook: ' + string({HAS_HOOK})"}
            ]
        },
    ),
    "validatingadmissionpolicybindings": binding("Validating", validationActions=["Warn"]),
    "mutatingwebhookconfigurations": hooks("mutating"),
    "validatingwebhookconfigurations": hooks("validating"),
}


@dataclass
class Recorder:
    """A server whose stages are recorded."""

    api: Api = field(default_factory=Api)
    stages: list[str] = field(default_factory=list)
    reviews: list[Object] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    while_waiting: Callable[[], None] | None = None
    patch: list[Object] | None = None
    """The patch of the mutating webhook; None: it sets the annotation `hook`."""

    def __post_init__(self) -> None:
        replicas = {"type": "object", "properties": {"replicas": {"type": "integer"}}}
        schema = {"type": "object", "properties": {"spec": replicas, "status": replicas}}
        paths = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
        self.api.ok("POST", CRDS, widgets(version("v1", schema, subresources={"status": {}, "scale": paths})))
        self.api.context.uid = uid  # type: ignore[method-assign]

    def record(self, resource: Resource) -> None:
        """Record the stages of a resource's writes from now on."""
        registration = self.api.apiserver.registration(resource)
        registration.strategy = self._recording(registration.strategy)
        for plural, obj in POLICIES.items():
            self.api.ok("POST", f"/apis/{EXEMPT}/v1/{plural}", obj)
        self.stages.clear()

    def _recording(self, strategy: Strategy) -> Strategy:
        def stage(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
            def recorded(new: Object, *old: Object) -> Any:
                annotations = new["metadata"].get("annotations") or {}
                seen = "" if "hook" in annotations or name == VALIDATE else " before the webhook"
                self.stages.append(name + seen)
                return function(new, *old)

            return recorded

        return replace(
            strategy,
            prepare_create=stage(PREPARE, strategy.prepare_create),
            prepare_update=stage(PREPARE, strategy.prepare_update),
            validate=stage(VALIDATE, strategy.validate),
            validate_update=stage(VALIDATE, strategy.validate_update),
            validate_update_with_warnings=(
                stage(VALIDATE, strategy.validate_update_with_warnings)
                if strategy.validate_update_with_warnings is not None
                else None
            ),
            validate_status_update=stage(VALIDATE, strategy.validate_status_update),
            validate_status_with_warnings=(
                stage(VALIDATE, strategy.validate_status_with_warnings)
                if strategy.validate_status_with_warnings is not None
                else None
            ),
        )

    def send(
        self, method: str, target: str, body: Any = b"", content_type: str = "application/json"
    ) -> tuple[int, Any]:
        url = urlsplit(target)
        query = parse_qs(url.query, keep_blank_values=True)
        request = Request(method, url.path, query, {"content-type": content_type}, body, ADMIN)
        self.stages.clear()
        self.reviews.clear()
        revision = self.api.revision
        step = self.api.apiserver.answer(request, parse(request), ADMIN, self.api.context)
        changes = len(self.api.changes)
        try:
            need = next(step)
            while True:
                changes = self._committed(changes)
                assert isinstance(need, Posts)
                replies = [self._reply(post.url, post.body) for post in need.posts]
                if self.while_waiting is not None:
                    self.while_waiting()
                    changes = len(self.api.changes)
                need = step.send(replies)
        except StopIteration as end:
            self._committed(changes)
            response = end.value
        self.warnings = list(response.warnings)
        if "dryRun=All" in target:
            assert self.api.revision == revision, "a dry run commits nothing"
        return response.status, response.body.to_object() if response.body is not None else None

    def _committed(self, changes: int) -> int:
        self.stages += [COMMIT] * (len(self.api.changes) - changes)
        return len(self.api.changes)

    def _reply(self, url: str, review: Object) -> Reply:
        request, mutating = review["request"], "/mutating" in url
        self.stages.append(MUTATE if mutating else REVIEW)
        self.reviews.append(request)
        response: Object = {"uid": request["uid"], "allowed": True}
        has_metadata = request["resource"]["group"] != WITHOUT_METADATA
        if mutating and has_metadata and request["operation"] in ("CREATE", "UPDATE"):
            present = request["object"]["metadata"].get("annotations")
            patch = self.patch or (
                [{"op": "add", "path": "/metadata/annotations/hook", "value": "1"}]
                if present
                else [{"op": "add", "path": "/metadata/annotations", "value": {"hook": "1"}}]
            )
            response |= {"patchType": "JSONPatch", "patch": base64.b64encode(json.dumps(patch).encode()).decode()}
        return Reply({"apiVersion": review["apiVersion"], "kind": "AdmissionReview", "response": response})


def uid(key: str) -> str:
    return f"{abs(hash(key)) % 16**12:012x}"


# --- rows ------------------------------------------------------------------------------------------------------------

#: Subresources whose POST is an action, and the body of one.
ACTIONS: dict[str, Object] = {
    "binding": {"apiVersion": "v1", "kind": "Binding", **meta("p"), "target": {"name": "n"}},
    "eviction": {"apiVersion": "policy/v1", "kind": "Eviction", **meta("p")},
    "token": {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}},
}
CONNECTIONS = ("attach", "exec", "portforward", "proxy")
WRITES = ("create", "update", "patch", "delete", "deletecollection")


@dataclass(frozen=True)
class Row:
    resource: Resource
    subresource: str
    verb: str

    def __str__(self) -> str:
        path = f"{self.resource.plural}/{self.subresource}" if self.subresource else self.resource.plural
        return f"{self.verb}-{path}.{self.resource.version}.{self.resource.group}"


def rows() -> Iterator[Row]:
    """Every write and every connection that discovery lists."""
    for resource in Recorder().api.apiserver.catalog.resources():
        for verb in WRITES:
            if verb in resource.verbs:
                yield Row(resource, "", verb)
        for name, sub in resource.subresources.items():
            for verb in ("get", *WRITES):
                if verb in sub.verbs and (verb != "get" or name in CONNECTIONS):
                    yield Row(resource, name, verb)


ROWS = list(rows())


def collection_of(resource: Resource) -> str:
    root = f"/apis/{resource.api_version}" if resource.group else "/api/v1"
    return f"{root}/namespaces/default/{resource.plural}" if resource.namespaced else f"{root}/{resource.plural}"


def is_stored(row: Row) -> bool:
    return "get" in row.resource.verbs


def object_path(recorder: Recorder, row: Row) -> str:
    """The path of an existing object."""
    collection = collection_of(row.resource)
    made = recorder.api.ok("POST", collection, body_of(row.resource))
    return f"{collection}/{made['metadata']['name']}"


def is_exempt(row: Row) -> bool:
    return row.resource.group == EXEMPT


def admission_sees(recorder: Recorder, row: Row, operation: str) -> None:
    """Check that the reviews of the webhooks describe the row."""
    for review in recorder.reviews:
        assert review["operation"] == operation
        assert review["requestResource"]["resource"] == row.resource.plural
        assert review.get("requestSubResource", "") == row.subresource
        assert review["kind"]["kind"], review


def expected(row: Row, *stages: str) -> list[str]:
    return [stage for stage in stages if not (is_exempt(row) and stage in (MUTATE, REVIEW))]


def seen(recorder: Recorder) -> list[str]:
    """The stages; several commits count as one for kinds whose controllers write, too."""
    found: list[str] = []
    for stage in recorder.stages:
        if not (stage == COMMIT and found[-1:] == [COMMIT]):
            found.append(stage)
    return found


def unhooked(row: Row, stages: list[str]) -> list[str]:
    return [stage.removesuffix(" before the webhook") if is_exempt(row) else stage for stage in stages]


def one_commit(recorder: Recorder, row: Row) -> None:
    if row.resource.plural not in (DEFINITIONS, "flowschemas") and row.subresource != "eviction":
        assert recorder.stages.count(COMMIT) <= 1, recorder.stages


def of_verb(*verbs: str, sub: Callable[[Row], bool] = lambda row: True) -> list[Any]:
    return [pytest.param(row, id=str(row)) for row in ROWS if row.verb in verbs and sub(row)]


def is_object(row: Row) -> bool:
    return not row.subresource and is_stored(row)


def is_part(row: Row) -> bool:
    return bool(row.subresource) and row.subresource not in (*ACTIONS, *CONNECTIONS)


def warned(recorder: Recorder, row: Row, *, after_the_webhook: bool = True) -> None:
    """Check that the validating policy received the object that the webhook returned."""
    shown = f"seen after the webhook: {'true' if after_the_webhook else 'false'}"
    assert any(shown in one for one in recorder.warnings) or is_exempt(row), recorder.warnings


@pytest.mark.parametrize("row", of_verb("create", sub=is_object))
def test_create(row: Row) -> None:
    recorder = Recorder()
    recorder.record(row.resource)
    body = body_of(row.resource)
    if is_exempt(row):
        body = {**body, "metadata": {**body["metadata"], "name": "another"}}
    wanted = expected(row, MUTATE, PREPARE, VALIDATE, REVIEW)
    code, answer = recorder.send("POST", f"{collection_of(row.resource)}?dryRun=All", body)
    assert code == 201, answer
    assert unhooked(row, recorder.stages) == wanted
    code, answer = recorder.send("POST", collection_of(row.resource), body)
    assert code == 201, answer
    assert unhooked(row, seen(recorder)) == [*wanted, COMMIT]
    one_commit(recorder, row)
    warned(recorder, row)
    admission_sees(recorder, row, "CREATE")
    if not is_exempt(row):
        assert answer["metadata"]["annotations"] | {"policy": "1", "hook": "1"} == answer["metadata"]["annotations"]
        assert recorder.reviews[0]["object"]["metadata"]["annotations"]["policy"] == "1", "policies run first"


@pytest.mark.parametrize("row", of_verb("update", "patch", sub=lambda row: is_object(row) or is_part(row)))
def test_update_and_patch(row: Row) -> None:
    recorder = Recorder()
    path = object_path(recorder, row)
    target = f"{path}/{row.subresource}" if row.subresource else path
    recorder.record(row.resource)
    wanted = expected(row, MUTATE, PREPARE, VALIDATE, REVIEW)
    if row.subresource not in ("", "scale"):
        wanted.remove(PREPARE)
        if row.subresource != "status":
            wanted.remove(VALIDATE)
    for query in ("?dryRun=All", ""):
        code, answer = change(recorder, row, path, target + query)
        assert code == 200, answer
        assert unhooked(row, [one for one in seen(recorder) if one != COMMIT]) == [
            stage + " before the webhook" if stage == PREPARE and row.subresource == "scale" else stage
            for stage in wanted
        ]
        if not row.subresource and not query:
            assert recorder.stages[-1] == COMMIT
        one_commit(recorder, row)
        kept = "hook" in (answer["metadata"].get("annotations") or {})
        assert kept or row.subresource or is_exempt(row), "only parts of an object leave its annotations alone"
        warned(recorder, row, after_the_webhook=kept)
        admission_sees(recorder, row, "UPDATE")


def change(recorder: Recorder, row: Row, path: str, target: str) -> tuple[int, Any]:
    """Send the request of the row for an existing object."""
    if row.verb == "patch":
        labels: Object = {"metadata": {"labels": {"changed": "1"}}}
        return recorder.send("PATCH", target, labels, "application/merge-patch+json")
    shown = recorder.api.ok("GET", target.partition("?")[0] if row.subresource == "scale" else path)
    body = json.loads(json.dumps(shown))
    body["metadata"]["labels"] = {**(body["metadata"].get("labels") or {}), "changed": "1"}
    return recorder.send("PUT", target, body)


@pytest.mark.parametrize(
    "row", of_verb("patch", sub=lambda row: (is_object(row) or is_part(row)) and not is_exempt(row))
)
def test_a_patch_reads_the_object_again_after_each_wait(row: Row) -> None:
    recorder = Recorder()
    path = object_path(recorder, row)
    target = f"{path}/{row.subresource}" if row.subresource else path
    recorder.record(row.resource)
    recorder.while_waiting = once(lambda: relabel(recorder, row.resource))
    code, answer = change(recorder, row, path, target)
    assert code == 200, answer
    assert recorder.stages.count(MUTATE) == 2, "the patch is applied again"
    assert recorder.api.ok("GET", path)["metadata"]["labels"]["concurrent"] == "1", "the other write is not lost"


@pytest.mark.parametrize("row", of_verb("delete", sub=lambda row: is_object(row) and not is_exempt(row)))
def test_a_delete_reads_the_object_again_after_each_wait(row: Row) -> None:
    recorder = Recorder()
    path = object_path(recorder, row)
    recorder.record(row.resource)
    recorder.while_waiting = once(lambda: relabel(recorder, row.resource))
    code, answer = recorder.send("DELETE", path)
    assert code == 200, answer
    assert recorder.stages.count(MUTATE) == 2
    assert recorder.reviews[-1]["oldObject"]["metadata"]["labels"]["concurrent"] == "1"


def once(action: Callable[[], None]) -> Callable[[], None]:
    pending = [action]
    return lambda: pending.pop()() if pending else None


def relabel(recorder: Recorder, resource: Resource, value: str = "1") -> None:
    """Another client changes the label of every object of the test."""
    store = recorder.api.apiserver.store
    for path, entry in list(store.collection(resource.collection).scan("", "", None)):
        labels = {**(entry.object["metadata"].get("labels") or {}), "concurrent": value}
        obj = {**entry.object, "metadata": {**entry.object["metadata"], "labels": labels}}
        recorder.api.apiserver.on_commit(store.update(resource.collection, path, entry, obj))


@pytest.mark.parametrize("row", of_verb("delete", "deletecollection", sub=is_object))
def test_delete(row: Row) -> None:
    recorder = Recorder()
    path = object_path(recorder, row)
    recorder.record(row.resource)
    target = (
        path
        if row.verb == "delete"
        else f"{collection_of(row.resource)}?fieldSelector=metadata.name={path.rpartition('/')[2]}"
    )
    joint = "&" if "?" in target else "?"
    for query in (f"{joint}dryRun=All", ""):
        code, answer = recorder.send("DELETE", target + query)
        assert code == 200, answer
        assert seen(recorder) == [*expected(row, MUTATE, REVIEW), *([] if query else [COMMIT])]
        warned(recorder, row, after_the_webhook=False)
        admission_sees(recorder, row, "DELETE")


@pytest.mark.parametrize("row", of_verb("create", sub=lambda row: row.subresource in ACTIONS))
def test_b4_action(row: Row) -> None:
    recorder = Recorder()
    name = "p"
    recorder.api.ok("POST", collection_of(row.resource), {**body_of(row.resource), **meta(name)})
    recorder.record(row.resource)
    target = f"{collection_of(row.resource)}/{name}/{row.subresource}"
    body = ACTIONS[row.subresource]
    for query in ("?dryRun=All", ""):
        code, answer = recorder.send("POST", target + query, body)
        assert code == 201, answer
        assert [one for one in seen(recorder) if one != COMMIT] == [MUTATE, REVIEW]
        assert (COMMIT in recorder.stages) == (not query and row.subresource != "token")
        warned(recorder, row)
        admission_sees(recorder, row, "CREATE")
        assert recorder.reviews[0]["kind"]["kind"] == body["kind"]


@pytest.mark.parametrize("row", of_verb("create", sub=lambda row: not row.subresource and not is_stored(row)))
def test_virtual_resources(row: Row) -> None:
    """Reviews, and bindings by name: created, never stored."""
    recorder = Recorder()
    if row.resource.plural == "bindings":
        pods = next(one for one in recorder.api.apiserver.catalog.resources() if one.collection == "pods")
        recorder.api.ok("POST", collection_of(pods), {**body_of(pods), **meta("p")})
    recorder.record(row.resource)
    code, answer = recorder.send("POST", collection_of(row.resource), body_of(row.resource))
    assert code == 201, answer
    assert [one for one in seen(recorder) if one != COMMIT] == [MUTATE, REVIEW]
    warned(recorder, row, after_the_webhook=row.resource.group != WITHOUT_METADATA)
    admission_sees(recorder, row, "CREATE")


@pytest.mark.parametrize(
    "row", of_verb("get", "create", "update", "patch", "delete", sub=lambda row: row.subresource in CONNECTIONS)
)
def test_b4_a6_connect(row: Row) -> None:
    recorder = Recorder()
    path = object_path(recorder, row)
    recorder.record(row.resource)
    method = {"get": "GET", "create": "POST", "update": "PUT", "patch": "PATCH", "delete": "DELETE"}[row.verb]
    code, _ = recorder.send(method, f"{path}/{row.subresource}?command=ls")
    assert code >= 400, "no node is there to connect to"
    assert recorder.stages == [MUTATE, REVIEW]
    warned(recorder, row, after_the_webhook=False)
    admission_sees(recorder, row, "CONNECT")
    assert recorder.reviews[0]["kind"]["kind"].endswith("Options")


def test_every_row_of_discovery_is_tested() -> None:
    groups: list[Callable[[Row], bool]] = [
        is_object,
        is_part,
        lambda row: row.subresource in ACTIONS,
        lambda row: row.subresource in CONNECTIONS,
        lambda row: not row.subresource and not is_stored(row),
    ]
    assert [str(row) for row in ROWS if sum(holds(row) for holds in groups) != 1] == []
    assert len(ROWS) > 400
