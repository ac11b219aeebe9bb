"""Names, label keys and label values."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakekube.apiserver import names

SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
LABEL_1035 = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    "'[a-z]([-a-z0-9]*[a-z0-9])?')"
)
NAME_PART = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)


@pytest.mark.parametrize(
    ("check", "name", "problems"),
    [
        (names.dns_subdomain_problems, "a.b-c.d", []),
        (names.dns_subdomain_problems, "A", [SUBDOMAIN]),
        (names.dns_subdomain_problems, "", [SUBDOMAIN]),
        (names.dns_subdomain_problems, "a-", [SUBDOMAIN]),
        (names.dns_subdomain_problems, "a\n", [SUBDOMAIN]),
        (names.dns_subdomain_problems, "a" * 253, []),
        (names.dns_subdomain_problems, "a" * 254, ["must be no more than 253 characters"]),
        (names.dns_label_problems, "a-b", []),
        (names.dns_label_problems, "a.b", ["must not contain dots"]),
        (names.dns_label_problems, "a_b", [LABEL]),
        (names.dns_label_problems, "a" * 64, ["must be no more than 63 characters"]),
        (names.dns1035_label_problems, "a1", []),
        (names.dns1035_label_problems, "1a", [LABEL_1035]),
        (names.dns1035_label_problems, "a" * 64, ["must be no more than 63 characters"]),
        (names.path_segment_problems, "system:node", []),
        (names.path_segment_problems, "..", ["may not be '..'"]),
        (names.path_segment_problems, "a/b%", ["may not contain '/'", "may not contain '%'"]),
        (names.any_name_problems, "!", []),
    ],
)
def test_names_of_objects(check, name, problems):
    assert check(name, False) == problems


@pytest.mark.parametrize(
    ("check", "prefix", "problems"),
    [
        (names.dns_subdomain_problems, "web-", []),
        (names.dns_label_problems, "web-", []),
        (names.dns1035_label_problems, "web-", []),
        (names.dns_subdomain_problems, "-", [SUBDOMAIN]),
        (names.path_segment_problems, "..", []),
    ],
)
def test_prefixes_of_generated_names_may_end_in_a_dash(check, prefix, problems):
    assert check(prefix, True) == problems


@pytest.mark.parametrize(
    ("key", "problems"),
    [
        ("app", []),
        ("A.b_c-1", []),
        ("example.com/app", []),
        ("", ["name part must be non-empty", NAME_PART]),
        ("/app", ["prefix part must be non-empty"]),
        ("example.com/", ["name part must be non-empty", NAME_PART]),
        ("Example.com/app", ["prefix part " + SUBDOMAIN]),
        ("a" * 64, ["name part must be no more than 63 bytes"]),
        ("-", [NAME_PART]),
        (
            "a/b/c",
            [
                "a valid label key "
                + NAME_PART.removeprefix("name part ")
                + " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
            ],
        ),
    ],
)
def test_label_keys(key, problems):
    assert names.qualified_name_problems(key) == problems


@pytest.mark.parametrize(
    ("value", "problems"),
    [("", 0), ("web", 0), ("a_b.c-d", 0), ("-", 1), ("a b", 1), ("a" * 64, 1), ("-" * 64, 2)],
)
def test_label_values(value, problems):
    assert len(names.label_value_problems(value)) == problems


@given(st.text())
def test_checks_accept_any_text(text):
    for check in (names.dns_subdomain_problems, names.dns_label_problems, names.dns1035_label_problems):
        assert isinstance(check(text, True) + check(text, False), list)
    assert isinstance(names.qualified_name_problems(text) + names.label_value_problems(text), list)


@pytest.mark.parametrize(
    "check",
    [names.dns_subdomain_problems, names.dns_label_problems, names.dns1035_label_problems, names.long_name_problems],
)
def test_only_a_prefix_ends_with_a_dash(check):
    assert len(check("a-")) == len(check("a-", False)) == 1
    assert check("a-", True) == check("a") == []
