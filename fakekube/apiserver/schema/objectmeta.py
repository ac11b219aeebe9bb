"""Validates and prepares metadata (apimachinery `api/validation/objectmeta`, `apiserver/pkg/registry/rest`)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from fakekube.apiserver import names
from fakekube.apiserver.features import since
from fakekube.apiserver.wire.goprint import naming
from fakekube.apiserver.wire.status import FieldError, field_forbidden, field_invalid, field_required, field_too_long

Object = dict[str, Any]

#: The limit of the size of all annotations, keys and values, in bytes.
ANNOTATIONS_LIMIT = 256 * 1024


#: Finalizers that do not require a domain.
STANDARD_FINALIZERS = frozenset({"orphan", "foregroundDeletion", "kubernetes"})

#: Fields that clients cannot set.
_IMMUTABLE = ("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds")


def validate(
    meta: Object, *, namespaced: bool, namespace: str, name_check: names.NameCheck, path: str = "metadata"
) -> list[FieldError]:
    """Validates metadata, independently of an older version (`ValidateObjectMetaAccessor`)."""
    errors: list[FieldError] = []
    errors += generate_name_errors(meta, name_check, path)
    name = meta.get("name") or ""
    if not name:
        errors.append(field_required(f"{path}.name", "name or generateName is required"))
    else:
        errors += [field_invalid(f"{path}.name", name, problem) for problem in name_check(name, False)]
    if namespaced:
        if not namespace:
            errors.append(field_required(f"{path}.namespace"))
        else:
            problems = names.dns_label_problems(namespace)
            errors += [field_invalid(f"{path}.namespace", namespace, problem) for problem in problems]
    elif namespace:
        errors.append(field_forbidden(f"{path}.namespace", "not allowed on this type"))
    generation = meta.get("generation") or 0
    if generation < 0:
        errors.append(field_invalid(f"{path}.generation", generation, "must be greater than or equal to 0"))
    errors += content_errors(meta, path)
    return errors


def label_errors(labels: Object | None, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for key, value in sorted((labels or {}).items()):
        errors += [field_invalid(path, key, problem) for problem in names.qualified_name_problems(key)]
        errors += [field_invalid(path, value, problem) for problem in names.label_value_problems(value)]
    return errors


def annotation_errors(annotations: Object | None, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    size = 0
    for key, value in sorted((annotations or {}).items()):
        errors += [field_invalid(path, key, problem) for problem in names.qualified_name_problems(key.lower())]
        size += len(key.encode()) + len(value.encode())
    if size > ANNOTATIONS_LIMIT:
        why = f"must have at most {ANNOTATIONS_LIMIT} bytes"
        strict = FieldError(path, "FieldValueTooLong", f"Too long: {why}")
        errors.append(field_too_long(path, ANNOTATIONS_LIMIT) if since(32) else strict)
    return errors


def owner_errors(owners: list[Object] | None, path: str) -> list[FieldError]:
    """Validates owner references: each is complete, and at most one is the controller. Paths have no index."""
    errors: list[FieldError] = []
    controller = ""
    for owner in owners or ():
        api_version, kind = owner.get("apiVersion") or "", owner.get("kind") or ""
        group, _, version = api_version.rpartition("/") if api_version.count("/") < 2 else ("", "", "")
        if not version:
            errors.append(field_invalid(f"{path}.apiVersion", api_version, "version must not be empty"))
        missing = [field for field in ("kind", "name", "uid") if not owner.get(field)]
        errors += [field_invalid(f"{path}.{field}", "", naming(field, "must not be empty")) for field in missing]
        if (group, version, kind) == ("", "v1", "Event"):
            why = "/v1, Kind=Event is disallowed from being an owner"
            errors.append(FieldError(path, "FieldValueInvalid", f"Invalid value: {_shown(_ordered(owner))}: {why}"))
        if owner.get("controller"):
            name = f"{kind}/{owner.get('name') or ''}"
            if controller:
                shown = _shown([_ordered(one) for one in owners or ()])
                why = "Only one reference can have Controller set to true. "
                why += f'Found "true" in references for {controller} and {name}'
                errors.append(FieldError(path, "FieldValueInvalid", f"Invalid value: {shown}: {why}"))
            else:
                controller = name
    return errors


def _ordered(owner: Object) -> Object:
    """The fields of an owner reference in the order of Go's struct."""
    always = {key: owner.get(key) or "" for key in ("apiVersion", "kind", "name", "uid")}
    return {**always, **{key: owner[key] for key in ("controller", "blockOwnerDeletion") if key in owner}}


