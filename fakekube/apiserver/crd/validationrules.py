"""Evaluates `x-kubernetes-validations` (`apiextensions-apiserver/pkg/apiserver/schema/cel/validation.go`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from fakekube.apiserver.cel.activation import CALL_LIMIT
from fakekube.apiserver.cel.types import DeclType
from fakekube.apiserver.cel.values import NO_OVERLOAD, NONE, CelError, Optional, OverBudget
from fakekube.apiserver.crd.compilation import CompiledRule, compile_rule, declare_self
from fakekube.apiserver.crd.correlatedobject import CorrelatedObject, item_key, keyed
from fakekube.apiserver.crd.structural import Structural
from fakekube.apiserver.features import since
from fakekube.apiserver.wire import goprint
from fakekube.apiserver.wire.goprint import go_quote, quoted
from fakekube.apiserver.wire.status import FieldError, field_forbidden, field_required
from fakekube.struct import Struct, field

Convert = Callable[[Any], Any]

#: The cost limit of all rules for one object.
OBJECT_LIMIT = 10_000_000

#: The limit of the message of a messageExpression in bytes.
MESSAGE_LIMIT = 5 * 1024

OUT_OF_BUDGET = "validation failed due to running out of cost budget, no further validation rules will be run"

_NO_BUDGET_FOR_MESSAGE = (
    "messageExpression evaluation failed due to running out of cost budget, no further validation rules will be run"
)
_CALL_OF_MESSAGE = "no further validation rules will be run due to call cost exceeds limit for messageExpression: "


class _ExpensiveMessage(Exception):
    """The messageExpression of a failed rule costs too much, which ends the evaluation."""


class RuleResults(Struct):
    """The results of the rules for an object, and the remaining cost budget (below 0: evaluation has ended).

    `warnings` are the errors of unchanged values. `checked`: the values may not conform to the schema.
    """

    errors: list[FieldError] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    budget: int = OBJECT_LIMIT
    checked: bool = False


class Variables(dict[str, Any]):
    """The variables of a rule. Reading one whose value could not be converted raises the error of its conversion."""

    __slots__ = ("problems",)

    def __init__(self, values: Mapping[str, Any], problems: Mapping[str, str]) -> None:
        super().__init__(values)
        self.problems: Mapping[str, str] = problems

    @classmethod
    def of(cls, values: Mapping[str, Any], convert: Convert | None) -> Variables:
        """Converts the values."""
        if convert is None:
            return cls(values, {})
        found: dict[str, Any] = {}
        problems: dict[str, str] = {}
        for name, value in values.items():
            try:
                found[name] = convert(value)
            except CelError as problem:
                problems[name] = str(problem)
        return cls(found, problems)

    def copy(self) -> Variables:
        return Variables(self, self.problems)

    def __missing__(self, name: str) -> Any:
        if name in self.problems:
            raise CelError(self.problems[name])
        raise KeyError(name)


class RatchetingOptions(Struct, frozen=True):
    """The correlation of a value with its old version, and the correlation of its nearest correlated parent."""

    current: CorrelatedObject | None = None
    around: CorrelatedObject | None = None

    def key(self, name: str) -> RatchetingOptions:
        return self if self.current is None else RatchetingOptions(self.current.key(name), self.current)

    def index(self, i: int) -> RatchetingOptions:
        return self if self.current is None else RatchetingOptions(self.current.index(i), self.current)

    def unchanged(self) -> bool:
        """Whether the value, or its nearest correlated parent, is unchanged."""
        nearest = self.current if self.current is not None else self.around
        return nearest is not None and nearest.unchanged()


class RuleValidator:
    """The rules of a schema node and of its descendants. A rule is compiled when it is evaluated first: the definition
    has been validated with all of them."""

    def __init__(
        self,
        schema: Structural,
        written: Sequence[Mapping[str, Any]],
        items: RuleValidator | None,
        additional: RuleValidator | None,
        properties: Mapping[str, RuleValidator],
        *,
        root: bool,
    ) -> None:
        self.schema: Structural = schema
        self.written: Sequence[Mapping[str, Any]] = written
        self.items: RuleValidator | None = items
        self.additional: RuleValidator | None = additional
        self.properties: Mapping[str, RuleValidator] = properties
        self.root: bool = root

    @cached_property
    def declared(self) -> DeclType | None:
        """The type of `self`."""
        return declare_self(self.schema, root=self.root)

    @cached_property
    def compiled(self) -> Sequence[CompiledRule]:
        """The compiled rules of the node."""
        return self._compiled(self.declared) if self.written else []

    @cached_property
    def checked(self) -> tuple[DeclType | None, Sequence[CompiledRule]]:
        """The type of `self` and the compiled rules for values that may not conform to the schema."""
        declared = declare_self(self.schema, root=self.root, checked=True) if self.written else None
        return declared, self._compiled(declared)

    def _compiled(self, declared: DeclType | None) -> Sequence[CompiledRule]:
        if declared is None:
            return []
        return [compile_rule(rule, self.schema, declared, estimated=False) for rule in self.written]

    @classmethod
    def of(cls, schema: Structural | None, *, root: bool = False) -> RuleValidator | None:
        """The rules of a schema; None if there are none."""
        if schema is None or not schema.has_rules:
            return None
        items, additional = cls.of(schema.items), cls.of(schema.additional)
        properties = {name: found for name, one in schema.properties.items() if (found := cls.of(one)) is not None}
        written: Sequence[Mapping[str, Any]] = schema.node.get("x-kubernetes-validations") or ()
        if not written and items is None and additional is None and not properties:
            return None
        return cls(schema, written, items, additional, properties, root=root)

    def errors(self, value: Any, old: Any, path: str = "") -> list[FieldError]:
        """The errors of a value; `old` is its old version, if any."""
        found = RuleResults()
        self.apply(value, old, path, RatchetingOptions(), found)
        return found.errors

    def apply(self, value: Any, old: Any, path: str, known: RatchetingOptions, found: RuleResults) -> None:
        """Evaluates the rules of a value and of its descendants, and adds the results to `found`."""
        if value is None or found.budget < 0:
            return
        if self.compiled:
            self._apply_own(value, old, path, known, found)
        if isinstance(value, list) and self.items is not None:
            self._apply_items(value, old, path, known, found)
        elif isinstance(value, dict):
            self._apply_fields(value, old, path, known, found)

    def _apply_items(self, value: list[Any], old: Any, path: str, known: RatchetingOptions, found: RuleResults) -> None:
        assert self.items is not None
        keys = self.schema.list_keys
        is_map = self.schema.list_type == "map"
        before = keyed(old, keys) if is_map and isinstance(old, list) else {}
        for i, item in enumerate(value):
            older = before.get(item_key(item, keys)) if before else None
            self.items.apply(item, older, f"{path}[{i}]", known.index(i), found)

    def _apply_fields(
        self, value: dict[str, Any], old: Any, path: str, known: RatchetingOptions, found: RuleResults
    ) -> None:
        same_parts = isinstance(old, dict)
        for key, item in value.items():
            rules = self.properties.get(key)
            here = f"{path}.{key}" if path else key
            if rules is None and key not in self.schema.properties and self.additional is not None:
                rules, here = self.additional, f"{path}[{key}]"
            if rules is not None:
                older = old.get(key) if same_parts else None
                rules.apply(item, older, here, known.key(key), found)

    # --- the rules of one value --------------------------------------------------------------------------------------

    def _apply_own(self, value: Any, old: Any, path: str, known: RatchetingOptions, found: RuleResults) -> None:
        declared, rules = self.checked if found.checked else (self.declared, self.compiled)
        assert declared is not None
        variables: Variables | None = None
        for rule in rules:
            if rule.program is None:
                if rule.problem:
                    found.errors.append(self._invalid_type(path, f"rule compile error: {rule.problem}"))
                continue
            optional = bool(rule.rule.get("optionalOldSelf"))
            if rule.uses_old and old is None and not optional:
                continue
            if found.budget <= 0:
                found.errors.append(self._invalid_type(path, OUT_OF_BUDGET))
                found.budget = -1
                return
            if variables is None:
                known_values = {"self": value} if old is None else {"self": value, "oldSelf": old}
                variables = Variables.of(known_values, declared.convert)
            if not self._holds(rule, variables, optional, path, known, value, found):
                return

    def _holds(
        self,
        rule: CompiledRule,
        variables: Variables,
        optional: bool,
        path: str,
        known: RatchetingOptions,
        value: Any,
        found: RuleResults,
    ) -> bool:
        """Evaluates one rule. Returns False if evaluation ends."""
        assert rule.program is not None
        given = variables
        if optional:
            given = variables.copy()
            if "oldSelf" not in given.problems:
                old = given.get("oldSelf")
                given["oldSelf"] = NONE if old is None else Optional(True, old)
        try:
            result, cost = rule.program(given, CALL_LIMIT)
        except OverBudget as problem:
            why = f"'{problem}': no further validation rules will be run due to call cost exceeds limit for rule: "
            found.errors.append(self._invalid_type(path, why + _called(rule)))
            found.budget = -1
            return False
        except CelError as problem:
            text = str(problem)
            if text.startswith(NO_OVERLOAD):
                what = "call arguments did not match a supported operator, function or macro signature for rule"
                text = f"'{text}': {what}: {_called(rule)}"
            else:
                text = f"{text} evaluating rule: {_called(rule)}"
            found.errors.append(self._invalid_type(path, text))
            return True
        if cost > found.budget:
            found.errors.append(self._invalid_type(path, OUT_OF_BUDGET))
            found.budget = -1
            return False
        found.budget -= cost
        if result is not True:
            self._note(rule, given, path, known, value, found)
        return found.budget >= 0

    def _note(
        self,
        rule: CompiledRule,
        variables: dict[str, Any],
        path: str,
        known: RatchetingOptions,
        value: Any,
        found: RuleResults,
    ) -> None:
        here = rule.field_path if not path else f"{path}.{rule.field_path}" if rule.field_path else path
        try:
            error = self._error(rule, here or "<nil>", _message(rule, variables, found), value)
        except _ExpensiveMessage as problem:
            error = self._invalid_type(here, str(problem))
            found.budget = -1
        if not rule.uses_old and known.unchanged():
            found.warnings.append(str(error))
        else:
            found.errors.append(error)

    def _error(self, rule: CompiledRule, path: str, message: str, value: Any) -> FieldError:
        reason = rule.rule.get("reason")
        if reason == "FieldValueForbidden":
            return field_forbidden(path, message)
        if reason == "FieldValueRequired":
            return field_required(path, message)
        shown = ""
        if not since(35):
            shown = f": {quoted(self.schema.type)}"
        elif self.schema.type not in ("object", "array"):
            shown = f": {goprint.number(value) if isinstance(value, float) else quoted(value)}"
        if reason == "FieldValueDuplicate":
            return FieldError(path, "FieldValueDuplicate", f"Duplicate value{shown}")
        return FieldError(path, "FieldValueInvalid", f"Invalid value{shown}{f': {message}' if message else ''}")

    def _invalid_type(self, path: str, message: str) -> FieldError:
        text = f"Invalid value: {quoted(self.schema.type)}: {message}"
        return FieldError(path or "<nil>", "FieldValueInvalid", text)


def _called(rule: CompiledRule) -> str:
    """The name of a rule in errors."""
    return str(rule.rule.get("message") or rule.rule["rule"]).strip()


def _message(rule: CompiledRule, variables: dict[str, Any], found: RuleResults) -> str:
    """The message of a failed rule: the result of its messageExpression if that is a single line, else its message.

    Raises _ExpensiveMessage (evalMessageExpression).
    """
    made: Any = ""
    if rule.message is not None:
        try:
            made, cost = rule.message(variables, CALL_LIMIT)
        except OverBudget:
            quoted_text = go_quote(rule.rule["messageExpression"])
            why = _CALL_OF_MESSAGE + quoted_text if found.budget > CALL_LIMIT else _NO_BUDGET_FOR_MESSAGE
            raise _ExpensiveMessage(why) from None
        except CelError:
            cost = 0
        if cost > found.budget:
            raise _ExpensiveMessage(_NO_BUDGET_FOR_MESSAGE)
        found.budget -= cost
    text = made.strip() if isinstance(made, str) else ""
    if text and "\n" not in text and len(text.encode()) <= MESSAGE_LIMIT:
        return text
    written = rule.rule.get("message")
    return str(written).strip() if written else f"failed rule: {rule.rule['rule'].strip()}"
