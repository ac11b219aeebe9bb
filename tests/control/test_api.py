"""The control API over requests to it, in stepped time."""

import asyncio
import re
import socket

import orjson
import pytest

from fakekube import commandserver
from fakekube.control import journal
from fakekube.control.requestfields import camel
from fakekube.control.steering import ON_THE_WIRE, Beside
from fakekube.harness.detectors.knowndetectors import DEFAULTS
from fakekube.server.controldoor import Asked
from fakekube.server.process.listening import CannotServe
from fakekube.server.process.pacedloop import PacedLoop
from fakekube.server.standalone import Options
from tests.control.rig import CONFIGMAPS, HERE, stepped


@stepped
async def test_health_and_the_clock(it):
    code, found = await it.call("GET", "/health")
    assert (code, found["ready"], found["revision"]) == (200, True, str(it.runner.apiserver.store.revision))
    assert found["clock"] == {"mode": "stepped", "now": it.clock.epoch.isoformat(), "elapsed": 0.0}
    code, found = await it.call("POST", "/clock:advance", {"by": "1h30m"})
    assert (code, found["elapsed"]) == (200, 5400.0)
    assert it.clock.now().isoformat() == found["now"]
    assert (await it.call("PUT", "/clock", {"mode": "x60"}))[1]["mode"] == "x60"
    assert await it.refused("POST", "/clock:advance", {"by": 1}) == (
        409, "the clock is x60: time moves by steps only in the mode stepped",
    )  # fmt: skip
    assert (await it.refused("PUT", "/clock", {"mode": "fast"}))[0] == 400


@pytest.mark.parametrize(
    ("method", "path", "body", "code", "message"),
    [
        ("GET", "/nothing", None, 404, "the control API has no /_fakekube/v1/nothing"),
        ("PATCH", "/faults", None, 405, "/_fakekube/v1/faults takes POST, PUT, GET, DELETE, not PATCH"),
        ("POST", "/faults", [], 400, "the body is not a JSON object"),
        ("POST", "/faults", {"error": 503, "verbs": "get"}, 400, "/faults: unknown field 'verbs': did you mean 'verb'?"),
        ("POST", "/faults", {"verb": "update"}, 400, "a fault requires an error, a delay or a reset"),
        ("POST", "/faults", {"error": 404}, 400, "error=404: a server answers a correct request with 400, 404, 422 never by chance"),
        ("POST", "/faults", {"cutAfter": -1}, 400, "cutAfter=-1 must be a number of events"),
        ("POST", "/faults", {"cutAfter": 1, "error": 500}, 400, "error is no field of a fault of watches (accepted: "),
        ("POST", "/faults", {"error": 503, "resource": "pod"}, 400, "resource='pod': did you mean 'pods'?"),
        ("DELETE", "/faults/7", None, 404, "there is no fault '7'"),
        ("DELETE", "/holds/7", None, 404, "there is no hold '7'"),
        ("POST", "/holds", {"at": "x"}, 400, "at='x' must be a resourceVersion"),
        ("POST", "/server:down", {"for": "soon"}, 400, "not a duration: 'soon'"),
        ("GET", "/rbac", None, 400, "/_fakekube/v1/rbac: the field 'user' is required"),
        ("POST", "/requests:verify", {"match": {"agent": "x"}}, 400, "match: unknown field 'agent'"),
        ("POST", "/requests:verify", {"match": {"code": "4x"}}, 400, "code='4x' is not a code"),
        ("POST", "/requests:verify", {"match": {"verb": "post", "resource": "pods"}}, 400, "verb='post' matches no verb of the API: did you mean 'create'?"),
        ("POST", "/requests:verify", {"exactly": 1, "atLeast": 1}, 400, "pass exactly, or atLeast and atMost"),
        ("POST", "/requests:verify", {"exactly": 1, "atMost": 1}, 400, "pass exactly, or atLeast and atMost"),
        ("POST", "/requests:verify", {"atLeast": 3, "atMost": 2}, 400, "atLeast=3 is more than atMost=2"),
        ("POST", "/quiet", {"within": "2s"}, 400, "within='2s' is less than for=3.0"),
        ("POST", "/quiet", {"for": "30s", "within": 20}, 400, "within=20 is less than for='30s'"),
        ("POST", "/findings:allow", {"detector": "x", "reason": "y"}, 400, "allow(): there is no detector 'x'"),
        ("POST", "/snapshots/a:restore", None, 404, "there is no snapshot 'a'"),
        ("POST", "/eventually", {"get": "/api/v1/pods", "cel": "true"}, 400, "get='/api/v1/pods' is not the path of an object"),
        ("POST", "/eventually", {"get": f"{CONFIGMAPS}/a", "cel": "object."}, 400, "cel='object.': compilation failed: ERROR: <input>:1:"),
        ("POST", "/eventually", {"get": f"{CONFIGMAPS}/a"}, 400, "/_fakekube/v1/eventually: the field 'cel' is required"),
        ("POST", "/pods:script", {"do": {"explode": {}}}, 400, "do: pass one of fail, succeed, "),
        ("POST", "/pods:script", {"do": {"crash": {}}}, 409, "no node is simulated: start the server with --nodes 1"),
        ("POST", "/pods:script", {"do": {"run": {"effect": "/etc/passwd"}}}, 400, "do.run: effect is the text of manifests"),
        ("POST", "/nodes/a:lose", None, 409, "no node is simulated"),
        ("POST", "/nodes/a:explode", None, 404, "nodes have no action 'explode': lose, "),
        ("PUT", "/metrics", {"resource": []}, 409, "nothing reads metrics"),
        ("POST", "/controllers/job:suspend", None, 409, "no controller runs"),
    ],
)  # fmt: skip
def test_what_is_refused(method, path, body, code, message):
    @stepped
    async def ask(it):
        found = await it.refused(method, path, body)
        assert (found[0], message in found[1]) == (code, True), found

    ask()


