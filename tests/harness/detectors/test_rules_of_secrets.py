"""Which values of a Secret are recognized, by which texts, and where they must not be found."""

import base64
import logging
import sys

import pytest

from fakekube.harness.detectors.known.objectcare.leakedsecrets import (
    _PUBLIC,
    _SECRET,
    _contains,
    _logged_text,
    _public,
    _texts,
)


def encoded(text):
    return base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    "key",
    [
        "password", "PASSWORD", "db-passwd", "pass", "userpass", "passphrase", "root_pwd", "secret", "client-secret",
        "token", "api-token", "tokens", "credentials", "private", "privatekey", "api-key", "api_key", "apikey",
        "api.key", "access-key", "accesskey", "tls.key", "key", "auth", "basicauth",
    ],
)  # fmt: skip
def test_keys_whose_values_are_secret(key):
    assert _SECRET.search(key)
    assert not _PUBLIC.search(key)


@pytest.mark.parametrize(
    "key",
    ["user", "host", "ca.crt", "passive", "passage", "monkey", "keys", "author", "tls.crt", "compass-rose", "api"],
)
def test_keys_whose_values_are_not_secret(key):
    assert not _SECRET.search(key)


@pytest.mark.parametrize(
    "key",
    [
        "secretName", "token-url", "tokenuri", "access-key-id", "private_id", "secret.id", "apikeyid", "password-host",
        "secret-user", "private-path", "token-type", "token-expiry", "tokenexpires", "passwordHash", "secret-checksum",
        "private.crt", "secret-cert", "token-pub", "privatepublic",
    ],
)  # fmt: skip
def test_keys_of_secrets_whose_values_are_public(key):
    assert _SECRET.search(key)
    assert _PUBLIC.search(key)


@pytest.mark.parametrize(
    ("value", "line"),
    [
        ("hunter22", "hunter22"),
        ("abc123", "abc123"),  # letters and digits: six characters
        ("abc12", None),
        ("abcdefgh", "abcdefgh"),  # one kind of characters: eight
        ("abcdefg", None),
        ("12345678", "12345678"),
        ("1234567", None),
        ("-_-_-_-_", "-_-_-_-_"),
        ("  hunter22\n", "hunter22"),
        ("short\nthe longest line\nline", "the longest line"),
        ("first-line\nother-line", "first-line"),  # of equal ones the first
        ("", None),
        ("\n\n", None),
        ("passwort", None),
        ("PostGres", None),
        ("undefined", None),
        ("the-key-itself", None),
        ("The-Key-Itself", None),
    ],
)
def test_the_texts_of_a_value(value, line):
    assert list(_texts(encoded(value), "the-Key-itself")) == (
        [] if line is None else [line, encoded(value).rstrip("=")]
    )


@pytest.mark.parametrize("raw", ["not base64!", "aGk", None, 5, base64.b64encode(b"\xff\xfe\xfd" * 4).decode()])
def test_what_is_no_text_in_base64_is_not_recognized(raw):
    assert list(_texts(raw, "token")) == []


@pytest.mark.parametrize(
    ("text", "is_in"),
    [
        ("hunter22", True),
        ("the password is hunter22", True),
        ("hunter22 is it", True),
        ("'hunter22'", True),
        ("a:hunter22@b", True),
        ("_hunter22_", True),
        ("xhunter22", False),
        ("hunter22x", False),
        ("1hunter22", False),
        ("hunter229", False),
        ("xhunter22 hunter22", True),
        ("hunter22x hunter22y", False),
        ("hunter", False),
        ("", False),
    ],
)
def test_a_value_is_recognized_as_a_whole_word(text, is_in):
    assert _contains(text, "hunter22") is is_in


def test_a_value_is_found_where_it_overlaps_with_itself():
    assert _contains("xab-ab-ab", "ab-ab")


@pytest.mark.parametrize(
    ("resource", "paths"),
    [
        ("configmaps", {("data", "a"), ("data", "b")}),
        ("events", {("message",), ("note",), ("reason",), ("action",)}),
        ("databases", {("status", "text"), ("status", "list", 1)}),
        ("pods", {("status", "text"), ("status", "list", 1)}),
    ],
)
def test_the_places_that_everybody_can_read(resource, paths):
    obj = {
        "metadata": {"name": "n", "annotations": {"x": "y"}},
        "spec": {"value": "s"},
        "data": {"a": "1", "b": "2"},
        "binaryData": {"c": "3"},
        "message": "m", "note": "n", "reason": "r", "action": "a", "type": "Normal",
        "status": {"text": "t", "count": 3, "list": [True, "u", None]},
    }  # fmt: skip
    assert {path for path, _ in _public(resource, obj)} == paths
    assert list(_public(resource, {"metadata": {}})) == []


def record(message, *arguments, error=None):
    info = None
    if error is not None:
        try:
            raise error
        except type(error):
            info = sys.exc_info()
    return logging.LogRecord("app", logging.INFO, __file__, 1, message, arguments, info)


@pytest.mark.parametrize(
    ("one", "text"),
    [
        (record("made %s", "x"), "made x "),
        (record("it failed", error=ValueError("no x")), "it failed no x"),
        (record("%d of %d", "x"), "%d of %d ('x',)"),
    ],
)
def test_the_text_of_a_log_record(one, text):
    assert _logged_text(one) == text
