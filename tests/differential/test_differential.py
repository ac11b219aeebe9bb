"""The tool that compares servers: what it draws, normalises, finds and prints."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime

import orjson
import pytest

from tests.differential import report
from tests.differential.__main__ import main
from tests.differential.areas import AREAS
from tests.differential.celexpressions import FORMS, LITERALS, PLACE, expression
from tests.differential.differences import CODE, OBJECT, WORDS, difference_of, distinct, pattern
from tests.differential.normalising import normalised
from tests.differential.running import answers
from tests.differential.scenario import Draw, Name, Step, filled, lookup
from tests.differential.servers import Answer, Local, Sent, decoded, events
from tests.differential.session import Session, drawn

NOW = datetime(2026, 11, 24, 12, tzinfo=UTC)
UID = "0f1e2d3c-0000-4000-8000-00000000000{}"


# --- what is drawn ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("area", AREAS)
def test_a_scenario_depends_on_seed_area_and_number_alone(area):
    first = [drawn(Name(1, area, number)) for number in range(12)]
    assert first == [drawn(Name(1, area, number)) for number in range(12)]
    assert first != [drawn(Name(2, area, number)) for number in range(12)]
    assert len({str(one.steps) for one in first}) == 12


@pytest.mark.parametrize("area", AREAS)
def test_what_is_of_the_whole_cluster_has_the_name_of_its_scenario(area):
    """Scenarios run at the same time: one must not change what another one sees."""
    for number in range(12):
        name = Name(1, area, number)
        for step in drawn(name).steps:
            tried = ("dryRun", "All") in step.query or "review" in step.path
            bound = name.namespace in step.path or name.namespace.encode() in encoded(step.body)
            assert step.method == "GET" or tried or bound, step.shown()


def encoded(body):
    return body if isinstance(body, bytes) else body.encode() if isinstance(body, str) else orjson.dumps(body)


def test_each_place_in_a_form_of_an_expression_is_a_type():
    places = {place for forms in FORMS.values() for form in forms for place in PLACE.findall(form)}
    assert places <= LITERALS.keys() == FORMS.keys()


def test_a_form_is_filled_once():
    """Braces of an inserted map are no places."""
    draw = Draw(Name(3, "expressions", 1))
    found = {expression(draw, "map", {}, 2) for _ in range(50)}
    assert any("{'a'" in one for one in found)
    assert not any("{int}" in one or "{string}" in one for one in found)


def test_a_variable_that_is_the_whole_text_keeps_its_type():
    body = {"a": "${n}", "b": ["x-${n}"], "${n}": "${unknown}"}
    assert filled(body, {"n": 5}) == {"a": 5, "b": ["x-5"], 5: "${unknown}"}


def test_lookup_follows_names_and_indexes():
    body = {"items": [{"metadata": {"name": "a"}}]}
    assert lookup(body, "items.0.metadata.name") == "a"
    assert lookup(body, "items.1.metadata.name") is None


# --- what is normalised -----------------------------------------------------------------------------------------------


def exchange(body, sent=None, method="POST", status=200, path="/api/v1/namespaces/x/things"):
    data = b"" if sent is None else orjson.dumps(sent)
    return Sent(method, path, (), {}, data), Answer(status, {"content-type": "application/json"}, body)


def bodies(*exchanges):
    return [answer["body"] for answer in normalised(exchanges, NOW)]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param({"uid": UID.format(1)}, {"uid": UID.format(2)}, id="uids"),
        pytest.param({"t": "2026-11-24T11:59:59Z"}, {"t": "2026-11-24T12:00:01Z"}, id="times"),
        pytest.param({"t": "2026-11-24T11:59:59.000001Z"}, {"t": "2026-11-24T11:59:59.9Z"}, id="microtimes"),
        pytest.param({"clusterIP": "10.0.0.7"}, {"clusterIP": "10.0.0.9"}, id="cluster IPs"),
        pytest.param({"nodePort": 30001}, {"nodePort": 32000}, id="node ports"),
        pytest.param({"cells": ["a", "5s"]}, {"cells": ["a", "1m3s"]}, id="ages"),
        pytest.param({"continue": "abc"}, {"continue": "def"}, id="continue tokens"),
        pytest.param({"message": "current: 12"}, {"message": "current: 7"}, id="revisions in messages"),
        pytest.param(
            {"metadata": {"resourceVersion": "12"}}, {"metadata": {"resourceVersion": "900"}}, id="resourceVersions"
        ),
        pytest.param(
            {"metadata": {"managedFields": [{"manager": "a"}, {"manager": "b"}]}},
            {"metadata": {"managedFields": [{"manager": "b"}, {"manager": "a"}]}},
            id="managedFields of one second",
        ),
    ],
)
def test_values_of_a_run_are_the_same_symbols(one, other):
    assert bodies(exchange(one)) == bodies(exchange(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param({"t": "2020-01-01T00:00:00Z"}, {"t": "2020-01-02T00:00:00Z"}, id="old times"),
        pytest.param({"a": UID.format(1), "b": UID.format(1)}, {"a": UID.format(1), "b": UID.format(2)}, id="two uids"),
        pytest.param({"resourceVersion": "0"}, {"resourceVersion": "5"}, id="resourceVersion 0"),
        pytest.param({"nodePort": 0}, {"nodePort": 32000}, id="no node port"),
        pytest.param({"t": "2026-11-24T12:00:00Z"}, {"t": "2026-11-24T12:00:00.5Z"}, id="precision of times"),
    ],
)
def test_other_values_stay_different(one, other):
    assert bodies(exchange(one)) != bodies(exchange(other))


def test_what_the_request_contains_is_not_replaced():
    sent = {"uid": UID.format(1), "clusterIP": "10.0.0.7", "nodePort": 30001}
    assert bodies(exchange(sent, sent)) == [sent]


def test_a_generated_name_is_its_prefix_and_the_number_of_the_request():
    made = {"metadata": {"generateName": "a-", "name": "a-x7k2p"}}
    sent = {"metadata": {"generateName": "a-"}}
    later = {"message": 'things "a-x7k2p" not found'}
    assert bodies(exchange(made, sent), exchange(later))[1] == {"message": 'things "a-<generated:0>" not found'}


def test_the_revision_of_a_list_is_that_of_the_last_answer_before_it():
    """Other scenarios write in between on a server that runs several at a time."""

    def found(list_revision):
        item = {"metadata": {"resourceVersion": "5"}}
        listed = {"items": [item], "metadata": {"resourceVersion": list_revision}}
        return bodies(exchange(item), exchange(listed, method="GET"))

    assert found("5") == found("17")
    assert found("4") != found("17")


def test_errors_that_a_go_map_orders_are_sorted():
    def refusal(*fields):
        causes = [{"field": field, "message": "bad"} for field in fields]
        message = 'Thing "a" is invalid: [' + ", ".join(f"{field}: Invalid value: 1" for field in fields) + "]"
        return {"kind": "Status", "message": message, "details": {"causes": causes}}

    of_map, of_list = ("spec.hard[b]", "spec.hard[a]"), ("spec.list[1]", "spec.list[0]")
    assert bodies(exchange(refusal(*of_map))) == bodies(exchange(refusal(*reversed(of_map))))
    assert bodies(exchange(refusal(*of_list))) != bodies(exchange(refusal(*reversed(of_list))))


def test_bookmarks_from_time_to_time_are_no_events():
    end = {"type": "BOOKMARK", "object": {"metadata": {"annotations": {"k8s.io/initial-events-end": "true"}}}}
    periodic = {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "5"}}}
    assert events(b"\n".join(orjson.dumps(one) for one in (end, periodic)) + b"\n") == [end]


def test_a_body_that_is_no_json_is_text():
    assert decoded(b"404 page not found\n", "text/plain") == "404 page not found\n"
    assert decoded(b"{", "application/json") == "{"


# --- what differs -----------------------------------------------------------------------------------------------------

NAME = Name(1, "builtin", 7, "ab12")
STEP = Step("POST", f"/apis/apps/v1/namespaces/{NAME.namespace}/deployments")


def answer(status=200, **body):
    return {"status": status, "headers": {}, "body": body}


@pytest.mark.parametrize(
    ("their", "our", "kind", "path", "message"),
    [
        pytest.param(answer(422, message='a "x" is bad'), answer(201), CODE, "422 here 201", 'a "…" is bad', id="code"),
        pytest.param(
            answer(spec={"a": [{"b": 1}]}), answer(spec={"a": [{"b": 2}]}), OBJECT, "deployments body.spec.a.*.b", "N here N", id="value"
        ),
        pytest.param(answer(spec={}), answer(spec={"x": "y"}), OBJECT, "deployments body.spec.x", "<absent> here y", id="absent"),
        pytest.param(answer(items=[1]), answer(items=[1, 2]), OBJECT, "deployments body.items.length", "N here N", id="length"),
        pytest.param(
            answer(422, message="port 80 is odd"), answer(422, message="port 80 is even"), WORDS, "message", "port N is »odd here port N is »even", id="words"
        ),
    ],
)  # fmt: skip
def test_the_rule_of_a_difference(their, our, kind, path, message):
    rule = difference_of(NAME, STEP, their, our).rule
    assert (rule.kind, rule.path, rule.message) == (kind, path, message)


@pytest.mark.parametrize(
    ("their", "our", "message"),
    [
        pytest.param(
            'x is invalid: [spec.a: Required value, spec.b: Too long: 5]', "x is invalid: [spec.a: Required value]",
            "spec.b: Too long: N here -", id="errors that one lacks",
        ),
        pytest.param(
            r'"" is invalid: patch: Invalid value: "{\"a\":1,\"b\":2}": bad', r'"" is invalid: patch: Invalid value: "{\"b\":2,\"a\":1}": bad',
            "patched object: fields in this order here in another order", id="order of a patched object",
        ),
        pytest.param(
            r'"" is invalid: patch: Invalid value: "{\"a\":{\"b\":2}}": bad', r'"" is invalid: patch: Invalid value: "{\"a\":{}}": bad',
            "patched object: a.b N here <absent>", id="content of a patched object",
        ),
        pytest.param(
            "ERROR: <input>:1:5: undeclared reference to 'x'\n | x", "ERROR: <input>:1:6: undeclared reference to 'x'\n | x",
            'CEL: undeclared reference to "…" here the same at another place', id="place of an error of CEL",
        ),
    ],
)  # fmt: skip
def test_the_rule_of_messages(their, our, message):
    assert difference_of(NAME, STEP, answer(422, message=their), answer(422, message=our)).rule.message == message


def test_the_same_answers_have_no_difference():
    assert difference_of(NAME, STEP, answer(a=1), answer(a=1)) is None


def test_numbers_quotes_and_names_do_not_distinguish_rules():
    assert pattern(f'{NAME.namespace}-a: "x[1]" in a[3] is 5') == pattern(f'{NAME.namespace}-b: "y" in a[4] is 6.5')


# --- runs -------------------------------------------------------------------------------------------------------------


class Planted:
    """A fakekube that answers some requests otherwise: `change` makes another answer of one, or returns it."""

    waits = False

    def __init__(self, change):
        self.server, self.change = Local(), change

    async def send(self, sent):
        return self.change(sent, await self.server.send(sent))

    async def watch(self, sent):
        return await self.server.watch(sent)


def run(theirs, area, numbers, **options):
    session = Session(theirs, Local(), 1, **options)
    return asyncio.run(session.only([(area, number) for number in numbers]))


@pytest.mark.parametrize("area", AREAS)
def test_two_servers_of_one_kind_have_no_difference(area):
    outcome = run(Local(), area, range(4))
    assert outcome.differences == []
    assert outcome.failures == []
    count = outcome.counts[area]
    assert count.requests == count.exact > 12


PLANTED = {
    CODE: lambda sent, found: replace(found, status=409) if sent.method == "POST" and found.status == 201 else found,
    OBJECT: lambda sent, found: replace(found, body={**found.body, "planted": 1}) if found.status == 201 else found,
    WORDS: lambda sent, found: (
        replace(found, body={**found.body, "message": "planted"})
        if found.status == 422 and "message" in found.body
        else found
    ),
}


@pytest.mark.parametrize("kind", PLANTED)
def test_a_planted_difference_is_reported(kind):
    outcome = run(Planted(PLANTED[kind]), "builtin", range(3))
    assert {one.rule.kind for one in outcome.differences} == {kind}
    rule, found = next(distinct(outcome.differences))
    assert rule.area == "builtin"
    assert len(found) >= 1
    text = "\n".join(report.lines(outcome))
    assert f"builtin {kind}: {rule.path}" in text
    assert f"repeat: --seed 1 --only builtin:{found[0].name.number}" in text


def test_a_scenario_ends_at_another_code():
    """What follows is written on another state."""
    outcome = run(Planted(PLANTED[CODE]), "builtin", [0])
    assert outcome.counts["builtin"].requests == 1


def test_what_differs_in_one_of_two_runs_does_not_count():
    """A server that has not finished what it was asked for answers otherwise the next time."""
    seen = []

    def once(sent, found):
        if found.status == 201 and not seen:
            seen.append(sent)
            return replace(found, body={**found.body, "planted": 1})
        return found

    assert run(Planted(once), "patches", [0]).differences == []
    assert seen


@pytest.mark.slow
def test_shares_count_words_apart():
    outcome = run(Planted(PLANTED[WORDS]), "builtin", range(3))
    count = outcome.counts["builtin"]
    assert count.exact + count.words == count.requests
    row = list(report.summary(outcome))[1].split()
    assert row[:4] == ["builtin", str(count.requests), f"{count.exact / count.requests:.2%}", "100.00%"]


def test_a_scenario_removes_what_is_of_the_cluster():
    name = Name(1, "custom", 0)
    server = Local()
    before = server.apiserver.store.size()
    asyncio.run(answers(server, name, drawn(name)))
    definitions = server.apiserver.store.collection("customresourcedefinitions.apiextensions.k8s.io").scan("", "", None)
    assert list(definitions) == []
    assert server.apiserver.store.size() >= before


def test_a_server_that_cannot_be_reached(capsys):
    assert main(["--url", "http://127.0.0.1:9", "--requests", "1"]) == 2
    assert "cannot reach" in capsys.readouterr().err


def test_an_area_that_does_not_exist(capsys):
    assert main(["--url", "http://127.0.0.1:9", "--area", "other"]) == 2
    assert "no such area: other" in capsys.readouterr().err