@stepped
async def test_a_body_that_is_no_json_and_a_stranger(it):
    asked = Asked("POST", "/_fakekube/v1/reset", {}, HERE, b"{", "127.0.0.1")
    assert (await it.control.answer(asked)).status == 400
    stranger = await it.control.answer(asked._replace(peer="10.0.0.7"))
    assert (stranger.status, orjson.loads(stranger.body)["reason"]) == (401, "Unauthorized")


@stepped
async def test_the_document_lists_every_operation(it):
    answer = await it.control.answer(Asked("GET", "/_fakekube/openapi.json", {}, HERE, b"", "127.0.0.1"))
    found = orjson.loads(answer.body)
    listed = {(method.upper(), path) for path, methods in found["paths"].items() for method in methods}
    assert listed == {(one.method, f"/_fakekube/v1{one.path}") for one in it.control.operations}
    names = [one["operationId"] for methods in found["paths"].values() for one in methods.values()]
    assert len(set(names)) == len(names)
    assert all(one["summary"] for methods in found["paths"].values() for one in methods.values())
    fault = found["paths"]["/_fakekube/v1/faults"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert fault["properties"]["userAgent"] == {"type": "string"}
    assert "watch" in {one["name"] for one in found["paths"]["/_fakekube/v1/requests"]["get"]["parameters"]}
    assert (found["openapi"], found["info"]["title"]) == ("3.0.3", "fakekube control API")


@stepped
async def test_the_document_says_what_each_operation_needs_and_answers(it):
    """The rules of OpenAPI 3: parameters of a path are required, and bodies and answers have a media type."""
    answer = await it.control.answer(Asked("GET", "/_fakekube/openapi.json", {}, HERE, b"", "127.0.0.1"))
    found = orjson.loads(answer.body)
    for one in it.control.operations:
        described = found["paths"][f"/_fakekube/v1{one.path}"][one.method.lower()]
        parameters = described.get("parameters", [])
        in_path = {row["name"]: row["required"] for row in parameters if row["in"] == "path"}
        assert in_path == dict.fromkeys(re.findall(r"{(\w+)}", one.path), True)
        required = {camel(name) for name in one.required}
        queried = {row["name"]: row["required"] for row in parameters if row["in"] == "query"}
        body = described.get("requestBody", {}).get("content", {})
        if one.method == "GET":
            assert (queried, body) == ({name: name in required for name in one.fields}, {})
        else:
            schema = body["application/json"]["schema"] if one.fields else {}
            assert (queried, set(schema.get("required", ()))) == ({}, required)
            assert schema.get("additionalProperties", False) is False
            assert set(schema.get("properties", ())) == set(one.fields)
        answers = described["responses"]
        assert set(answers) == {str(one.code), "default"}
        assert set(answers[str(one.code)].get("content", ())) == ({one.content_type} if one.code != 204 else set())
        assert answers["default"]["content"]["application/json"]["schema"] == {"$ref": "#/components/schemas/Status"}
    assert set(found["components"]["schemas"]["Status"]["properties"]) == {"code", "reason", "message"}


# --- time


@stepped
async def test_a_mode_does_not_change_while_time_is_moved(it):
    moved = it.loop.advance(10)
    assert await it.refused("PUT", "/clock", {"mode": "real"}) == (409, "time is being advanced")
    assert await it.refused("POST", "/clock:advance", {"by": "1s"}) == (409, "time is being advanced")
    await moved


@stepped
async def test_the_time_of_another_loop_is_not_moved(it):
    it.steering.beside = Beside()
    assert (await it.call("GET", "/clock"))[1]["mode"] == "real"
    for method, path, body in (("PUT", "/clock", {"mode": "real"}), ("POST", "/clock:advance", {"by": "1s"})):
        assert await it.refused(method, path, body) == (409, "the time of this server is not its own")


# --- faults


@stepped
async def test_a_fault_is_armed_counted_and_disarmed(it):
    body = {"verb": "create", "resource": "configmaps", "userAgent": "mine*", "error": 503, "times": 1, "after": 1}
    code, made = await it.call("POST", "/faults", body)
    assert (code, made) == (201, {"id": "1", **body, "seen": 0, "hits": 0})
    codes = [
        (await it.make(name, user_agent=agent))[0]
        for name, agent in (("a", "mine"), ("b", "other"), ("c", "mine"), ("d", "mine"))
    ]
    assert codes == [201, 201, 503, 201]
    assert (await it.call("GET", "/faults/1"))[1] == {**made, "seen": 3, "hits": 1}
    assert await it.call("DELETE", "/faults/1") == (204, "")
    assert (await it.call("GET", "/faults"))[1] == {"items": []}
    assert (await it.make("e", user_agent="mine"))[0] == 201


@pytest.mark.parametrize(
    ("body", "rule"),
    [
        ({"error": 500, "delay": "8s"}, {"error": 500, "delay": 8.0, "verb": "*"}),
        ({"cutAfter": 3, "delay": 1}, {"verb": "watch", "cut_after": 3, "event_delay": 1}),
        ({"on": "watches", "delay": "2s"}, {"verb": "watch", "event_delay": 2.0, "delay": 0.0}),
        ({"body": "cut", "verb": "list", "delay": 1}, {"body": "cut", "verb": "list", "body_delay": 1}),
        ({"webhook": "default/hook", "refused": True}, {"webhook": "default/hook", "reset": "before"}),
        ({"on": "webhooks", "delay": 8}, {"webhook": "*", "delay": 8}),
    ],
)  # fmt: skip
def test_what_a_fault_is_about(body, rule):
    @stepped
    async def ask(it):
        assert (await it.call("POST", "/faults", body))[0] == 201
        [made] = it.steering.detection.scene.faults
        assert {name: getattr(made, name) for name in rule} == rule

    ask()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (None, "No such file or directory"),
        ("{verb: list}", "expected a list of faults, each a map"),
        ("[1]", "expected a list of faults, each a map"),
        ("[{error: 503}, 1]", "expected a list of faults, each a map"),
        ("[", "while parsing a flow node"),
        ("[{error: 1}]", "error=1 "),
        ("[{error: 503}, {colour: red}]", "unknown field 'colour'"),
    ],
)
def test_a_file_of_faults_that_cannot_be_armed_is_named(tmp_path, text, problem):
    file = tmp_path / "faults.yaml"
    if text is not None:
        file.write_text(text)

    @stepped
    async def arm(it):
        with pytest.raises(CannotServe) as refused:
            commandserver._arm(it.control, file)
        assert str(refused.value).startswith(f"--faults {file}: ")
        assert problem in str(refused.value)
        assert (await it.call("GET", "/faults"))[1] == {"items": []}

    arm()


