"""The strategy of a kind: preparation, validation, generation and deletion of its objects.

A Strategy corresponds to the strategies in Kubernetes' `pkg/registry`. It is data; a kind supplies functions only for
rules that differ from the defaults.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fakekube.apiserver import names
from fakekube.apiserver.registry.generic.allocator import Allocator
from fakekube.apiserver.registry.generic.validation.field import Field
from fakekube.apiserver.registry.generic.validation.metadata import validate_metadata
from fakekube.apiserver.resource import Resource
from fakekube.apiserver.user import User
from fakekube.apiserver.wire.gojson import is_same
from fakekube.apiserver.wire.goprint import go_quote
from fakekube.apiserver.wire.status import FieldError, StatusError, bad_request
from fakekube.struct import Struct, field

Object = dict[str, Any]

Prepare = Callable[[Object], Object]
"""Returns the object to store, given the new object (`PrepareForCreate`)."""

PrepareUpdate = Callable[[Object, Object], Object]
"""Returns the object to store, given the new and the stored object (`PrepareForUpdate`)."""

Convert = Callable[[Object], Object]
"""Returns the object converted between its stored form and a version."""

Allocate = Callable[[Allocator, Object, Object | None], Object]
"""Returns the object with allocated addresses and ports, given the new and the stored object (None: it is new)."""

Fields = Mapping[str, Callable[[Object], str]]
"""Field labels that selectors support -> the function that reads the field of an object."""


def no_defaults(obj: Object) -> None:
    """Sets no defaults; the default of `Strategy.default`."""


def _no_errors(obj: Object) -> list[FieldError]:
    return []


def _no_update_errors(new: Object, old: Object) -> list[FieldError]:
    return []


def as_is(obj: Object) -> Object:
    return obj


def update_as_is(new: Object, old: Object) -> Object:
    return new


def all_enabled(new: Object, old: Object | None) -> Object:
    return new


def _no_warnings(obj: Object) -> list[str]:
    return []


def no_update_warnings(new: Object, old: Object) -> list[str]:
    """The warnings of updates of a kind of which only a create has some."""
    return []


def never(obj: Object) -> bool:
    return False


def always(obj: Object) -> bool:
    return True


class Strategy(Struct, frozen=True):
    """The rules of one kind; the defaults are those of most kinds.

    `generation`: the top-level fields whose changes increment metadata.generation (none: the kind has no generation).
    `annotations_count`, `labels_count`: changes of annotations or labels increment it, too. `constant_generation`: it
    is always 1. `create_on_update`: a PUT creates an object that does not exist (AllowCreateOnUpdate).
    `unconditional_update`: a PUT needs no resourceVersion (AllowUnconditionalUpdate). `returns_deleted`: a DELETE
    returns the object instead of a Status. `status_on_create`: a create can set the status. `fields_message`: the
    wording of the error for an unknown field label (`known`, `label`, or the kind that it names).
    """

    name_check: names.NameCheck = names.dns_subdomain_problems
    name_problems: Callable[[Object, str], Sequence[str]] | None = None
    """The problems of a name that does not follow from the rest of the object, if it has to."""
    random_suffix: bool = True
    """Whether a name that is generated from generateName gets a random suffix."""
    generation: tuple[str, ...] = ()
    annotations_count: bool = False
    labels_count: bool = False
    constant_generation: bool = False
    empties_count: bool = False
    """An update with an empty list or map within the fields of `generation` always increments metadata.generation: it
    differs from an absent one, as all are after storage (`reflect.DeepEqual` instead of `Semantic.DeepEqual`)."""
    first_generation: int | None = 1
    """The generation of a new object, if the kind has generations; None: none before the first change."""
    create_on_update: bool = False
    unconditional_update: bool = True
    returns_deleted: bool = False
    status_on_create: bool = False
    default_status: Object | None = None
    status_keeps: tuple[str, ...] = ("generation",)
    """Fields of metadata that a write to /status does not change."""
    versioned_annotation: str = ""
    """An annotation that conversion to the API version adds: tables and metadata of objects do not have it."""
    unowned: tuple[str, ...] = ()
    """Fields besides the status that managers do not own, since updates do not change them (`GetResetFields`)."""
    subresource_resets: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The paths that a write to a subresource does not change, where they are not those of most kinds."""
    status_resets_metadata: bool = False
    """A write to /status changes no metadata except managedFields (`rest.ResetObjectMetaForStatus`)."""
    status_owns_metadata: bool = False
    """Managers nevertheless own the metadata that they write to /status, which is not taken (`GetResetFields`)."""
    counts_update: Callable[[Object, Object], bool] | None = None
    """Whether an update increments metadata.generation, for kinds without a fixed set of top-level fields; None:
    the fields of `generation` decide."""
    qualified_finalizers: bool = True
    """Finalizers without a domain are rejected (`ValidateFinalizerName`)."""
    default_propagation: str = "Background"
    """The propagationPolicy of a delete without one (`DefaultGarbageCollectionPolicy`): Background, Orphan, or "" if
    the kind does not support garbage collection."""
    delete_warning: str = ""
    """The warning of a delete without a propagationPolicy."""
    watch_cached: bool = True
    """Lists at resourceVersion 0 are answered by the watch cache, which does not page."""
    graceful: bool = False
    delete_finalizers: tuple[str, ...] = ()
    """Finalizers that a delete adds, so that the server can clean up before it removes the object."""
    mark_deleted: Callable[[Object, str], Object] | None = None
    """Marks an object as terminating, given the time; None: as for most kinds."""
    stored_incomplete: Callable[[Object], bool] = never
    """Whether the storage of kube-apiserver lacks defaults of a new object, which reads set: its first update changes
    it, even if it changes nothing else."""
    fields: Fields = field(default_factory=dict)
    fields_message: str = "known"
    default: Callable[[Object], None] = no_defaults
    """Sets the defaults of a decoded object in place."""
    date: Callable[[Object, str], Object] | None = None
    """Sets the times of a decoded object that default to the present; None: there are none."""
    author: Callable[[Object, User], Object] | None = None
    """Records the user in a new object; None: the kind does not record it."""
    drop_disabled: Callable[[Object, Object | None], Object] = all_enabled
    """Drops the fields of features that are off, given the new and the stored object (`dropDisabledFields`)."""
    drop_disabled_status: Callable[[Object, Object | None], Object] | None = None
    """The same in a write to /status; None: it is the same."""
    prepare_create: Prepare = as_is
    prepare_update: PrepareUpdate = update_as_is
    prepare_status_update: PrepareUpdate = update_as_is
    date_status: Callable[[Object, Object, str], Object] | None = None
    """Sets timestamps in a changed status, given the new and the stored object and the time; None: there are none."""
    validate: Callable[[Object], list[FieldError]] = _no_errors
    validate_update: Callable[[Object, Object], list[FieldError]] = _no_update_errors
    validate_update_with_warnings: Callable[[Object, Object, list[str]], list[FieldError]] | None = None
    """In place of `validate_update`, for kinds whose validation of an update also warns."""
    as_new_before: int = 0
    """Before this minor version an update was also validated as a new object (`Validate` before `ValidateUpdate`), so
    that its causes were reported twice."""
    validate_status_update: Callable[[Object, Object], list[FieldError]] = _no_update_errors
    validate_status_with_warnings: Callable[[Object, Object, list[str]], list[FieldError]] | None = None
    """In place of `validate_status_update`, for kinds whose validation of a status also warns."""
    """Validates a write to /status."""
    repeats_metadata: bool = True
    """The kind's own validation checks the metadata of an update again (`ValidateObjectMetaUpdate`), so that each of
    its causes is reported twice."""
    status_repeats_metadata: bool = True
    """The same of a write to /status."""
    metadata_last: bool = False
    """The kind's own validation does not check the metadata of a new object: its errors are reported only if there are
    no others (`rest.BeforeCreate`)."""
    warnings: Callable[[Object], list[str]] = _no_warnings
    """The warnings of a create, and of an update if `update_warnings` is None."""
    update_warnings: Callable[[Object, Object], list[str]] | None = None
    """The warnings of an update, if they differ from those of a create."""
    read: Convert | None = None
    write: Convert | None = None
    """`read` converts from the stored form to this group's, `write` converts back (None: they are the same)."""
    named_group: str | None = None
    """The group in 422 errors, if it is not the resource's."""
    deprecation: str = ""
    """The warning that every response of the resource contains."""
    allocate: Allocate | None = None
    """Allocates addresses and ports before `prepare_create` and `prepare_update` (`registry.Store.BeginCreate`,
    `BeginUpdate`); None: the kind has none."""

    @property
    def counts_generations(self) -> bool:
        """Whether objects of the kind have a generation."""
        return bool(self.generation) or self.constant_generation or self.counts_update is not None


