"""A cursor for validation: a value, its path and the list of errors (apimachinery `util/validation/field`).

    root = Field(service)
    spec = root["spec"]
    spec["type"].required().one_of(TYPES)
    for port in spec["ports"]:
        port["name"].optional().dns_label().unique(names)
        port["port"].between(1, 65535)
    return root.errors

Checks add their errors and return the field, so that they can be chained. A field that is absent has the value None;
its members are absent too. Text of an error shows an absent value as "" or, in checks of numbers, as 0, which are the
zero values of Go's structs.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from fakekube.apiserver.features import since
from fakekube.apiserver.registry.generic.validation import content, gostructs
from fakekube.apiserver.wire import goprint
from fakekube.apiserver.wire.status import (
    FieldError,
    field_duplicate,
    field_forbidden,
    field_invalid,
    field_not_found,
    field_not_supported,
    field_required,
    field_too_long,
    field_too_many,
)

C = TypeVar("C")
Object = dict[str, Any]

_NOTHING: Mapping[str, Any] = {}
_UNSET: Any = object()
_new = object.__new__  # half the time of a call of the class: a pod has hundreds of fields


class Field:
    """One field of an object. The path is rendered only for an error.

    `_key` is the last element of the path: the name of a member, the index of an item, or a tuple that holds the key
    of a map's entry. `_owner` is the field that it belongs to; of a root, it is the list of errors, and `_key` is the
    whole path.
    """

    __slots__ = ("_key", "_owner", "value")

    value: Any
    _key: str | int | tuple[str]
    _owner: Field | list[Any]

    def __init__(self, value: Any, path: str = "", errors: list[Any] | None = None) -> None:
        self.value, self._key = value, path
        self._owner = [] if errors is None else errors

    def __repr__(self) -> str:
        return f"<Field {self.path or '/'}: {self.value!r}>"

    def __bool__(self) -> bool:
        """Whether the value is neither absent nor a zero value."""
        return bool(self.value)

    def __len__(self) -> int:
        return len(self.value or ())

    def __contains__(self, item: object) -> bool:
        return item in (self.value or ())

    # --- where it is ---

    @property
    def parent(self) -> Field:
        """The field that this is a member, an item or an entry of."""
        assert isinstance(self._owner, Field)
        return self._owner

    @property
    def path(self) -> str:
        parts: list[str] = []
        field = self
        while isinstance(field._owner, Field):
            key = field._key
            parts.append(f".{key}" if isinstance(key, str) else f"[{key[0] if isinstance(key, tuple) else key}]")
            field = field._owner
        root = str(field._key)
        path = root + "".join(reversed(parts))
        return path if root else path.removeprefix(".")

    @property
    def errors(self) -> list[Any]:
        """The list that errors are added to."""
        owner = self._owner
        while isinstance(owner, Field):
            owner = owner._owner
        return owner

    @property
    def key(self) -> str:
        """The key of a map's entry, or the name of a member."""
        key = self._key
        return key[0] if isinstance(key, tuple) else str(key)

    @property
    def index(self) -> int:
        """The index of a list's item."""
        assert isinstance(self._key, int)
        return self._key

    # --- members, items and entries ---

    def __getitem__(self, name: str) -> Field:
        """The member of a struct."""
        value = self.value
        field: Field = _new(Field)
        field.value = value.get(name) if value else None
        field._owner, field._key = self, name
        return field

    def __iter__(self) -> Iterator[Field]:
        """The items of a list."""
        return self._items() if self.value else iter(())

    def _items(self) -> Iterator[Field]:
        for index, item in enumerate(self.value):
            field: Field = _new(Field)
            field.value, field._owner, field._key = item, self, index
            yield field

    def each(self, name: str) -> Iterator[Field]:
        """The items of a member that is a list."""
        return self[name]._items() if (self.value or _NOTHING).get(name) else iter(())

    def entries(self) -> Iterator[Field]:
        """The entries of a map; `key` is the key of each."""
        for key, value in (self.value or _NOTHING).items():
            yield self.at((key,), value)

    def entry(self, key: str) -> Field:
        return self.at((key,), (self.value or _NOTHING).get(key))

    def find(self, path: str) -> Field:
        """The member at a path of names with dots between them."""
        value = self.value
        for name in path.split("."):
            value = (value or _NOTHING).get(name)
        return self.at(path, value)

    def at(self, key: str | int | tuple[str], value: Any) -> Field:
        """A value at a path below this one: some errors of the API server name another path than the value's."""
        field: Field = _new(Field)
        field.value, field._owner, field._key = value, self, key
        return field

    def with_value(self, value: Any) -> Field:
        """Another value at the path of this one."""
        field: Field = _new(Field)
        field.value, field._owner, field._key = value, self._owner, self._key
        return field

    def members(self, names: Iterable[str]) -> list[Field]:
        """Those of the members that are set, in the order of the names."""
        value = self.value or _NOTHING
        return [self[name] for name in names if value.get(name) is not None]

    def apply(self, rules: Mapping[str, Callable[[Field, C], object]], context: C) -> None:
        """Calls the rules of those members that are neither absent nor empty, in the order of the rules."""
        value = self.value or _NOTHING
        for name, rule in rules.items():
            if value.get(name):
                rule(self[name], context)

    def check_members(self, rules: Mapping[str, Callable[[Field], object]]) -> None:
        """Calls the rules of those members that are set, in the order of the rules."""
        value = self.value or _NOTHING
        for name, rule in rules.items():
            if value.get(name) is not None:
                rule(self[name])

    # --- values ---

    @property
    def text(self) -> str:
        return self.value or ""

    @property
    def number(self) -> int:
        return self.value or 0

    @property
    def struct(self) -> Mapping[str, Any]:
        """The members by name; none if the value is absent."""
        return self.value or _NOTHING

    # --- whether to check at all ---

    def get(self, name: str) -> Field:
        """The member if it is set, else a field whose errors are dropped."""
        return SKIPPED if (self.value or _NOTHING).get(name) is None else self[name]

    def optional(self) -> Field:
        """This field if it is not empty, else one whose errors are dropped."""
        return self if self.value else SKIPPED

    def required(self, why: str = "") -> Field:
        """Not empty; if it is, no further check adds an error."""
        if self.value:
            return self
        self.missing(why)
        return SKIPPED

    def specified(self, why: str = "") -> Field:
        """Set, maybe to an empty value; if it is not, no further check adds an error."""
        if self.value is not None:
            return self
        self.missing(why)
        return SKIPPED

    # --- checks of members, which make no field of a valid one ---

    def require(self, *names: str) -> None:
        """None of the members is empty."""
        value = self.value or _NOTHING
        for name in names:
            if not value.get(name):
                self[name].missing()

    def require_text(self, name: str, problems: Callable[[str], Sequence[str]]) -> None:
        """The member is not empty and has no problems."""
        text = (self.value or _NOTHING).get(name)
        if not text or problems(text):
            self[name].required().check(problems)

    def require_choice(self, name: str, choices: Sequence[str]) -> None:
        """The member is required, and one of the choices."""
        if (self.value or _NOTHING).get(name) not in choices:
            self[name].required().one_of(choices)

    def choice(self, name: str, choices: Sequence[str]) -> None:
        """The member is one of the choices if it is set."""
        value = (self.value or _NOTHING).get(name)
        if value is not None and value not in choices:
            self[name].not_supported(choices)

    def non_negative_members(self, *names: str) -> None:
        value = self.value or _NOTHING
        for name in names:
            if (value.get(name) or 0) < 0:
                self[name].non_negative()

    # --- checks ---

    def check(self, problems: Callable[[str], Sequence[str]]) -> Field:
        """No problems of the text; each is an "Invalid value"."""
        for problem in problems(self.value or ""):
            self.invalid(problem)
        return self

    def dns_label(self) -> Field:
        return self.check(content.dns_label_problems)

    def label_value(self) -> Field:
        return self.check(content.label_value_problems)

    def dns_subdomain(self) -> Field:
        return self.check(content.dns_subdomain_problems)

    def qualified_name(self) -> Field:
        return self.check(content.qualified_name_problems)

    def ip(self, known: Container[str] = ()) -> Field:
        """An address; if it is not, no further check adds an error. `known` are those of the stored object, which stay
        valid."""
        if self.text in known or not content.legacy_ip_problems(self.text):
            return self
        self.check(content.legacy_ip_problems)
        return SKIPPED

    def one_of(self, choices: Sequence[str], *, plain: bool = False) -> Field:
        """`plain`: the field is a Go string and not of a named type."""
        if self.value not in choices:
            self._add(partial(field_not_supported, plain=plain), self.text, choices)
        return self

    def between(self, low: int, high: int, why: str = "") -> Field:
        if not low <= (self.value or 0) <= high:
            self.invalid(why or content.range_problem(low, high), self.value or 0)
        return self

    def at_least(self, low: int, why: str) -> Field:
        if (self.value or 0) < low:
            self.invalid(why, self.value or 0)
        return self

    def at_most(self, high: int, why: str) -> Field:
        if (self.value or 0) > high:
            self.invalid(why)
        return self

    def non_negative(self) -> Field:
        if (self.value or 0) < 0:
            self.invalid(content.NEGATIVE)
        return self

    def positive(self) -> Field:
        return self.at_least(1, content.NOT_POSITIVE)

    def port_number(self) -> Field:
        return self.between(1, 65535)

    def port(self) -> Field:
        """A number, or the name of a container's port."""
        return self.check(content.port_name_problems) if isinstance(self.value, str) else self.port_number()

    def int_or_percent(self) -> Field:
        """A count, or a percentage (`ValidatePositiveIntOrPercent`)."""
        return self.check(content.percent_problems) if isinstance(self.value, str) else self.non_negative()

    def at_most_all(self) -> Field:
        """`IsNotMoreThan100Percent`."""
        if isinstance(self.value, str) and not content.percent_problems(self.value) and int(self.value[:-1]) > 100:
            self.invalid("must not be greater than 100%")
        return self

    def immutable(self, old: Field) -> Field:
        if self.value != old.value:
            self.invalid(content.IMMUTABLE, self.value)
        return self

    def immutable_text(self, old: Field) -> Field:
        """The same of a text that is "" if it is absent."""
        if (self.value or "") != (old.value or ""):
            self.invalid(content.IMMUTABLE)
        return self

    def immutable_struct(self, old: Field, struct: str) -> Field:
        """The same of a struct that the error shows as Go prints it."""
        if self.value != old.value:
            self.invalid_struct(struct, content.IMMUTABLE)
        return self

    def unique(self, seen: set[Any], value: Any = _UNSET) -> Field:
        """Not seen before; `value` is what is compared, if that is not the text."""
        value = self.value or "" if value is _UNSET else value
        if value in seen:
            self.duplicate(value)
        seen.add(value)
        return self

    def max_bytes(self, limit: int) -> Field:
        if len((self.value or "").encode()) > limit:
            self.too_long(limit)
        return self

    def limited(self, limit: int) -> Field:
        """At most so many items; if there are more, no further check adds an error."""
        self.max_items(limit)
        return self if len(self) <= limit else SKIPPED

    def max_items(self, limit: int) -> Field:
        if len(self) > limit:
            self.too_many(limit)
        return self

    # --- errors ---

    def invalid(self, why: str, value: Any = _UNSET) -> None:
        """`value` is what the error shows, if that is not the field's own."""
        if value is _UNSET:
            value = "" if self.value is None else self.value
        self._add(field_invalid, value, why)

    def invalid_if(self, problem: str | None, value: Any = _UNSET) -> None:
        """Adds the problem, if there is one."""
        if problem:
            self.invalid(problem, value)

    def invalid_struct(self, struct: str, why: str) -> None:
        """Shows the value as Go prints the struct of this name."""
        if struct == "LabelSelector" and self.value is not None and not since(34):
            shown = f"Invalid value: {goprint.selector_literal(self.value)}"
        else:
            known = self.value is not None or since(34)
            shown = f"Invalid value: {gostructs.shown(struct, self.value) if known else goprint.quoted(None)}"
        self._add(FieldError, "FieldValueInvalid", f"{shown}: {why}" if why else shown)

    def invalid_go(self, why: str) -> None:
        """Shows the value as Go's `json.Marshal` does, with its members in their order."""
        self._add(FieldError, "FieldValueInvalid", f"Invalid value: {gostructs.marshal(self.value)}: {why}")

    def invalid_omitted(self, why: str) -> None:
        """Shows no value (`field.OmitValueType`)."""
        self._add(FieldError, "FieldValueInvalid", f"Invalid value: {why}")

    def missing(self, why: str = "") -> None:
        """Adds "Required value"; `required` does so only if the value is empty."""
        self._add(field_required, why)

    def forbidden(self, why: str) -> None:
        self._add(field_forbidden, why)

    def internal(self, why: str) -> None:
        """Adds "Internal error"."""
        self._add(FieldError, "InternalError", f"Internal error: {why}")

    def duplicate(self, value: Any = _UNSET) -> None:
        self._add(field_duplicate, self.text if value is _UNSET else value)

    def duplicate_go(self, value: Any, why: str = "") -> None:
        """Shows the value as Go's `json.Marshal` does, with its members in their order."""
        text = f"Duplicate value: {gostructs.marshal(value)}"
        self._add(FieldError, "FieldValueDuplicate", f"{text}: {why}" if why else text)

    def not_found(self, value: Any = _UNSET) -> None:
        self._add(field_not_found, self.text if value is _UNSET else value)

    def not_supported(self, choices: Sequence[str], value: Any = _UNSET) -> None:
        self._add(field_not_supported, self.text if value is _UNSET else value, choices)

    def unsupported_struct(self, struct: str, choices: tuple[str, ...]) -> None:
        supported = ", ".join(f'"{one}"' for one in choices)
        shown = f"Unsupported value: {gostructs.shown(struct, self.value)}"
        self._add(FieldError, "FieldValueNotSupported", f"{shown}: supported values: {supported}")

    def too_long(self, limit: int) -> None:
        self._add(field_too_long, limit)

    def too_many(self, limit: int) -> None:
        self._add(field_too_many, len(self), limit)

    def _add(self, error: Callable[..., object], *arguments: Any) -> None:
        errors = self.errors
        if errors is not _DROPPED:
            errors.append(error(self.path, *arguments))

    def warn(self, why: str) -> None:
        """Adds a warning, in a walk whose root has a list of warnings."""
        self._add("{}: {}".format, why)


_DROPPED: list[Any] = []

#: A field that is not checked: it is absent, and its errors and those of its members are dropped.
SKIPPED = Field(None, "skipped", _DROPPED)