def test_faults_of_a_file_are_armed(tmp_path):
    file = tmp_path / "faults.yaml"
    file.write_text("- {verb: create, error: 503, times: 1}\n- {verb: get, error: 500}\n")

    @stepped
    async def arm(it):
        commandserver._arm(it.control, file)
        assert [one["error"] for one in (await it.call("GET", "/faults"))[1]["items"]] == [503, 500]
        assert [(await it.make("a"))[0] for _ in range(2)] == [503, 201]

    arm()


@pytest.mark.parametrize(
    ("control", "with_faults", "reports", "steered", "answers"),
    [
        ("on", False, False, True, True),
        ("off", False, False, False, False),
        ("off", True, False, True, False),
        ("off", False, True, True, False),
        ("on", True, True, True, True),
    ],
)
def test_a_server_records_for_its_control_api_faults_or_reports(
    tmp_path, control, with_faults, reports, steered, answers
):
    file = tmp_path / "faults.yaml"
    file.write_text("- {verb: create, error: 503}\n")
    options = Options(control=control, faults=file if with_faults else None)

    async def look(found):
        return found.steering is not None, found.running.server.runner.control is not None

    async def main():
        with socket.create_server(("127.0.0.1", 0)) as sock:
            return await commandserver.served(
                options, commandserver.Selected((), None, (), 0, "text"), sock, look, reports=reports
            )

    with asyncio.Runner(loop_factory=PacedLoop) as runner:
        assert runner.run(main()) == (steered, answers)