def _shown(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def finalizer_errors(finalizers: list[str] | None, path: str) -> list[FieldError]:
    """Validates finalizers (`ValidateFinalizers`)."""
    errors: list[FieldError] = []
    for finalizer in finalizers or ():
        errors += [field_invalid(path, finalizer, problem) for problem in names.qualified_name_problems(finalizer)]
    if {"orphan", "foregroundDeletion"} <= set(finalizers or ()):
        why = "finalizer orphan and foregroundDeletion cannot be both set"
        errors.append(field_invalid(path, list(finalizers or ()), why))
    return errors


def undomained_finalizer_errors(finalizers: list[str] | None, path: str) -> list[FieldError]:
    """Validates the finalizers of built-in kinds: names without a domain must be standard ones
    (`validateKubeFinalizerName`)."""
    why = "name is neither a standard finalizer name nor is it fully qualified"
    return [
        field_invalid(f"{path}[{i}]", finalizer, why)
        for i, finalizer in enumerate(finalizers or ())
        if "/" not in finalizer and finalizer not in STANDARD_FINALIZERS
    ]


def generate_name_errors(meta: Object, name_check: names.NameCheck, path: str = "metadata") -> list[FieldError]:
    """Validates generateName as the prefix of a name."""
    prefix = meta.get("generateName") or ""
    return [field_invalid(f"{path}.generateName", prefix, one) for one in name_check(prefix, True)] if prefix else []


def content_errors(meta: Object, path: str = "metadata") -> list[FieldError]:
    """Validates labels, annotations, owner references and finalizers."""
    errors: list[FieldError] = []
    for field, check in _CONTENT:
        value = meta.get(field)
        if value:
            errors += check(value, f"{path}.{field}")
    return errors


_CONTENT: tuple[tuple[str, Callable[[Any, str], list[FieldError]]], ...] = (
    ("labels", label_errors),
    ("annotations", annotation_errors),
    ("ownerReferences", owner_errors),
    ("finalizers", finalizer_errors),
)


def validate_update(new: Object, old: Object, path: str = "metadata") -> list[FieldError]:
    """Validates an update of metadata: some fields are immutable (`ValidateObjectMetaAccessorUpdate`)."""
    errors: list[FieldError] = []
    if old.get("deletionTimestamp") is not None:
        added = [f for f in new.get("finalizers") or () if f not in (old.get("finalizers") or ())]
        if added:
            shown = "[]string{" + ", ".join(f'"{one}"' for one in sorted(set(added))) + "}"
            why = f"no new finalizers can be added if the object is being deleted, found new finalizers {shown}"
            errors.append(field_forbidden(f"{path}.finalizers", why))
    if (new.get("generation") or 0) < (old.get("generation") or 0):
        errors.append(field_invalid(f"{path}.generation", new.get("generation"), "must not be decremented"))
    changed = [field for field in _IMMUTABLE if new.get(field) != old.get(field)]
    errors += [_immutable(f"{path}.{field}", field, new.get(field)) for field in changed]
    for field, check in _CONTENT[:3]:
        if new.get(field):
            errors += check(new[field], f"{path}.{field}")
    return errors


def _immutable(path: str, field: str, value: Any) -> FieldError:
    if since(34) or value is None or not field.endswith("Timestamp"):
        return field_invalid(path, value, "field is immutable")
    shown = value.replace("T", " ").replace("Z", " +0000 UTC")  # as Go prints a time
    return FieldError(path, "FieldValueInvalid", f"Invalid value: {shown}: field is immutable")


def filled(meta: Object, *, name: str, namespace: str, uid: str, now: str, generation: int | None = None) -> Object:
    """The metadata of a new object, with the fields that the server sets. `generation` is the first one, if any."""
    kept = {key: value for key, value in meta.items() if key != "selfLink"}
    kept["name"] = name
    if namespace:
        kept["namespace"] = namespace
    else:
        kept.pop("namespace", None)
    kept["uid"] = uid
    kept["creationTimestamp"] = now
    if generation:
        kept["generation"] = generation
    return tidy(kept)


def same_but_managed_fields(new: Object, old: Object) -> Object | None:
    """The metadata of an update that changes nothing of it but managedFields, as most writes to a status do."""
    same = {**old, "managedFields": new.get("managedFields")}
    return same if same == new and all(same.values()) and "selfLink" not in old else None


def kept_on_update(new: Object, old: Object) -> Object:
    """The metadata of an update, with the fields that the server owns unchanged (`rest.BeforeUpdate`)."""
    if (same := same_but_managed_fields(new, old)) is not None:
        return same
    meta = {key: value for key, value in new.items() if key != "selfLink"}
    if not meta.get("uid"):
        meta["uid"] = old["uid"]
    if old.get("deletionTimestamp"):
        meta["deletionTimestamp"] = old["deletionTimestamp"]
    if "deletionGracePeriodSeconds" in old:
        meta.setdefault("deletionGracePeriodSeconds", old["deletionGracePeriodSeconds"])
    for field in ("creationTimestamp", "generation", "namespace", "resourceVersion"):
        if field in old:
            meta[field] = old[field]
        else:
            meta.pop(field, None)
    return tidy(meta)


def without_version(obj: Object) -> Object:
    """An object that an update or an apply creates: the storage sets its version, which a dry run does not reach."""
    return {**obj, "metadata": {key: value for key, value in obj["metadata"].items() if key != "resourceVersion"}}


def distinct_owners(owners: list[Object]) -> tuple[list[Object], list[str]]:
    """The owner references without duplicates, and the UIDs of the duplicates."""
    kept: list[Object] = []
    repeated: dict[str, None] = {}
    for owner in owners:
        if owner in kept:
            repeated[owner.get("uid") or ""] = None
        else:
            kept.append(owner)
    return kept, list(repeated)


#: The fields in the order in which Go encodes them.
_ORDER = (
    "name", "generateName", "namespace", "selfLink", "uid", "resourceVersion", "generation", "creationTimestamp",
    "deletionTimestamp", "deletionGracePeriodSeconds", "labels", "annotations", "ownerReferences", "finalizers",
    "managedFields",
)  # fmt: skip


def tidy(meta: Object) -> Object:
    """The metadata in Go's order, without empty strings, maps and lists, which Go's `omitempty` omits."""
    return {k: v for k in _ORDER if k in meta and ((v := meta[k]) or (v == 0 and k == "deletionGracePeriodSeconds"))}


def without_annotation(meta: Object, name: str) -> Object:
    """The metadata without this annotation, and without annotations if it was the only one."""
    annotations = meta.get("annotations") or {}
    if name not in annotations:
        return meta
    kept = {key: value for key, value in annotations.items() if key != name}
    return tidy({**meta, "annotations": kept})


def strings_without_null(meta: Object) -> Object:
    """The metadata with "" for null labels and annotations, as in a Go map of strings."""
    for field in ("labels", "annotations"):
        values = meta.get(field)
        if values and None in values.values():
            meta = {**meta, field: {key: "" if value is None else value for key, value in values.items()}}
    return meta


#: The fields of metadata that only the server sets.
SYSTEM_FIELDS = frozenset({"creationTimestamp", "uid", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"})


def without_system_fields(obj: Object) -> Object:
    """An object to be created without the metadata that only the server sets (`rest.WipeObjectMetaSystemFields`)."""
    meta = obj["metadata"]
    if SYSTEM_FIELDS.isdisjoint(meta):
        return obj
    return {**obj, "metadata": {key: value for key, value in meta.items() if key not in SYSTEM_FIELDS}}


def without_kind(obj: Object) -> Object:
    """The object without apiVersion and kind."""
    return {key: value for key, value in obj.items() if key not in ("apiVersion", "kind")}


def stored_layout(obj: Object) -> Object:
    """The object as it is stored: metadata first, without apiVersion and kind, which the path implies."""
    kept: Object = {"metadata": None, **obj}
    kept["metadata"] = strings_without_null(kept["metadata"] or {})
    kept.pop("apiVersion", None)
    kept.pop("kind", None)
    return kept
