"""The cursor of validation: paths, values, checks and errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fakekube.apiserver.registry.generic.validation.content import port_name_problems
from fakekube.apiserver.registry.generic.validation.field import SKIPPED, Field
from fakekube.apiserver.registry.generic.validation.rules import MEMORY, memoized, union

SPEC = {
    "type": "ClusterIP",
    "ports": [{"name": "http", "port": 80}, {"name": "HTTP", "port": 0}],
    "labels": {"a.b/c": "x"},
    "nested": {"inner": {"deep": 1}},
    "empty": "",
    "zero": 0,
    "none": None,
}


def found(check: Callable[[Field], object]) -> list[str]:
    root = Field({"spec": SPEC})
    check(root["spec"])
    return [str(error) for error in root.errors]


PATHS: list[tuple[Callable[[Field], Field], str]] = [
    (lambda f: f, "spec"),
    (lambda f: f["type"], "spec.type"),
    (lambda f: list(f["ports"])[1]["port"], "spec.ports[1].port"),
    (lambda f: next(f["labels"].entries()), "spec.labels[a.b/c]"),
    (lambda f: f["labels"].entry("k"), "spec.labels[k]"),
    (lambda f: f.find("nested.inner.deep"), "spec.nested.inner.deep"),
    (lambda f: f["ports"].at("other", 1), "spec.ports.other"),
    (lambda f: f["ports"].at(3, 1), "spec.ports[3]"),
    (lambda f: f["type"].with_value({})["x"], "spec.type.x"),
    (lambda f: f["absent"]["child"], "spec.absent.child"),
]


@pytest.mark.parametrize(("select", "path"), PATHS, ids=[path for _, path in PATHS])
def test_a_path_names_members_items_and_entries(select: Callable[[Field], Field], path: str) -> None:
    assert select(Field({"spec": SPEC})["spec"]).path == path


def test_a_root_may_stand_at_any_path_and_share_a_list_of_errors() -> None:
    errors: list[Any] = []
    Field({"a": 1}, "spec.template", errors)["a"].forbidden("no")
    Field(None, "", errors).forbidden("at the root")
    assert [str(error) for error in errors] == ["spec.template.a: Forbidden: no", ": Forbidden: at the root"]


def test_values_of_fields_that_are_absent() -> None:
    field = Field(SPEC)["absent"]
    assert (field.value, bool(field), field.text, field.number) == (None, False, "", 0)
    assert (list(field), list(field.entries()), field["x"].value, field.find("x.y").value) == ([], [], None, None)
    assert field.members(("x",)) == []
    assert field.entry("x").value is None


def test_keys_and_indexes() -> None:
    field = Field(SPEC)
    assert [port.index for port in field["ports"]] == [0, 1]
    assert [label.key for label in field["labels"].entries()] == ["a.b/c"]
    assert field["type"].key == "type"


def test_the_repr_shows_path_and_value() -> None:
    assert repr(Field(SPEC)["type"]) == "<Field type: 'ClusterIP'>"
    assert repr(Field(1)) == "<Field /: 1>"


CHECKS: list[tuple[str, Callable[[Field], object], list[str]]] = [
    ("required", lambda f: f["type"].required(), []),
    ("required: absent", lambda f: f["x"].required(), ["spec.x: Required value"]),
    ("required: empty", lambda f: f["empty"].required("say it"), ["spec.empty: Required value: say it"]),
    ("required ends the chain", lambda f: f["x"].required().dns_label(), ["spec.x: Required value"]),
    ("specified: absent", lambda f: f["none"].specified("set it"), ["spec.none: Required value: set it"]),
    ("specified: empty", lambda f: f["empty"].specified(), []),
    ("require", lambda f: f.require("type", "x", "empty"), ["spec.x: Required value", "spec.empty: Required value"]),
    ("optional: empty", lambda f: f["empty"].optional().dns_label(), []),
    ("get: absent", lambda f: f.get("x").dns_label().forbidden("never"), []),
    ("get: a child of what is absent", lambda f: f.get("x")["y"].required(), []),
    ("get: empty", lambda f: f.get("zero").positive(), ["spec.zero: Invalid value: 0: must be greater than zero"]),
    ("one_of", lambda f: f["type"].one_of(("ClusterIP",)), []),
    (
        "one_of: other",
        lambda f: f["type"].one_of(("A", "B")),
        ['spec.type: Unsupported value: "ClusterIP": supported values: "A", "B"'],
    ),
    ("one_of: absent", lambda f: f["x"].one_of(("A",)), ['spec.x: Unsupported value: "": supported values: "A"']),
    ("between", lambda f: f["zero"].between(0, 1), []),
    (
        "between: too low",
        lambda f: f["zero"].between(1, 2),
        ["spec.zero: Invalid value: 0: must be between 1 and 2, inclusive"],
    ),
    ("between: own words", lambda f: f["x"].between(1, 2, "pick one"), ["spec.x: Invalid value: 0: pick one"]),
    ("at_least", lambda f: f["zero"].at_least(0, "too low"), []),
    ("at_least: absent", lambda f: f["x"].at_least(1, "too low"), ["spec.x: Invalid value: 0: too low"]),
    ("at_least: skipped", lambda f: f.get("x").at_least(1, "too low"), []),
    ("at_most", lambda f: f["x"].at_most(0, "too high"), []),
    (
        "at_most: too high",
        lambda f: f["x"].with_value(2).at_most(1, "too high"),
        ["spec.x: Invalid value: 2: too high"],
    ),
    (
        "port_number: absent",
        lambda f: f["x"].port_number(),
        ["spec.x: Invalid value: 0: must be between 1 and 65535, inclusive"],
    ),
    ("port: a name", lambda f: Field("http", "p", f.errors).port(), []),
    (
        "port: a bad name",
        lambda f: Field("1", "p", f.errors).port(),
        ['p: Invalid value: "1": must contain at least one letter (a-z)'],
    ),
    ("port: a number", lambda f: Field(80, "p", f.errors).port(), []),
    ("non_negative: absent", lambda f: f["x"].non_negative(), []),
    (
        "non_negative",
        lambda f: f["x"].with_value(-1).non_negative(),
        ["spec.x: Invalid value: -1: must be greater than or equal to 0"],
    ),
    ("positive: absent", lambda f: f["x"].positive(), ["spec.x: Invalid value: 0: must be greater than zero"]),
    ("immutable", lambda f: f["type"].immutable(Field("ClusterIP")), []),
    (
        "immutable: changed",
        lambda f: f["type"].immutable(Field("NodePort")),
        ['spec.type: Invalid value: "ClusterIP": field is immutable'],
    ),
    (
        "immutable: removed",
        lambda f: f["x"].immutable(Field("a")),
        ["spec.x: Invalid value: null: field is immutable"],
    ),
    (
        "immutable_struct",
        lambda f: f["x"].with_value([{"ip": "1"}]).immutable_struct(f["none"], "PodIP"),
        ['spec.x: Invalid value: [{"IP":"1"}]: field is immutable'],
    ),
    ("immutable_struct: unchanged", lambda f: f["x"].immutable_struct(f["none"], "PodIP"), []),
    ("dns_label", lambda f: f["x"].with_value("a-b").dns_label(), []),
    ("dns_subdomain", lambda f: f["x"].with_value("a.b").dns_subdomain(), []),
    ("qualified_name", lambda f: f["x"].with_value("a.b/C").qualified_name(), []),
    ("ip", lambda f: f["x"].with_value("10.0.0.1").ip(), []),
    ("ip: stored", lambda f: f["x"].with_value("010.0.0.1").ip(("010.0.0.1",)), []),
    (
        "ip: leading zeros",
        lambda f: f["x"].with_value("010.0.0.1").ip(),
        ['spec.x: Invalid value: "010.0.0.1": must not have leading 0s'],
    ),
    (
        "ip ends the chain",
        lambda f: f["x"].with_value("010.0.0.1").ip().one_of(("a",)),
        ['spec.x: Invalid value: "010.0.0.1": must not have leading 0s'],
    ),
    (
        "check",
        lambda f: f["type"].check(lambda text: [f"{text} is one problem", "another"]),
        [
            'spec.type: Invalid value: "ClusterIP": ClusterIP is one problem',
            'spec.type: Invalid value: "ClusterIP": another',
        ],
    ),
    ("check: absent", lambda f: f["x"].check(lambda text: [text + "!"]), ['spec.x: Invalid value: "": !']),
    ("max_bytes", lambda f: f["type"].max_bytes(8), ["spec.type: Too long: may not be more than 8 bytes"]),
    ("max_bytes: absent", lambda f: f["x"].max_bytes(0), []),
    ("max_items", lambda f: f["ports"].max_items(1), ["spec.ports: Too many: 2: must have at most 1 item"]),
    ("max_items: absent", lambda f: f["x"].max_items(0), []),
    (
        "limited",
        lambda f: [port["x"].required() for port in f["ports"].limited(1)],
        ["spec.ports: Too many: 2: must have at most 1 item"],
    ),
    ("limited: absent", lambda f: f["x"].limited(0), []),
    ("invalid_if", lambda f: f["type"].invalid_if("no", "shown"), ['spec.type: Invalid value: "shown": no']),
    ("invalid_if: no problem", lambda f: f["type"].invalid_if(""), []),
    ("invalid", lambda f: f["type"].invalid("no"), ['spec.type: Invalid value: "ClusterIP": no']),
    ("invalid: absent", lambda f: f["x"].invalid("no"), ['spec.x: Invalid value: "": no']),
    ("invalid: another value", lambda f: f["type"].invalid("no", None), ["spec.type: Invalid value: null: no"]),
    ("invalid_omitted", lambda f: f["type"].invalid_omitted("no"), ["spec.type: Invalid value: no"]),
    (
        "invalid_struct",
        lambda f: f["x"].with_value({"name": "c"}).invalid_struct("PodResourceClaim", "no"),
        ['spec.x: Invalid value: {"Name":"c","ResourceClaimName":null,"ResourceClaimTemplateName":null}: no'],
    ),
    ("duplicate", lambda f: f["type"].duplicate(), ['spec.type: Duplicate value: "ClusterIP"']),
    ("not_found", lambda f: f["x"].not_found("y"), ['spec.x: Not found: "y"']),
]


@pytest.mark.parametrize(("check", "errors"), [row[1:] for row in CHECKS], ids=[row[0] for row in CHECKS])
def test_a_check_adds_the_error_that_the_api_server_words(check: Callable[[Field], object], errors: list[str]) -> None:
    assert found(check) == errors


@pytest.mark.parametrize("name", ["dns_label", "dns_subdomain", "qualified_name"])
def test_names_that_are_malformed(name: str) -> None:
    errors = found(lambda field: getattr(field["x"].with_value("-Bad"), name)())
    assert errors
    assert all(error.startswith('spec.x: Invalid value: "-Bad": ') for error in errors)


def test_values_are_unique_among_those_seen() -> None:
    seen: set[Any] = set()

    def check(spec: Field) -> None:
        for port in spec["ports"]:
            port["name"].unique(seen, port["name"].text.lower())

    assert found(check) == ['spec.ports[1].name: Duplicate value: "http"']
    assert seen == {"http"}


def test_chained_checks_add_their_errors_in_order() -> None:
    errors = found(lambda spec: [port["name"].check(port_name_problems).one_of(("x",)) for port in spec["ports"]])
    assert errors == [
        'spec.ports[0].name: Unsupported value: "http": supported values: "x"',
        'spec.ports[1].name: Invalid value: "HTTP": '
        "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)",
        'spec.ports[1].name: Invalid value: "HTTP": must contain at least one letter (a-z)',
        'spec.ports[1].name: Unsupported value: "HTTP": supported values: "x"',
    ]


UNIONS: list[tuple[tuple[str, ...], list[str]]] = [
    (("type",), ['spec.type: Invalid value: "ClusterIP": checked']),
    (("x", "type", "none"), ['spec.type: Invalid value: "ClusterIP": checked']),
    (("empty", "type"), ['spec.empty: Invalid value: "": checked', "spec.type: Forbidden: only one"]),
    (("x", "none"), ["spec: Required value: one is needed"]),
]


@pytest.mark.parametrize(("names", "errors"), UNIONS)
def test_a_union_has_one_member(names: tuple[str, ...], errors: list[str]) -> None:
    def check(spec: Field) -> None:
        for member in union(spec, names, many="only one", none="one is needed"):
            member.invalid("checked")

    assert found(check) == errors


def test_rules_apply_to_members_that_are_not_empty_in_the_order_of_the_rules() -> None:
    called: list[tuple[str, str]] = []

    def rule(field: Field, context: str) -> None:
        called.append((field.key, context))

    Field(SPEC).apply(dict.fromkeys(("ports", "x", "empty", "none", "zero", "type"), rule), "context")
    assert called == [("ports", "context"), ("type", "context")]
    Field(None).apply({"x": rule}, "context")
    assert len(called) == 2


def test_errors_of_a_skipped_field_are_dropped() -> None:
    SKIPPED["x"].forbidden("no")
    SKIPPED.warn("no")
    assert SKIPPED.errors == []
    assert not SKIPPED


CHOICES: list[tuple[str, Callable[[Field], object], list[str]]] = [
    ("require_text", lambda f: f.require_text("type", lambda text: []), []),
    ("require_text: absent", lambda f: f.require_text("x", lambda text: ["bad"]), ["spec.x: Required value"]),
    (
        "require_text: bad",
        lambda f: f.require_text("type", lambda text: ["bad"]),
        ['spec.type: Invalid value: "ClusterIP": bad'],
    ),
    ("require_choice", lambda f: f.require_choice("type", ("ClusterIP",)), []),
    ("require_choice: absent", lambda f: f.require_choice("x", ("a",)), ["spec.x: Required value"]),
    (
        "require_choice: other",
        lambda f: f.require_choice("type", ("a",)),
        ['spec.type: Unsupported value: "ClusterIP": supported values: "a"'],
    ),
    ("choice: absent", lambda f: f.choice("x", ("a",)), []),
    (
        "choice: empty",
        lambda f: f.choice("empty", ("a",)),
        ['spec.empty: Unsupported value: "": supported values: "a"'],
    ),
    (
        "non_negative_members",
        lambda f: f.with_value({"a": -1, "b": 0}).non_negative_members("a", "b", "c"),
        ["spec.a: Invalid value: -1: must be greater than or equal to 0"],
    ),
    (
        "each",
        lambda f: [port["x"].missing() for port in f.each("ports")],
        ["spec.ports[0].x: Required value", "spec.ports[1].x: Required value"],
    ),
    ("each: absent", lambda f: [item.missing() for item in f.each("x")], []),
    (
        "check_members",
        lambda f: f.check_members({"zero": Field.positive, "none": Field.missing}),
        ["spec.zero: Invalid value: 0: must be greater than zero"],
    ),
]


@pytest.mark.parametrize(("check", "errors"), [row[1:] for row in CHOICES], ids=[row[0] for row in CHOICES])
def test_checks_of_members(check: Callable[[Field], object], errors: list[str]) -> None:
    assert found(check) == errors


def test_a_memoized_rule_runs_once_for_each_valid_value() -> None:
    called: list[int] = []

    @memoized("a", maps=("m",))
    def rule(field: Field, limit: int) -> None:
        called.append(field["a"].number)
        if field["a"].number > limit:
            field["a"].forbidden("too much")

    errors: list[Any] = []
    for value in ({"a": 1}, {"a": 1}, {"a": 1, "m": {"x": 1}}, {"a": 1, "m": {"x": 1}}, {"a": 3}, {"a": 3}):
        rule(Field(value, "f", errors), 2)
    assert called == [1, 1, 3, 3]
    assert [str(error) for error in errors] == ["f.a: Forbidden: too much"] * 2
    rule(Field({"a": 3}), 4)
    rule(SKIPPED, 4)
    rule(SKIPPED, 4)
    assert called == [1, 1, 3, 3, 3, 0, 0]


def test_a_memoized_rule_remembers_a_limited_number_of_values() -> None:
    called: list[int] = []

    @memoized("a")
    def rule(field: Field) -> None:
        called.append(field["a"].number)

    for number in (*range(MEMORY + 1), 0, MEMORY):
        rule(Field({"a": number}))
    assert called == [*range(MEMORY + 1), 0]


def test_a_warning_has_the_path_of_its_field() -> None:
    warnings: list[Any] = []
    Field(SPEC, "spec", warnings)["type"].warn("is deprecated")
    assert warnings == ["spec.type: is deprecated"]
