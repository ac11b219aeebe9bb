"""Label and field selectors: the objects that they select, and the errors of invalid ones."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fakekube.apiserver.wire.selectors import EVERYTHING, NO_FIELDS, parse_fields, parse_labels
from fakekube.apiserver.wire.status import StatusError


@pytest.mark.parametrize(
    ("selector", "taken"),
    [
        pytest.param("", "abcd", id="nothing-asked"),
        pytest.param("  \t", "abcd", id="blanks"),
        pytest.param("app", "abc", id="exists"),
        pytest.param("!app", "d", id="does-not-exist"),
        pytest.param("! app", "d", id="does-not-exist-with-a-blank"),
        pytest.param("app=web", "ab", id="equals"),
        pytest.param("app==web", "ab", id="equals-twice"),
        pytest.param("app = web", "ab", id="blanks-around"),
        pytest.param("app!=web", "cd", id="differs-also-where-absent"),
        pytest.param("app in (web)", "ab", id="in-one"),
        pytest.param("app in (web, db)", "abc", id="in-two"),
        pytest.param("app in (web,)", "ab", id="in-with-an-empty-value"),
        pytest.param("empty in (,)", "b", id="in-just-empty-values"),
        pytest.param("empty in ()", "b", id="in-nothing-is-in-the-empty-value"),
        pytest.param("app notin (web)", "cd", id="not-in"),
        pytest.param("app notin (web,db)", "d", id="not-in-two"),
        pytest.param("app=web,tier!=front", "b", id="both"),
        pytest.param("n>3", "a", id="greater"),
        pytest.param("n<6", "ab", id="less"),
        pytest.param("n>3,n<5", "", id="between"),
        pytest.param("app>3", "", id="greater-than-what-is-no-number"),
        pytest.param("empty=", "b", id="equals-nothing"),
        pytest.param("empty=,app", "b", id="equals-nothing-and-more"),
        pytest.param("example.com/x", "c", id="key-with-a-prefix"),
        pytest.param("in in (in)", "d", id="words-as-key-and-value"),
        pytest.param("notin=in", "d", id="words-as-a-key"),
    ],
)
def test_the_objects_of_a_label_selector(selector, taken):
    objects = {
        "a": {"app": "web", "tier": "front", "n": "5"},
        "b": {"app": "web", "tier": "back", "empty": "", "n": "3"},
        "c": {"app": "db", "example.com/x": "1", "n": "1_0"},
        "d": {"in": "in", "notin": "in"},
    }
    parsed = parse_labels(selector)
    assert "".join(name for name, labels in objects.items() if parsed.matches(labels)) == taken


QUALIFIED = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
VALUE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        pytest.param("=", "found '=', expected: !, identifier, or 'end of string'", id="operator-first"),
        pytest.param(",", "found ',', expected: !, identifier, or 'end of string'", id="comma-first"),
        pytest.param("a,", "found '', expected: identifier after ','", id="comma-last"),
        pytest.param("a,,b", "found ',', expected: identifier after ','", id="two-commas"),
        pytest.param(
            "a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt", id="words"
        ),
        pytest.param("a=b c", "found 'c', expected: ',' or 'end of string'", id="words-behind"),
        pytest.param("!", "unable to parse requirement: found '', expected: identifier", id="negated-nothing"),
        pytest.param("a=(", "unable to parse requirement: found '(', expected: identifier", id="bracket-as-value"),
        pytest.param("a in b", "unable to parse requirement: found 'b' expected: '('", id="set-without-brackets"),
        pytest.param("a in (b", "unable to parse requirement: found '', expected: ',' or ')'", id="open-set"),
        pytest.param("a in (b c)", "unable to parse requirement: found 'c', expected: ',' or ')'", id="words-in-set"),
        pytest.param(
            "a in (b,(", "unable to parse requirement: found '(', expected: ',', or identifier", id="bracket-in-set"
        ),
        pytest.param(
            "a in (", "unable to parse requirement: found '', expected: ',', ')' or identifier", id="empty-open-set"
        ),
        pytest.param("-a", f'unable to parse requirement: <nil>: Invalid value: "-a": {QUALIFIED}', id="bad-key"),
        pytest.param(
            "a=-b", f'unable to parse requirement: values[0][a]: Invalid value: "-b": {VALUE}', id="bad-value"
        ),
        pytest.param(
            "a>x",
            "unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the value must be "
            "an integer",
            id="greater-than-a-word",
        ),
        pytest.param(
            "a>1_0",
            "unable to parse requirement: values[0]: Invalid value: \"1_0\": for 'Gt', 'Lt' operators, the value must be "
            "an integer",
            id="underscore-in-a-number",
        ),
        pytest.param("!a=b", "found '=', expected: ',' or 'end of string'", id="negated-comparison"),
    ],
)
def test_the_errors_of_invalid_label_selectors(selector, message):
    with pytest.raises(StatusError) as refused:
        parse_labels(selector)
    assert (refused.value.code, refused.value.reason, refused.value.message) == (400, "BadRequest", message)


SELECTOR_TEXT = st.one_of(
    st.text(), st.text(alphabet="ab=!(),<>in notin\\/.-_ \t\u00a0é1"), st.text(alphabet="a=!,\\.b")
)


@given(SELECTOR_TEXT)
@example("a in (")
@example("\\")
@example("a\u00a0=b")
def test_any_text_is_a_label_selector_or_rejected_with_a_status(text):
    try:
        selector = parse_labels(text)
    except StatusError as error:
        assert error.code == 400
    else:
        assert selector.matches({"a": "b"}) in (True, False)
        assert bool(selector) or selector.matches({})


@given(SELECTOR_TEXT)
@example("\\")
def test_any_text_is_a_field_selector_or_rejected_with_a_status(text):
    try:
        selector = parse_fields(text)
    except StatusError as error:
        assert error.code == 400
    else:
        assert selector.matches(lambda field: "") in (True, False)


@given(st.dictionaries(st.text(alphabet="ab.", min_size=1), st.text(alphabet="x,=\\!"), min_size=1))
def test_field_terms_are_the_same_after_formatting_and_parsing(terms):
    escaped = {k: "".join("\\" + c if c in "\\,=" else c for c in v) for k, v in terms.items()}
    parsed = parse_fields(",".join(f"{key}={value}" for key, value in escaped.items()))
    assert {term.field: term.value for term in parsed.terms} == terms
    assert all(parsed.required(field) == value for field, value in terms.items())


@pytest.mark.parametrize(
    ("selector", "terms"),
    [
        pytest.param("", [], id="nothing"),
        pytest.param(",", [], id="empty-terms"),
        pytest.param(",a=b", [("a", True, "b")], id="empty-term-first"),
        pytest.param("a=b,,c=d", [("a", True, "b"), ("c", True, "d")], id="empty-term-between"),
        pytest.param("a=b", [("a", True, "b")], id="equals"),
        pytest.param("a==b", [("a", True, "b")], id="equals-twice"),
        pytest.param("a!=b", [("a", False, "b")], id="differs"),
        pytest.param("a=b,c!=d", [("a", True, "b"), ("c", False, "d")], id="two"),
        pytest.param("a=", [("a", True, "")], id="empty-value"),
        pytest.param("=b", [("", True, "b")], id="empty-field"),
        pytest.param(r"a=b\,c", [("a", True, "b,c")], id="escaped-comma"),
        pytest.param(r"a=b\=c", [("a", True, "b=c")], id="escaped-equals"),
        pytest.param(r"a=b\\", [("a", True, "b\\")], id="escaped-backslash"),
        pytest.param("a!b=c", [("a!b", True, "c")], id="an-exclamation-mark-alone-is-no-operator"),
        pytest.param("a\nb=c", [("a\nb", True, "c")], id="newline"),
    ],
)
def test_the_terms_of_a_field_selector(selector, terms):
    parsed = parse_fields(selector)
    assert [(term.field, term.equal, term.value) for term in parsed.terms] == terms
    assert bool(parsed) is bool(terms)


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        pytest.param("a", "invalid selector: 'a'; can't understand 'a'", id="no-operator"),
        pytest.param("x=1,a", "invalid selector: 'x=1,a'; can't understand 'a'", id="no-operator-in-the-second"),
        pytest.param(r"a=\b", r"invalid field selector: invalid escape sequence: \b", id="unknown-escape"),
        pytest.param("a=\\", "invalid field selector: invalid escape sequence: \\", id="escape-of-nothing"),
        pytest.param("a=b=c", "invalid field selector: unescaped character in value: 61", id="equals-in-value"),
    ],
)
def test_the_errors_of_invalid_field_selectors(selector, message):
    with pytest.raises(StatusError) as refused:
        parse_fields(selector)
    assert (refused.value.code, refused.value.message) == (400, message)


def test_an_exact_name_requires_equality():
    assert parse_fields("metadata.name!=x,spec.a=b").required("metadata.name") is None
    assert parse_fields("metadata.name=x").required("metadata.name") == "x"
    assert not EVERYTHING
    assert not NO_FIELDS


@pytest.mark.parametrize(
    "selector",
    ["reportingController=example.com/x", "regarding.name=p", "regarding.kind=Pod,reason=Testing", "type=Normal"],
)
def test_f2_fields_of_events_of_the_new_group(fakekube, selector):
    """F2: selectors read an Event in the form of events.k8s.io/v1."""
    event = {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "e", "namespace": "default"},
        "regarding": {"kind": "Pod", "name": "p", "namespace": "default"},
        "reason": "Testing",
        "type": "Normal",
        "action": "Test",
        "note": "a test",
        "reportingController": "example.com/x",
        "reportingInstance": "i",
        "eventTime": "2026-01-01T00:00:00.000000Z",
    }
    fakekube.create(event)
    fakekube.create({**event, "metadata": {**event["metadata"], "name": "f"}, "regarding": {"namespace": "default"}, "reason": "Other", "type": "Warning", "reportingController": "example.com/y"})  # fmt: skip
    found = fakekube.list("events.k8s.io/v1", "Event", field_selector=selector)
    assert [one["metadata"]["name"] for one in found] == ["e"]
