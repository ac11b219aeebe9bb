"""Rules of injected faults as values: what they accept, which requests they affect, and what happens to these."""

import re
from types import SimpleNamespace

import pytest

from fakekube.apiserver.damage import MALFORMED, Damage, damaged
from fakekube.apiserver.faults.fault import Fault
from fakekube.apiserver.faults.injectederrors import ERRORS, UNREALISTIC, ProxyAnswer, error_of
from fakekube.apiserver.faults.rule import FaultRule, Faults
from fakekube.apiserver.storage.watchfault import WatchFault
from tests.apiserver.api import info

NOTHING = "a fault requires an error, a delay or a reset, or another thing that happens to requests"
OF_WATCHES = "cut_after, cut_at, hold_after, gone_after and event_delay are of watches"
OF_WEBHOOKS = "webhook= takes only reset='before', delay, after, times and share beside it"
OF_BODIES = "body= and body_delay= damage whole responses: for a watch, use cut_after, cut_at or event_delay"
CODES = "[401, 403, 408, 409, 410, 429, 500, 502, 503, 504]"
COMMITTED = (
    "with committed=True: only 500, 502, 504 may follow a request that was processed; a server answers with all others,"
    " 429 for example, before it processes the request"
)
ANYWAY = " (unrealistic=True injects it nevertheless)"


def half(key, attempt):
    return 0.5


@pytest.mark.parametrize("name", ["verb", "resource", "name", "namespace", "user_agent", "subresource", "except_agent",
                                  "reset", "body", "cut_at", "webhook"])  # fmt: skip
def test_texts_are_strings(name):
    with pytest.raises(TypeError, match=f"^{name}=1 must be a string$"):
        FaultRule(**{"error": 500, name: 1})


@pytest.mark.parametrize("name", ["delay", "share", "body_delay", "event_delay"])
def test_seconds_and_shares_are_numbers(name):
    for value in ("1", True, None):
        with pytest.raises(TypeError, match=f"^{name}={value!r} must be a number$"):
            FaultRule(**{"error": 500, name: value})


@pytest.mark.parametrize(("share", "accepted"), [(-0.1, False), (0, False), (0.01, True), (1, True), (1.01, False)])
def test_a_share_is_a_part_of_all_requests(share, accepted):
    if accepted:
        assert FaultRule(error=500, share=share, draw=half).share == share
    else:
        with pytest.raises(ValueError, match="must be greater than 0 and at most 1"):
            FaultRule(error=500, share=share, draw=half)