@pytest.mark.parametrize(
    ("fault", "field", "kind"),
    [
        ({"stale": 1, "error": 500, "body": "cut"}, "error", "bodies"),
        ({"on": "requests", "error": 500, "holdAfter": 1, "cutAfter": 1}, "cutAfter", "requests"),
        ({"cutAfter": 1, "stale": 1, "error": 500}, "error", "watches"),
        ({"webhook": "w", "stale": 1, "cutAfter": 1}, "cutAfter", "webhooks"),
        ({"on": "watches", "userAgent": "a", "stale": 1}, "stale", "watches"),
    ],
)
def test_the_first_field_that_a_fault_does_not_have_is_named(fault, field, kind):
    @stepped
    async def ask(it):
        code, message = await it.refused("POST", "/faults", fault)
        assert (code, message.partition(" (accepted: ")[0]) == (400, f"{field} is no field of a fault of {kind}")
        assert (await it.call("GET", "/faults"))[1] == {"items": []}

    ask()


@stepped
async def test_all_faults_are_replaced_or_none(it):
    await it.call("POST", "/faults", {"error": 500, "verb": "get"})
    assert (await it.refused("PUT", "/faults", {"faults": [{"error": 503}, {"error": 1}]}))[0] == 400
    assert [one["id"] for one in (await it.call("GET", "/faults"))[1]["items"]] == ["1"]
    assert (await it.make("a"))[0] == 201
    found = (await it.call("PUT", "/faults", {"faults": [{"error": 503, "verb": "create"}]}))[1]
    assert [(one["verb"], one["error"]) for one in found["items"]] == [("create", 503)]
    assert (await it.make("b"))[0] == 503
    assert (await it.client().request("GET", CONFIGMAPS))[0] == 200


async def names(watch, count):
    found = []
    async for event in watch:
        found.append(event["object"]["metadata"]["name"])
        if len(found) == count:
            break
    return found


@stepped
async def test_a_hold_delays_watches_until_it_is_released(it):
    revision = str(it.runner.apiserver.store.revision)
    _, _, watch = await it.client("held/1").open_watch(CONFIGMAPS, query=[("resourceVersion", revision)])
    _, _, other = await it.client("free/1").open_watch(CONFIGMAPS, query=[("resourceVersion", revision)])
    late, soon = asyncio.ensure_future(names(watch, 1)), asyncio.ensure_future(names(other, 1))
    await asyncio.sleep(0)  # noqa: TID251 - both begin to read
    code, hold = await it.call("POST", "/holds", {"resource": "configmaps", "userAgent": "held*"})
    assert (code, hold["seen"], hold["at"]) == (201, 1, revision)
    await it.make("a")
    await it.call("POST", "/clock:advance", {"by": 1})
    assert (soon.done(), late.done()) == (True, False)
    assert await it.call("DELETE", f"/holds/{hold['id']}") == (204, "")
    assert await late == await soon == ["a"]
    assert it.runner.interception is None