DEFAULT = Strategy()


def metadata_field(key: str) -> Callable[[Object], str]:
    return lambda obj: obj["metadata"].get(key, "")


METADATA_FIELDS: Fields = {"metadata.name": metadata_field("name"), "metadata.namespace": metadata_field("namespace")}


def field_reader(strategy: Strategy) -> Callable[[Object, str], str]:
    """A function that reads the fields that the kind supports in selectors."""
    fields = {**METADATA_FIELDS, **strategy.fields}
    return lambda obj, name: fields[name](obj)


def check_fields(strategy: Strategy, resource: Resource, names: list[str]) -> None:
    """Raises 400 for a field that the kind does not support in selectors."""
    for name in names:
        if name in strategy.fields:
            continue
        own = strategy.fields_message != "known"
        if name == "metadata.name" or (name == "metadata.namespace" and (resource.namespaced or not own)):
            continue
        raise unknown_field(strategy, name)


def unknown_field(strategy: Strategy, name: str) -> StatusError:
    """The 400 error for an unknown field label; its wording depends on the kind."""
    if strategy.fields_message == "Job":
        return bad_request(f"field label {go_quote(name)} not supported for Job")
    if strategy.fields_message == "label":
        return bad_request(f"field label not supported: {name}")
    if strategy.fields_message != "known":
        return bad_request(f"field label not supported for {strategy.fields_message}: {name}")
    return bad_request(f'"{name}" is not a known field selector: only "metadata.name", "metadata.namespace"')