@pytest.mark.parametrize("name", ["before", "draw"])
def test_functions_are_callable(name):
    with pytest.raises(TypeError, match=f"^{name}=1 must be a function$"):
        FaultRule(**{"error": 500, name: 1})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"verb": "reed", "error": 500}, "verb='reed' matches no verb of the API: "),
        *(({"times": times, "error": 500}, f"times={times!r} must be an integer of at least 1, or None for all requests") for times in (0, -1, True, 1.5)),
        *(({"after": after, "error": 500}, f"after={after!r} must be an integer of at least 0") for after in (-1, True, 0.5)),
        *(({"error": code}, f"error={code} must be one of {CODES}") for code in (0, 402, 411, 505)),
        ({"reset": "now"}, "reset='now' must be 'before' or 'after'"),
        ({"body": "torn"}, "body='torn' must be one of 'cut', 'truncated', 'malformed'"),
        *(({"error": 500, "share": share, "draw": half}, f"share={share} must be greater than 0 and at most 1, and below 1 requires draw") for share in (0, -0.1, 1.1)),
        ({"error": 500, "share": 0.9}, "share=0.9 must be greater than 0 and at most 1, and below 1 requires draw"),
        *(({"error": 500, name: -0.5}, f"{name}=-0.5 must not be negative") for name in ("delay", "body_delay", "event_delay")),
        *(({"verb": "watch", name: count}, f"{name}={count!r} must be a number of events, of at least 0") for name in ("cut_after", "hold_after", "gone_after") for count in (-1, True, "1")),
        ({"verb": "watch", "body": "cut"}, OF_BODIES),
        ({"verb": "watch", "body_delay": 1}, OF_BODIES),
        *(({"webhook": "*", **more}, OF_WEBHOOKS) for more in ({"error": 500}, {"body": "cut"}, {"cut_after": 1}, {"cut_at": "*"}, {"stale": 1}, {"reset": "after"})),
        ({}, NOTHING),
        ({"verb": "get", "times": 2}, NOTHING),
        *(({"verb": "list", **more}, f"verb='list': {OF_WATCHES}") for more in ({"cut_after": 0}, {"cut_at": "*"}, {"hold_after": 0}, {"gone_after": 0}, {"event_delay": 1})),
        ({"verb": "get", "stale": "x"}, "stale='x' must be a resourceVersion"),
        ({"verb": "get", "stale": -1}, "stale=-1 must be a resourceVersion"),
        ({"delay": 1, "committed": True}, "committed=True requires an error"),
        *(({"error": code}, f"error={code}: a server answers a correct request with 400, 404, 422 never by chance{ANYWAY}") for code in (400, 404, 422)),
        *(({"error": code, "committed": True}, f"error={code} {COMMITTED}{ANYWAY}") for code in (401, 409, 429, 503)),
        ({"verb": "get", "error": 410}, f"error=410 with verb='get': only a watch, or a list at a resourceVersion, can be too old for the compacted history: pass verb='watch' or verb='list'{ANYWAY}"),
        ({"stale": 1}, f"stale=1 with verb='*': only reads with resourceVersion=0 are answered from the watch cache, which may lag: pass verb='list', verb='get' or verb='watch'{ANYWAY}"),
    ],
)  # fmt: skip
def test_what_a_rule_rejects(given, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        FaultRule(**given)


@pytest.mark.parametrize(
    "given",
    [
        {"error": 500, "times": 1},
        {"error": 500, "times": None, "after": 0},
        {"error": 500, "share": 1},
        {"error": 500, "share": 0.01, "draw": half},
        {"delay": 0.1},
        {"before": lambda: None},
        {"reset": "before"},
        {"reset": "after"},
        {"body": "cut"},
        {"body_delay": 1},
        {"verb": "w*", "cut_after": 0},
        {"verb": "watch", "hold_after": 0},
        {"verb": "watch", "gone_after": 0},
        {"event_delay": 0.5},
        {"cut_at": "ADDED a"},
        {"webhook": "*"},
        {"webhook": "*", "reset": "before", "delay": 1, "after": 1, "times": 1},
        *({"error": code, "committed": True} for code in (500, 502, 504)),
        *({"error": 410, "verb": verb} for verb in ("list", "watch")),
        *({"stale": 7, "verb": verb} for verb in ("get", "list", "watch")),
        *({"error": 409, "verb": verb} for verb in ("*", "create", "update", "patch", "delete", "deletecollection")),
        {"error": 409, "verb": "get", "subresource": "exec"},
        {"error": 409, "verb": "get", "unrealistic": True},
        {"verb": "get", "stale": "7"},
        {"error": 404, "unrealistic": True},
        {"error": 429, "committed": True, "unrealistic": True},
        {"error": 410, "unrealistic": True},
        {"stale": 7, "unrealistic": True},
    ],
)
def test_what_a_rule_accepts(given):
    rule = FaultRule(**given)
    assert (rule.armed, rule.seen, rule.hits, rule.abandoned) == (True, 0, 0, 0)


def post(url="https://hook/x", service=None):
    return SimpleNamespace(url=url, service=service)


A = info("update", name="a", namespace="d", subresource="")


@pytest.mark.parametrize(
    ("given", "request_info", "expected"),
    [
        ({}, A, True),
        ({"verb": "upd*"}, A, True),
        ({"verb": "get"}, A, False),
        ({"resource": "pods"}, A, True),
        ({"resource": "pod"}, A, False),
        ({"name": "a"}, A, True),
        ({"name": "[bc]"}, A, False),
        ({"name": "?"}, A, True),
        ({"namespace": "e"}, A, False),
        ({"subresource": ""}, A, True),
        ({"subresource": "status"}, A, False),
        ({"subresource": "status"}, info("update", subresource="status"), True),
        ({"webhook": "*"}, A, False),
        ({"event_delay": 1}, A, False),
        ({"event_delay": 1}, info("watch"), True),
        ({"body": "cut"}, info("watch"), False),
        ({"body": "cut"}, info("list"), True),
    ],
)
def test_which_requests_a_rule_affects(given, request_info, expected):
    given = {"error": 503, **given} if not {"webhook", "event_delay", "body"} & set(given) else given
    rule = FaultRule(**given)
    assert [rule.matches(request_info, "agent") for _ in range(2)] == [expected] * 2
    assert (rule.seen, rule.hits) == (2 * expected, 2 * expected)


@pytest.mark.parametrize(
    ("given", "agent", "expected"),
    [
        ({"user_agent": "mine*"}, "mine/1", True),
        ({"user_agent": "mine*"}, "other", False),
        ({"except_agent": "kubectl"}, "kubectl", False),
        ({"except_agent": "kubectl"}, "mine", True),
        ({"except_agent": "kubectl", "user_agent": "kubectl"}, "kubectl", True),
        ({"except_agent": "kubectl", "user_agent": "kube*"}, "kubectl", False),
        ({}, "", True),
    ],
)
def test_which_agents_a_rule_affects(given, agent, expected):
    assert FaultRule(error=503, **given).matches(A, agent) is expected


@pytest.mark.parametrize(
    ("given", "query", "expected"),
    [
        ({"error": 410}, {}, False),
        ({"error": 410}, {"resourceVersion": ["0"]}, False),
        ({"error": 410}, {"resourceVersion": [""]}, False),
        ({"error": 410}, {"resourceVersion": ["7"]}, True),
        ({"error": 410}, {"continue": ["token"]}, True),
        ({"error": 410, "unrealistic": True}, {}, True),
        ({"stale": 1}, {}, False),
        ({"stale": 1}, {"resourceVersion": ["7"]}, False),
        ({"stale": 1}, {"resourceVersion": ["0"]}, True),
        ({"stale": 1}, {"resourceVersion": ["0"], "sendInitialEvents": ["true"]}, False),
        ({"stale": 1, "unrealistic": True}, {}, True),
    ],
)
def test_faults_that_only_some_reads_can_have(given, query, expected):
    assert FaultRule(verb="list", **given).matches(info("list"), "agent", query) is expected


@pytest.mark.parametrize("given", [{"error": 409}, {"error": 504, "committed": True}], ids=["conflict", "committed"])
def test_reads_have_no_faults_of_writes(given):
    rule = FaultRule(**given)
    verbs = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")
    assert [verb for verb in verbs if rule.matches(info(verb), "agent")] == list(verbs[3:])
    assert FaultRule(**given, unrealistic=True).matches(info("get"), "agent")


def taken(rule, count=6):
    return [rule.matches(A, "agent") for _ in range(count)]


def test_after_and_times_choose_among_the_matching_requests():
    assert taken(FaultRule(error=503, after=1, times=2)) == [False, True, True, False, False, False]
    assert taken(FaultRule(error=503, after=4)) == [False] * 4 + [True] * 2


def test_a_share_is_drawn_for_each_path_and_attempt():
    drawn = []

    def draw(key, attempt):
        drawn.append((key, attempt))
        return attempt / 10

    rule = FaultRule(error=503, share=0.3, draw=draw)
    assert taken(rule, 4) == [True, True, False, False]
    assert (rule.seen, rule.hits) == (4, 2)
    assert rule.matches(info("get"), "x")
    assert drawn == [("update ", 1), ("update ", 2), ("update ", 3), ("update ", 4), ("get ", 1)]


def test_a_request_that_was_abandoned_does_not_count():
    rule = FaultRule(error=503, times=1)
    assert taken(rule, 2) == [True, False]
    rule = FaultRule(error=503, times=1)
    assert taken(rule, 1) == [True]
    rule.give_back()
    assert (rule.seen, rule.hits, rule.abandoned) == (0, 0, 1)
    assert taken(rule, 2) == [True, False]


def test_a_rule_reports_its_hits():
    found = []
    rule = FaultRule(error=503, after=1, name="a")
    rule.on_hit = found.append
    taken(rule, 2)
    rule.matches(info("get", name="b"), "x")
    assert found == [A]


@pytest.mark.parametrize(
    ("pattern", "found", "expected"),
    [
        ("https://hook/*", post(), True),
        ("http://*", post(), False),
        ("d/web", post("", SimpleNamespace(namespace="d", name="web")), True),
        ("web/d", post("", SimpleNamespace(namespace="d", name="web")), False),
        ("d/*", post(), False),
    ],
)
def test_which_calls_of_webhooks_a_rule_affects(pattern, found, expected):
    rule = FaultRule(webhook=pattern, times=1)
    assert [rule.matches_webhook(found) for _ in range(2)] == [expected, False]
    assert (rule.seen, rule.hits) == (2 * expected, int(expected))
    assert FaultRule(delay=1).matches_webhook(found) is False


def test_the_first_rule_that_matches_applies_until_it_is_disarmed():
    faults, calls = Faults(), []
    never, first, second, hook = (FaultRule(error=503, verb="get"), FaultRule(error=503, times=1), FaultRule(error=500), FaultRule(webhook="*"))  # fmt: skip
    for rule in (never, first, second, hook):
        faults.arm(rule)
    first.on_disarm.append(lambda: calls.append(first.armed))
    assert faults.take(A, "x") is first
    assert faults.take(A, "x") is second
    assert faults.take_webhook(post()) is hook
    first.disarm()
    first.disarm()
    assert (calls, first.armed, faults.rules) == ([False], False, [never, second, hook])
    with second:
        assert second.armed
    assert not second.armed
    assert faults.take(A, "x") is None
    hook.disarm()
    assert faults.take_webhook(post()) is None


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"error": 500, "committed": True, "delay": 2.0}, Fault(2.0, None, "", 500, True, None, None)),
        ({"reset": "after"}, Fault(0.0, None, "after", None, False, None, None)),
        ({"before": half}, Fault(before=half)),
        ({"verb": "get", "stale": "7"}, Fault(stale=7)),
        ({"body": "cut", "body_delay": 3.0}, Fault(damage=Damage("cut", 3.0))),
        ({"body_delay": 3.0}, Fault(damage=Damage("", 3.0))),
        ({"verb": "watch", "cut_after": 0, "reset": "after"}, Fault()),
    ],
)
def test_what_happens_to_a_request(given, expected):
    assert FaultRule(**given).fault() == expected