@stepped
async def test_compaction_and_the_end_of_watches(it):
    before = str(it.runner.apiserver.store.revision)
    await it.make("a")
    assert await it.call("POST", "/compact") == (204, "")
    _, _, watch = await it.client().open_watch(CONFIGMAPS, query=[("resourceVersion", before)])
    [event] = [one async for one in watch]
    assert event["object"]["code"] == 410
    _, _, watch = await it.client().open_watch(
        CONFIGMAPS, query=[("resourceVersion", str(it.runner.apiserver.store.revision))]
    )
    reading = asyncio.ensure_future(names(watch, 1))
    await asyncio.sleep(0)  # noqa: TID251 - it begins to read
    assert await it.call("POST", "/watches:cut") == (204, "")
    assert await reading == []


@stepped
async def test_the_server_is_down_for_a_time(it):
    assert await it.call("POST", "/server:down", {"for": "30s"}) == (204, "")
    with pytest.raises(ConnectionRefusedError):
        await it.make("a")
    assert (await it.call("GET", "/health"))[1]["ready"] is False
    await it.call("POST", "/clock:advance", {"by": "29s"})
    assert it.runner.is_down
    await it.call("POST", "/clock:advance", {"by": "1s"})
    assert (await it.make("a"))[0] == 201
    await it.call("POST", "/server:down")
    await it.call("POST", "/clock:advance", {"by": "1h"})
    assert it.runner.is_down
    await it.call("POST", "/server:restart")
    assert (await it.make("b"))[0] == 201


# --- records


@stepped
async def test_requests_by_their_fields(it):
    await it.make("a")
    await it.call("POST", "/clock:advance", {"by": 60})
    await it.make("b", user_agent="other")
    await it.make("b", user_agent="other")
    await it.call("GET", "/health")

    async def found(**query):
        return [
            (one["verb"], one["name"], one["code"]) for one in (await it.call("GET", "/requests", **query))[1]["items"]
        ]

    assert await found() == [("create", "a", 201), ("create", "b", 201), ("create", "b", 409)]
    assert await found(userAgent="oth*", code="2xx") == [("create", "b", 201)]
    assert await found(code=409) == [("create", "b", 409)]
    assert await found(since="30s", limit=1) == [("create", "b", 409)]
    assert await found(resource="pods") == []
    [first, *_] = (await it.call("GET", "/requests", limit=9))[1]["items"]
    assert first["at"] == round(it.clock.epoch.timestamp(), 6)
    assert await it.call("DELETE", "/requests") == (204, "")
    assert await found() == []


@stepped
async def test_requests_are_streamed_as_they_come(it):
    await it.make("a")
    query = {"watch": ("true",), "name": ("a*",)}
    answer = await it.control.answer(Asked("GET", "/_fakekube/v1/requests", query, HERE, b"", "127.0.0.1"))
    lines = aiter(answer.stream)
    assert orjson.loads(await anext(lines))["name"] == "a"
    coming = asyncio.ensure_future(anext(lines))
    await asyncio.sleep(0)  # noqa: TID251 - it begins to wait
    await it.make("b")
    await it.make("ab")
    assert orjson.loads(await coming)["name"] == "ab"
    await answer.stream.aclose()


@stepped
async def test_a_verification_shows_the_nearest_requests(it):
    await it.make("a")
    await it.make("b", user_agent="other")
    match = {"verb": "create", "resource": "configmaps", "userAgent": "mine*"}
    assert await it.call("POST", "/requests:verify", {"match": match}) == (200, {"count": 1})
    assert await it.call("POST", "/requests:verify", {"match": match, "atMost": 1, "atLeast": 1}) == (200, {"count": 1})
    code, found = await it.call("POST", "/requests:verify", {"match": {**match, "name": "c"}, "exactly": 2})
    assert (code, found["message"]) == (417, "requests: expected exactly 2, there were 0")
    near = found["details"]["nearest"]
    assert [(one["request"]["name"], one["differs"]) for one in near] == [
        ("a", {"name": "a"}), ("b", {"userAgent": "other", "name": "b"}),
    ]  # fmt: skip


