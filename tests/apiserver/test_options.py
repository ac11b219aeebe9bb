"""Options in query parameters and bodies."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakekube.apiserver.wire.options import (
    DeleteOptions,
    delete_options,
    parse_list_options,
    parse_resource_version,
    parse_write_options,
)
from fakekube.apiserver.wire.request import Request, parse_query
from fakekube.apiserver.wire.status import StatusError

DIGITS = "9" * 5000


def asked(query):
    return Request("GET", "/", parse_query(query))


@pytest.mark.parametrize(
    ("query", "field", "value"),
    [
        pytest.param("limit=5", "limit", 5, id="limit"),
        pytest.param("limit=-5", "limit", 0, id="negative-limit"),
        pytest.param("limit=%2B5", "limit", 5, id="signed-limit"),
        pytest.param("timeoutSeconds=7", "timeout_seconds", 7, id="timeout"),
        pytest.param("", "timeout_seconds", None, id="no-timeout"),
        pytest.param("allowWatchBookmarks=true", "bookmarks", True, id="bookmarks"),
        pytest.param("allowWatchBookmarks=0", "bookmarks", False, id="no-bookmarks"),
        pytest.param("allowWatchBookmarks=", "bookmarks", True, id="bookmarks-without-a-value"),
        pytest.param("continue=abc", "continue_token", "abc", id="continue"),
        pytest.param("resourceVersion=0", "resource_version", "0", id="version"),
        pytest.param("resourceVersion=1&resourceVersion=2", "resource_version", "1", id="the-first-value-counts"),
    ],
)
def test_list_options(query, field, value):
    assert getattr(parse_list_options(asked(query), watch=False), field) == value


@pytest.mark.parametrize(
    ("query", "watch", "code", "message"),
    [
        ("limit=x", False, 400, 'strconv.ParseInt: parsing "x": invalid syntax'),
        ("limit=1_0", False, 400, 'strconv.ParseInt: parsing "1_0": invalid syntax'),
        ("limit=٣", False, 400, 'strconv.ParseInt: parsing "٣": invalid syntax'),
        (
            "limit=9223372036854775808",
            False,
            400,
            'strconv.ParseInt: parsing "9223372036854775808": value out of range',
        ),
        (f"limit={DIGITS}", False, 400, f'strconv.ParseInt: parsing "{DIGITS}": value out of range'),
        ("timeoutSeconds=1.5", True, 400, 'strconv.ParseInt: parsing "1.5": invalid syntax'),
        (
            "resourceVersionMatch=Exact",
            False,
            422,
            'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden '
            "unless resourceVersion is provided",
        ),
        (
            "resourceVersionMatch=Exact&resourceVersion=0",
            False,
            422,
            'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch "exact" is '
            'forbidden for resourceVersion "0"',
        ),
        (
            "resourceVersionMatch=Other&resourceVersion=1",
            False,
            422,
            'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Unsupported value: "Other": supported values: '
            '"Exact", "NotOlderThan", ""',
        ),
        (
            "resourceVersionMatch=Exact&continue=x",
            False,
            422,
            'ListOptions.meta.k8s.io "" is invalid: [resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden '
            "unless resourceVersion is provided, resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden when "
            "continue is provided]",
        ),
        ("limit=", False, 400, 'strconv.ParseInt: parsing "": invalid syntax'),
        ("timeoutSeconds=&labelSelector=(", False, 400, 'strconv.ParseInt: parsing "": invalid syntax'),
        (
            "sendInitialEvents=true",
            False,
            422,
            'ListOptions.meta.k8s.io "" is invalid: sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list',
        ),
        (
            "sendInitialEvents=true",
            True,
            422,
            'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: sendInitialEvents requires setting '
            "resourceVersionMatch to NotOlderThan",
        ),
        (
            "resourceVersionMatch=Exact&sendInitialEvents=true",
            True,
            422,
            'ListOptions.meta.k8s.io "" is invalid: [resourceVersionMatch: Forbidden: sendInitialEvents requires setting '
            'resourceVersionMatch to NotOlderThan, resourceVersionMatch: Unsupported value: "Exact": supported values: '
            '"NotOlderThan"]',
        ),
        (
            "resourceVersionMatch=NotOlderThan",
            True,
            422,
            'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden '
            "for watch unless sendInitialEvents is provided",
        ),
        (
            "continue=x&resourceVersionMatch=NotOlderThan&sendInitialEvents=1",
            True,
            422,
            'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden '
            "when continue is provided",
        ),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) and "=" in value else None,
)
def test_invalid_list_options(query, watch, code, message):
    with pytest.raises(StatusError) as refused:
        parse_list_options(asked(query), watch=watch)
    assert (refused.value.code, refused.value.message) == (code, message)


def test_a_deprecated_watch_path_is_validated_as_a_list():
    options = parse_list_options(asked("continue=x"), watch=True, as_list=True)
    assert options.continue_token == "x"


@pytest.mark.parametrize(
    ("text", "revision"), [pytest.param("", 0, id="none"), pytest.param("0", 0, id="any"), ("17", 17), ("007", 7)]
)
def test_a_resource_version(text, revision):
    assert parse_resource_version(text) == revision


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("abc", "invalid syntax"),
        ("-1", "invalid syntax"),
        ("1_0", "invalid syntax"),
        ("18446744073709551616", "value out of range"),
        (DIGITS, "value out of range"),
    ],
    ids=["word", "negative", "underscore", "65-bits", "thousands-of-digits"],
)
def test_invalid_resource_versions(text, problem):
    with pytest.raises(ValueError) as refused:
        parse_resource_version(text)
    assert str(refused.value) == (
        f'resourceVersion: Invalid value: "{text}": strconv.ParseUint: parsing "{text}": {problem}'
    )


def test_write_options_and_their_defaults():
    options = parse_write_options(
        asked("dryRun=All&fieldManager=me&fieldValidation=Strict&force=1"), "PatchOptions", applying=True
    )
    assert (options.dry_run, options.field_manager, options.field_validation, options.force) == (
        True,
        "me",
        "Strict",
        True,
    )
    options = parse_write_options(asked(""), "PatchOptions")
    assert (options.dry_run, options.field_manager, options.field_validation, options.force) == (
        False,
        "",
        "Warn",
        False,
    )


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("dryRun=Some", 'dryRun: Unsupported value: ["Some"]: supported values: "All"'),
        ("dryRun=", 'dryRun: Unsupported value: [""]: supported values: "All"'),
        (
            "fieldValidation=strict",
            'fieldValidation: Unsupported value: "strict": supported values: "", "Ignore", "Strict", "Warn"',
        ),
        (f"fieldManager={'x' * 129}", "fieldManager: Too long: may not be more than 128 bytes"),
        ("fieldManager=a%09b", 'fieldManager: Invalid value: "a\\tb": invalid character U+0009 (at position 1)'),
    ],
    ids=["dry-run", "empty-dry-run", "validation", "long-manager", "unprintable-manager"],
)
def test_invalid_write_options(query, message):
    with pytest.raises(StatusError) as refused:
        parse_write_options(asked(query), "CreateOptions")
    assert refused.value.code == 422
    assert refused.value.message == f'CreateOptions.meta.k8s.io "" is invalid: {message}'


def test_the_limit_of_a_field_manager_is_in_bytes():
    assert parse_write_options(asked(f"fieldManager={'x' * 128}"), "CreateOptions").field_manager == "x" * 128
    with pytest.raises(StatusError, match="Too long"):
        parse_write_options(asked(f"fieldManager={'é' * 65}"), "CreateOptions")


def test_delete_options_are_read_from_the_body_or_the_query():
    query = asked("gracePeriodSeconds=5&propagationPolicy=Orphan&dryRun=All&orphanDependents=")
    with pytest.raises(StatusError, match="cannot be both set"):
        delete_options(None, query)
    query = asked("gracePeriodSeconds=5&propagationPolicy=Orphan&dryRun=All")
    options = delete_options(None, query)
    assert (options.grace_period, options.propagation, options.dry_run) == (5, "Orphan", True)
    options = delete_options({"preconditions": {"uid": "u", "resourceVersion": "7"}}, query)
    assert (options.grace_period, options.propagation, options.dry_run) == (None, "", False)
    assert (options.uid, options.resource_version) == ("u", "7")
    assert delete_options(None, asked("orphanDependents=false")).orphan_dependents is False


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            {"propagationPolicy": "Never"},
            'propagationPolicy: Unsupported value: "Never": supported values: "Foreground", "Background", "Orphan", "nil"',
        ),
        (
            {"propagationPolicy": "Orphan", "orphanDependents": True},
            'propagationPolicy: Invalid value: "Orphan": orphanDependents and deletionPropagation cannot be both set',
        ),
        ({"dryRun": ["x", "All"]}, 'dryRun: Unsupported value: ["x","All"]: supported values: "All"'),
    ],
    ids=["policy", "policy-and-orphans", "dry-run"],
)
def test_invalid_delete_options(body, message):
    with pytest.raises(StatusError) as refused:
        delete_options(body, asked(""))
    assert refused.value.code == 422
    assert refused.value.message == f'DeleteOptions.meta.k8s.io "" is invalid: {message}'


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        (DeleteOptions(), {}),
        (DeleteOptions(grace_period=0), {"gracePeriodSeconds": 0}),
        (DeleteOptions(propagation="Orphan"), {"propagationPolicy": "Orphan"}),
        (DeleteOptions(dry_run=True), {"dryRun": ["All"]}),
        (DeleteOptions(uid="u", resource_version="7", orphan_dependents=True), {}),
    ],
)
def test_the_options_of_a_delete_as_an_object(options, shown):
    assert options.to_object() == {"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1", **shown}


PARAMETERS = ("limit", "timeoutSeconds", "resourceVersion", "resourceVersionMatch", "continue", "labelSelector",
              "fieldSelector", "sendInitialEvents", "allowWatchBookmarks", "dryRun", "fieldManager", "fieldValidation",
              "gracePeriodSeconds", "propagationPolicy", "orphanDependents")  # fmt: skip


@given(st.dictionaries(st.sampled_from(PARAMETERS), st.lists(st.text(max_size=8), max_size=2)), st.booleans())
def test_any_query_is_accepted_or_rejected_with_a_status(query, watch):
    request = Request("GET", "/", query)
    for parse in (
        lambda: parse_list_options(request, watch=watch),
        lambda: parse_write_options(request, "CreateOptions"),
        lambda: delete_options(None, request),
    ):
        try:
            parse()
        except StatusError as error:
            assert error.code in (400, 422)
