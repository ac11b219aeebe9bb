"""Rules of validation as functions: of objects, of updates, memoized ones, and those of several checks."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from fakekube.apiserver.registry.generic.validation import content
from fakekube.apiserver.registry.generic.validation.field import SKIPPED, Field
from fakekube.apiserver.wire.status import FieldError

_NOTHING: Mapping[str, Any] = {}

#: How many valid values each memoized rule remembers.
MEMORY = 2048


def memoized(*names: str, maps: Sequence[str] = ()) -> Callable[[Callable[..., object]], Callable[..., None]]:
    """Remembers the values that a rule found valid, since the same values occur in most objects.

    The rule depends only on these members of its field, which are scalars or maps of scalars, and on its other
    arguments.
    """

    def decorate(rule: Callable[..., object]) -> Callable[..., None]:
        valid: set[Hashable] = set()

        def check(field: Field, *arguments: Hashable) -> None:
            get = (field.value or _NOTHING).get
            key: Hashable = (*map(get, names), *arguments)
            if maps:
                key = (key, *[tuple((get(name) or _NOTHING).items()) for name in maps])
            if key in valid:
                return
            errors = field.errors
            before = len(errors)
            rule(field, *arguments)
            if len(errors) == before and errors is not SKIPPED.errors:
                if len(valid) >= MEMORY:
                    valid.clear()
                valid.add(key)

        return check

    return decorate


def validator(rules: Callable[[Field], object]) -> Callable[[Mapping[str, Any]], list[FieldError]]:
    """Returns a function that applies the rules to an object and returns the errors."""

    def validate(obj: Mapping[str, Any]) -> list[FieldError]:
        root = Field(obj)
        rules(root)
        return root.errors

    return validate


def update_validator(
    rules: Callable[[Field, Field], object],
) -> Callable[[Mapping[str, Any], Mapping[str, Any]], list[FieldError]]:
    """The same of an update: the rules take the new object and the stored one."""

    def validate(new: Mapping[str, Any], old: Mapping[str, Any]) -> list[FieldError]:
        root = Field(new)
        rules(root, Field(old))
        return root.errors

    return validate


def domain_prefixed_path(member: Field) -> Field:
    """`acme.io/foo` (`IsDomainPrefixedPath`)."""
    field = member.required()
    host, slash, rest = field.text.partition("/")
    if host and slash and rest:
        field.with_value(host).dns_subdomain()
        field.with_value(rest).check(content.http_path_problems)
    else:
        field.invalid('must be a domain-prefixed path (such as "acme.io/foo")')
    return member


def union(field: Field, names: Iterable[str], *, many: str, none: str) -> Iterator[Field]:
    """The first of the members that is set; the others are forbidden, and one is required."""
    found = field.members(names)
    for place, member in enumerate(found):
        if place:
            member.forbidden(many)
        else:
            yield member
    if not found:
        field.missing(none)