@stepped
async def test_a_verification_shows_the_requests_that_are_too_many(it):
    for name in "abcde":
        await it.make(name)
    match = {"verb": "create", "resource": "configmaps"}
    for limit in ({"exactly": 0}, {"exactly": 1}, {"atMost": 1}, {"atLeast": 1, "atMost": 1}):
        code, found = await it.call("POST", "/requests:verify", {"match": match, **limit})
        assert (code, found["details"]["count"], "nearest" in found["details"]) == (417, 5, False)
        assert [one["name"] for one in found["details"]["matching"]] == list("edcba")[: journal.NEAREST]
        assert found["message"].endswith("there were 5 (`matching` has the latest 3 of them)")
    (code, said) = await it.refused("POST", "/requests:verify", {"match": {**match, "name": "a"}, "exactly": 0})
    assert (code, said) == (417, "requests: expected exactly 0, there were 1")  # the list has all


@stepped
async def test_a_verification_of_too_few_shows_the_nearest_requests(it):
    await it.make("a")
    match = {"verb": "create", "resource": "configmaps"}
    code, found = await it.call("POST", "/requests:verify", {"match": match, "atLeast": 2, "atMost": 3})
    assert (code, found["message"], "matching" in found["details"]) == (
        417,
        "requests: expected at least 2, there were 1",
        False,
    )


@pytest.mark.parametrize(
    ("count", "limits", "problem"),
    [
        (1, (None, None, None), ""), (0, (None, None, None), "expected at least 1, there were 0"),
        (0, (None, 2, None), ""), (3, (None, 2, None), "expected at most 2, there were 3"),
        (2, (2, 2, None), ""), (1, (2, None, None), "expected at least 2, there were 1"),
        (0, (None, None, 0), ""), (1, (None, None, 0), "expected exactly 0, there were 1"),
    ],
)  # fmt: skip
def test_how_many_requests_are_expected(count, limits, problem):
    assert journal.problem_of(count, *limits) == problem


@stepped
async def test_findings_of_a_client_by_its_user_agent(it):
    client = it.client("operator/1.0")
    await client.open_watch(CONFIGMAPS)
    await it.make("a", user_agent="operator/1.0")
    for number in range(101):
        await client.request("PUT", f"{CONFIGMAPS}/a", body={"metadata": {"name": "a"}, "data": {"count": str(number)}})
        await it.call("POST", "/clock:advance", {"by": 0.01})
    await client.request("PUT", f"{CONFIGMAPS}/a", body={"metadata": {"name": "a"}, "data": {"count": "100"}})
    await it.call("POST", "/faults", {"error": 503, "verb": "delete"})
    for _ in range(2):  # to read them changes nothing
        found = (await it.call("GET", "/findings"))[1]["items"]
        assert [(one["detector"], one["level"], one["times"]) for one in found] == [
            ("hot-loop", "error", 1), ("noop-write", "warn", 1), ("unused-fault", "error", 1),
        ]  # fmt: skip
    assert "operator/1.0 has written" in found[0]["text"]
    assert found[2]["text"] == 'the fault {"verb":"delete","error":503} matched no request'
    assert len((await it.call("GET", "/findings", detector="hot-loop"))[1]["items"]) == 1
    await it.call("POST", "/findings:allow", {"detector": "hot-loop", "reason": "counts", "match": "operator"})
    assert (await it.call("GET", "/findings", detector="hot-loop"))[1] == {"items": []}
    await it.call("DELETE", "/findings")
    assert [one["detector"] for one in (await it.call("GET", "/findings"))[1]["items"]] == ["unused-fault"]
    await client.request("PUT", f"{CONFIGMAPS}/a", body={"metadata": {"name": "a"}, "data": {"count": "100"}})
    assert [one["detector"] for one in (await it.call("GET", "/findings"))[1]["items"]] == [
        "noop-write",
        "unused-fault",
    ]


def test_every_detector_of_foreign_clients_exists():
    assert set(ON_THE_WIRE) <= set(DEFAULTS)