def test_what_happens_to_a_watch():
    assert FaultRule(delay=1).watch_fault() is None
    rule = FaultRule(cut_after=1, cut_at="ADDED a", hold_after=2, gone_after=3, event_delay=4.0, reset="after")
    fault = rule.watch_fault()
    assert (fault.cut_after, fault.cut_at, fault.reset, fault.hold_after) == (1, "ADDED a", True, 2)
    assert (fault.gone_after, fault.delay, fault.delivered) == (3, 4.0, 0)
    fault.delivered = 2
    assert fault.is_held()
    rule.disarm()
    assert not fault.is_held()
    assert FaultRule(verb="watch", cut_after=0).watch_fault().reset is False


@pytest.mark.parametrize(
    ("cut_at", "event_type", "name", "expected"),
    [
        ("", "ADDED", "", False),
        ("ADDED", "ADDED", "x", True),
        ("ADDED", "DELETED", "x", False),
        ("MODIFIED web-*", "MODIFIED", "web-1", True),
        ("MODIFIED web-*", "MODIFIED", "db", False),
        ("* web", "DELETED", "web", True),
    ],
)
def test_before_which_events_a_watch_ends(cut_at, event_type, name, expected):
    assert WatchFault(cut_at=cut_at).ends_before(event_type, name) is expected