def name_check_of(strategy: Strategy, obj: Object) -> names.NameCheck:
    """The check of the name of an object."""
    more = strategy.name_problems
    if more is None:
        return strategy.name_check
    return lambda name, prefix: [*strategy.name_check(name, prefix), *more(obj, name)]


def as_new_errors(strategy: Strategy, obj: Object) -> list[FieldError]:
    """The errors of an object as a new one, with those of its metadata (`ValidateObjectMeta`)."""
    root = Field(obj)
    validate_metadata(root, strategy.name_check, qualified=strategy.qualified_finalizers)
    return root.errors + strategy.validate(obj)


def warnings_of_update(strategy: Strategy, new: Object, old: Object) -> list[str]:
    if strategy.update_warnings is not None:
        return strategy.update_warnings(new, old)
    return strategy.warnings(new)


def next_generation(strategy: Strategy, new: Object, old: Object, *, has_empties: bool = False) -> int | None:
    """The generation after an update: incremented if a field that counts has changed, or has had `has_empties`."""
    current: int | None = old["metadata"].get("generation")
    if strategy.counts_update is not None:
        return (current or 0) + 1 if strategy.counts_update(new, old) else current or 0
    if not strategy.generation:
        return current
    changed = has_empties or not all(is_same(new.get(part), old.get(part)) for part in strategy.generation)
    for counts, key in ((strategy.annotations_count, "annotations"), (strategy.labels_count, "labels")):
        if counts and not changed:
            changed = (new["metadata"].get(key) or {}) != (old["metadata"].get(key) or {})
    return (current or 0) + 1 if changed else current
