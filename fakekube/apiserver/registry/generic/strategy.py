"""What a kind does differently: who may write what, when generation moves, what a delete answers.

A Strategy is data, with functions only where a kind has a rule that is its own (`kinds`). It follows the strategies
below kubernetes `pkg/registry`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from fakekube.apiserver import names
from fakekube.apiserver.registry.core.service.allocation import Allocator
from fakekube.apiserver.resource import Resource
from fakekube.apiserver.user import User
from fakekube.apiserver.wire.status import FieldError, StatusError, bad_request

Object = dict[str, Any]

Prepare = Callable[[Object], Object]
"""The object of a create, as the kind stores it."""

PrepareUpdate = Callable[[Object, Object], Object]
"""The object of an update, given also the stored one."""

Convert = Callable[[Object], Object]
"""An object in another form."""

Allocate = Callable[[Allocator, Object, Object | None], Object]
"""The object with what the server gives out of its ranges, given also the stored one (None: it is new)."""

Fields = Mapping[str, Callable[[Object], str]]
"""Fields that can be selected by, and how each reads an object."""


def no_defaults(obj: Object) -> None:
    """Most kinds have none."""


def _no_errors(obj: Object) -> list[FieldError]:
    return []


def _no_update_errors(new: Object, old: Object) -> list[FieldError]:
    return []


def as_is(obj: Object) -> Object:
    return obj


def update_as_is(new: Object, old: Object) -> Object:
    return new


def _no_warnings(obj: Object) -> list[str]:
    return []


@dataclass(frozen=True, slots=True)
class Strategy:
    """The rules of one kind; the defaults are those of most.

    `generation`: the top-level fields whose change moves metadata.generation (none: the kind has no generation);
    `annotations_count` and `labels_count` add these to them, `constant_generation` sets 1 and leaves it.
    `create_on_update`: a PUT of what is missing creates it. `unconditional_update`: a PUT may come without a
    resourceVersion. `returns_deleted`: a delete answers with the object. `deletes_collection`: DELETE on the
    collection. `status_on_create`: a create may bring a status. `other_fields_refused`: how an unknown field of a
    selector is refused.
    """

    name_check: names.NameCheck = names.dns_subdomain_problems
    name_limit: int = 253
    """The longest name; a generated one is a prefix cut to leave room for its random suffix."""
    generation: tuple[str, ...] = ()
    annotations_count: bool = False
    labels_count: bool = False
    constant_generation: bool = False
    first_generation: int | None = 1
    """Of a new object of a kind that has one; None: only its first change gives it one."""
    create_on_update: bool = False
    unconditional_update: bool = True
    returns_deleted: bool = False
    status_on_create: bool = False
    default_status: Object | None = None
    status_keeps: tuple[str, ...] = ("generation",)
    """Fields of metadata that a write through /status does not change."""
    status_resets_metadata: bool = False
    """A write through /status changes nothing of metadata but managedFields (`rest.ResetObjectMetaForStatus`)."""
    counts_update: Callable[[Object, Object], bool] | None = None
    """Whether an update moves metadata.generation, for kinds whose top-level fields are not known beforehand; None:
    the fields of `generation` decide."""
    qualified_finalizers: bool = True
    """Finalizers without a domain are rejected (`ValidateFinalizerName`)."""
    graceful: bool = False
    delete_finalizers: tuple[str, ...] = ()
    """Finalizers that a delete adds: the server cleans up before the object goes."""
    mark_deleted: Callable[[Object, str], Object] | None = None
    """What the first delete makes of the object, given the time; None: as most kinds are marked."""
    fields: Fields = field(default_factory=dict)
    fields_message: str = "known"
    default: Callable[[Object], None] = no_defaults
    """Fills a draft: an object that was just decoded, and that nobody else has seen."""
    author: Callable[[Object, User], Object] | None = None
    """What a new object says of who makes it; None: nothing."""
    prepare_create: Prepare = as_is
    prepare_update: PrepareUpdate = update_as_is
    prepare_status_update: PrepareUpdate = update_as_is
    date_status: Callable[[Object, Object, str], Object] | None = None
    """Puts the time into a status that changes, given also the stored object; None: the kind has no such time."""
    validate: Callable[[Object], list[FieldError]] = _no_errors
    validate_update: Callable[[Object, Object], list[FieldError]] = _no_update_errors
    validate_status_update: Callable[[Object, Object], list[FieldError]] = _no_update_errors
    """What a write through /status is checked for instead."""
    repeats_metadata: bool = True
    """An update's metadata is looked at twice: by the generic check and by the kind's own (`ValidateObjectMetaUpdate`),
    so that each of its causes shows twice."""
    warnings: Callable[[Object], list[str]] = _no_warnings
    """Of a create, and of an update that has none of its own."""
    update_warnings: Callable[[Object, Object], list[str]] | None = None
    """Of an update, where they are not those of a create."""
    read: Convert | None = None
    write: Convert | None = None
    """From the stored form to the one of this group, and back (None: they are the same)."""
    named_group: str | None = None
    """The group by which a 422 names the kind, where it is not the resource's own."""
    deprecation: str = ""
    """What every answer of the resource warns of."""
    allocate: Allocate | None = None
    """Allocates from limited ranges before `prepare_create` and `prepare_update` (`registry.Store.BeginCreate`,
    `BeginUpdate`); None: the kind needs nothing of them."""

    @property
    def counts_generations(self) -> bool:
        """Whether objects of the kind have a generation."""
        return bool(self.generation) or self.constant_generation or self.counts_update is not None


DEFAULT = Strategy()


def metadata_field(key: str) -> Callable[[Object], str]:
    return lambda obj: obj["metadata"].get(key, "")


METADATA_FIELDS: Fields = {"metadata.name": metadata_field("name"), "metadata.namespace": metadata_field("namespace")}


def field_reader(strategy: Strategy) -> Callable[[Object, str], str]:
    """Reads the fields that the kind offers to selectors."""
    fields = {**METADATA_FIELDS, **strategy.fields}
    return lambda obj, name: fields[name](obj)


def check_fields(strategy: Strategy, resource: Resource, asked: list[str]) -> None:
    """Raises 400 for a field that the kind does not offer."""
    for name in asked:
        if name in strategy.fields:
            continue
        own = strategy.fields_message == "label"
        if name == "metadata.name" or (name == "metadata.namespace" and (resource.namespaced or not own)):
            continue
        raise unknown_field(strategy, name)


def unknown_field(strategy: Strategy, name: str) -> StatusError:
    """Kinds with fields of their own refuse in other words than those with just the metadata."""
    if strategy.fields_message == "label":
        return bad_request(f"field label not supported: {name}")
    return bad_request(f'"{name}" is not a known field selector: only "metadata.name", "metadata.namespace"')


def warnings_of_update(strategy: Strategy, new: Object, old: Object) -> list[str]:
    if strategy.update_warnings is not None:
        return strategy.update_warnings(new, old)
    return strategy.warnings(new)


def next_generation(strategy: Strategy, new: Object, old: Object) -> int | None:
    """The generation after an update: one more if a field that counts differs."""
    current: int | None = old["metadata"].get("generation")
    if strategy.counts_update is not None:
        return (current or 0) + 1 if strategy.counts_update(new, old) else current or 0
    if not strategy.generation:
        return current
    changed = any(new.get(part) != old.get(part) for part in strategy.generation)
    for counts, key in ((strategy.annotations_count, "annotations"), (strategy.labels_count, "labels")):
        if counts and not changed:
            changed = (new["metadata"].get(key) or {}) != (old["metadata"].get(key) or {})
    return (current or 0) + 1 if changed else current