def test_after_how_many_events_a_watch_ends_waits_or_falls_behind():
    def states(delivered):
        counts = {"cut_after": 2, "hold_after": 2, "gone_after": 2}
        fault = WatchFault(**counts, holds=lambda: True, delivered=delivered)
        none = WatchFault(delivered=delivered, holds=lambda: True)
        assert (none.ends_now(), none.is_held(), none.is_gone()) == (False, False, False)
        assert not WatchFault(hold_after=0).is_held()
        return fault.ends_now(), fault.is_held(), fault.is_gone()

    assert [states(number) for number in (1, 2, 3)] == [(False,) * 3, (True,) * 3, (True,) * 3]


def test_bodies_that_arrive_damaged():
    assert damaged("", b"abcde") == b"abcde"
    assert damaged("cut", b"abcde") == damaged("truncated", b"abcde") == b"ab"
    assert damaged("malformed", b"abcde") == MALFORMED


DEPLOYMENT = info("get", resource="deployments", name="web", group="apps")


@pytest.mark.parametrize(
    ("code", "reason", "message", "details"),
    [
        (400, "BadRequest", "injected fault", None),
        (401, "Unauthorized", "Unauthorized", None),
        (403, "Forbidden", 'deployments.apps "web" is forbidden: injected fault', {"group": "apps", "kind": "deployments", "name": "web"}),
        (404, "NotFound", 'deployments.apps "web" not found', {"group": "apps", "kind": "deployments", "name": "web"}),
        (409, "Conflict", 'Operation cannot be fulfilled on deployments.apps "web": the object has been modified; please apply your changes to the latest version and try again', {"group": "apps", "kind": "deployments", "name": "web"}),
        (422, "Invalid", 'deployments.apps "web" is invalid', {"group": "apps", "kind": "deployments", "name": "web"}),
        (429, "TooManyRequests", "the server has received too many requests and has asked us to try again later", {"retryAfterSeconds": 1}),
        (500, "InternalError", "Internal error occurred: injected fault", {"causes": [{"message": "injected fault"}]}),
        (503, "ServiceUnavailable", "the server is currently unable to handle the request", {"retryAfterSeconds": 1}),
        (504, "Timeout", "the server was unable to return a response in the time allotted", {}),
    ],
)  # fmt: skip
def test_the_errors_that_are_injected(code, reason, message, details):
    error = error_of(code, DEPLOYMENT)
    assert (error.code, error.reason, error.message, error.details) == (code, reason, message, details)


@pytest.mark.parametrize(("code", "text"), [(408, "Request Time-out"), (502, "502 Bad Gateway")])
def test_the_pages_of_a_proxy(code, text):
    error = error_of(code, DEPLOYMENT)
    assert isinstance(error, ProxyAnswer)
    assert error.code == code
    assert text in error.text
    assert str(error) == error.text


def test_every_injected_error_has_the_code_of_its_key():
    assert {code: error_of(code, DEPLOYMENT).code for code in ERRORS | UNREALISTIC} == {
        code: code for code in ERRORS | UNREALISTIC
    }