@stepped
async def test_the_permissions_that_a_user_needs(it):
    await it.make("a")
    code, found = await it.call("GET", "/rbac", user="kubernetes-admin")
    assert (code, found["used"]) == (200, ["create configmaps in default"])
    assert found["missing"] == ["create configmaps in default"]  # the name alone has no role
    assert found["minimalRoles"][0]["rules"] == [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create"]}]
    code, text = await it.call("GET", "/rbac", user="kubernetes-admin", format="yaml")
    assert (code, text.startswith("apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\n")) == (200, True)


@stepped
async def test_a_verb_or_a_resource_that_no_request_can_have_is_refused(it):
    await it.make("a")
    for wanted, said in (
        ({"verb": "post", "resource": "pods"}, "verb='post' matches no verb of the API: did you mean 'create'?"),
        ({"verb": "frob"}, "verb='frob' matches no verb of the API: "),
        ({"resource": "pod"}, "resource='pod'"),
        ({"verb": "create", "resource": "configmap"}, "resource='configmap'"),
    ):
        code, message = await it.refused("GET", "/requests", **wanted)
        assert (code, message.startswith(said)) == (400, True)
    for wanted in ({"userAgent": "none"}, {"verb": "delete"}, {"resource": "pods"}, {"name": "b"}):
        assert await it.call("GET", "/requests", **wanted) == (200, {"items": []})


@stepped
async def test_requests_of_the_last_time_and_the_last_ones(it):
    for seconds in (0, 60, 30):
        await it.loop.advance(seconds)
        await it.make(f"a{seconds}")

    async def shown(**query):
        return [one["name"] for one in (await it.call("GET", "/requests", verb="create", **query))[1]["items"]]

    names = ["a0", "a60", "a30"]
    assert await shown() == names
    for since, count in (("0s", 1), ("29s", 1), ("30s", 2), ("1m", 2), ("89s", 2), ("90s", 3), ("1h", 3)):
        assert await shown(since=since) == names[-count:], since
    assert await shown(since="30s", limit=1) == names[-1:]
    for limit, found in ((0, []), (1, names[2:]), (2, names[1:]), (3, names), (9, names)):
        assert await shown(limit=limit) == found, limit
    assert await it.refused("GET", "/requests", limit=-1) == (400, "limit=-1 must be 0 or more")


@stepped
async def test_the_timeline_as_json_and_as_a_page(it):
    await it.make("a")
    _, found = await it.call("GET", "/timeline")
    assert [one["what"] for one in found["entries"]] == ["create configmaps default/a -> 201"]
    _, page = await it.call("GET", "/timeline.html")
    assert page.startswith("<!doctype html>")
    assert "create configmaps default/a" in page


# --- state


async def stored(it):
    _, _, found = await it.client().request("GET", CONFIGMAPS)
    return [one["metadata"]["name"] for one in found["items"]]


@stepped
async def test_snapshots_are_taken_and_restored_by_name(it):
    await it.make("a")
    code, taken = await it.call("PUT", "/snapshots/one")
    assert (code, taken["name"], taken["revision"]) == (201, "one", str(it.runner.apiserver.store.revision))
    await it.make("b")
    _, _, watch = await it.client().open_watch(CONFIGMAPS, query=[("resourceVersion", taken["revision"])])
    code, found = await it.call("POST", "/snapshots/one:restore")
    assert (code, int(found["revision"]) > int(taken["revision"]) + 1) == (200, True)
    assert await stored(it) == ["a"]
    assert (await it.call("GET", "/snapshots"))[1]["items"] == [taken]
    assert await it.call("DELETE", "/snapshots/one") == (204, "")
    assert (await it.refused("GET", "/snapshots/one"))[0] == 404
    del watch


@stepped
async def test_a_reset_returns_to_the_start(it):
    before = it.runner.apiserver.store.size()
    await it.make("a")
    await it.call("POST", "/faults", {"error": 503})
    await it.call("POST", "/holds", {"resource": "pods"})
    await it.call("POST", "/server:down")
    code, _ = await it.call("POST", "/reset")
    assert (code, it.runner.apiserver.store.size()) == (200, before)
    for path in ("/faults", "/holds", "/requests", "/findings"):
        assert (await it.call("GET", path))[1] == {"items": []}, path
    assert await stored(it) == []


@stepped
async def test_eventually_ends_while_the_clock_stands_still(it):
    body = {"get": f"{CONFIGMAPS}/a", "cel": "object != null", "within": "10ms"}
    assert (await it.call("POST", "/eventually", body))[0] == 417


@stepped
async def test_eventually_waits_for_an_expression(it):
    body = {"get": f"{CONFIGMAPS}/a", "cel": "object != null && object.data.x == '2'", "within": "10s"}
    waiting = asyncio.ensure_future(it.call("POST", "/eventually", body))
    await it.call("POST", "/clock:advance", {"by": 9})
    await it.make("a", "1")
    assert not waiting.done()
    await it.client().request("PATCH", f"{CONFIGMAPS}/a", headers={"Content-Type": "application/merge-patch+json"}, body={"data": {"x": "2"}})  # fmt: skip
    code, found = await waiting
    assert (code, found["object"]["kind"], found["object"]["data"]) == (200, "ConfigMap", {"x": "2"})
    assert (await it.call("POST", "/eventually", body))[0] == 200


@pytest.mark.parametrize(
    ("cel", "said"),
    [("object.data.x == '2'", "it is false"), ("object.data.y == '2'", "no such key: y"), ("object == null", "it is false")],
)  # fmt: skip
def test_an_expression_that_never_holds_is_refused_with_the_object(cel, said):
    @stepped
    async def ask(it):
        await it.make("a")
        waiting = asyncio.ensure_future(
            it.call("POST", "/eventually", {"get": f"{CONFIGMAPS}/a", "cel": cel, "within": 5})
        )
        await it.call("POST", "/clock:advance", {"by": 5})
        code, found = await waiting
        assert (code, said in found["message"], found["details"]["object"]["data"]) == (417, True, {"x": "1"})

    ask()


@stepped
async def test_quiet_waits_for_the_last_write_and_names_who_goes_on(it):
    waiting = asyncio.ensure_future(it.call("POST", "/quiet", {"for": "3s", "within": "20s", "ignore": ["noise*"]}))
    for number in range(4):
        await it.call("POST", "/clock:advance", {"by": 2})
        await it.make(f"a{number}")
        await it.make("a0", user_agent="again")  # it changes nothing
    assert not waiting.done()
    for number in range(3):
        await it.call("POST", "/clock:advance", {"by": 1})
        await it.make(f"b{number}", user_agent="noise/1")
    assert await waiting == (200, {"quietFor": 3.0})
    waiting = asyncio.ensure_future(it.call("POST", "/quiet", {"for": "3s", "within": "5s"}))
    for number in range(5):
        await it.call("POST", "/clock:advance", {"by": 1})
        await it.make(f"c{number}", user_agent="busy/1")
    code, found = await waiting
    assert (code, found["message"]) == (417, f"not quiet for 3 s within 5 s: busy/1: create {CONFIGMAPS}")
    (writer,) = found["details"]["writers"]
    assert (writer["userAgent"], writer["what"]) == ("busy/1", f"create {CONFIGMAPS}")
    assert writer["times"] == 2  # since the last pause


@stepped
async def test_quiet_counts_the_writes_of_each_client(it):
    waiting = asyncio.ensure_future(it.call("POST", "/quiet", {"for": "20s", "within": "20s"}))
    await it.loop.advance(1)
    for number in range(3):
        await it.make(f"a{number}", user_agent="busy/1")
    await it.make("b", user_agent="idle/1")
    await it.loop.advance(30)
    _, found = await waiting
    assert [(one["userAgent"], one["times"]) for one in found["details"]["writers"]] == [("busy/1", 3), ("idle/1", 1)]


@stepped
async def test_the_timeline_of_the_last_minute_and_its_last_entries(it):
    await it.make("a")
    await it.loop.advance(90)
    await it.make("b")
    await it.make("c")

    async def shown(**query):
        entries = (await it.call("GET", "/timeline", **query))[1]["entries"]
        return [one["object"] for one in entries if one["object"]]

    whole = await shown()
    assert [one[-1] for one in whole] == ["a", "b", "c"]
    assert await shown(since="1m") == whole[1:]
    assert await shown(since="90s") == whole  # the first one is just so old
    assert await shown(since="89s") == whole[1:]
    assert await shown(since="1m", last=1) == whole[2:]
    assert "/c" in (await it.call("GET", "/timeline.html", since="1m"))[1]
    assert (await it.refused("GET", "/timeline", since="soon"))[0] == 400
