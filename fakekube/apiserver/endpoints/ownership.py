"""Field ownership: managedFields and owner references of written objects (`endpoints/handlers/fieldmanager`)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from fakekube.apiserver import conversion
from fakekube.apiserver.apply import managedfields
from fakekube.apiserver.apply.fieldset import LEAF, Tree, of, union
from fakekube.apiserver.apply.managedfields import Writer
from fakekube.apiserver.apply.typed import Mismatch, check
from fakekube.apiserver.apply.updater import Updater
from fakekube.apiserver.call import Call
from fakekube.apiserver.crd.customversion import CustomVersion
from fakekube.apiserver.schema import objectmeta
from fakekube.apiserver.schema.model import Schema
from fakekube.apiserver.wire.options import WriteOptions

Object = dict[str, Any]


def created(call: Call, obj: Object, options: WriteOptions) -> Object:
    """A new object with its managedFields and without duplicate owner references."""
    return changed(call, obj, updater(call).empty, options)


def changed(call: Call, obj: Object, old: Object, options: WriteOptions) -> Object:
    """A changed object with its managedFields, in which the request's manager owns the changed fields."""
    return tracked(call, without_duplicate_owners(call, obj), old, options)


def tracked(call: Call, obj: Object, old: Object, options: WriteOptions) -> Object:
    """A changed object with its managedFields. A patch removes duplicate owner references after admission only."""
    return managedfields.updated(old, obj, updater(call), writer(call, options))


def empty(call: Call) -> Object:
    """The empty object that a new object is compared with."""
    return {"metadata": {}, **call.registration.empty}


def writer(call: Call, options: WriteOptions) -> Writer:
    name = managedfields.manager_name(options.field_manager, call.request.user_agent)
    return Writer(name, call.context.now, call.info.subresource)


def without_duplicate_owners(call: Call, obj: Object, *, after_admission: bool = False) -> Object:
    """The object without duplicate owner references, for which the client receives a warning.

    `after_admission`: the warning says that mutating admission has run.
    """
    owners = obj["metadata"].get("ownerReferences")
    if not owners or len(owners) < 2:
        return obj
    kept, repeated = objectmeta.distinct_owners(owners)
    if not repeated:
        return obj
    when = " after mutating admission happens" if after_admission else ""
    call.warnings.append(
        f".metadata.ownerReferences contains duplicate entries{when}; API server dedups owner references in 1.20+, and "
        f"may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: "
        f"{', '.join(repeated)}"
    )
    return {**obj, "metadata": {**obj["metadata"], "ownerReferences": kept}}


def updater(call: Call) -> Updater:
    """The apply rules of the call's resource and subresource; cached.

    Where a webhook converts, they raise `conversion.Unconverted` for an object that has not been converted.
    """
    resource = call.resource
    key = (resource.group, resource.version, resource.plural, call.info.subresource)
    found = call.server.updaters.get(key)
    if found is None:
        found = call.server.updaters[key] = _make_updater(call)
    version = call.registration.version
    if version is None or not version.converts_on_write:
        return found
    return replace(found, convert=partial(_by_webhook, call, version))


def _make_updater(call: Call) -> Updater:
    server, resource, registration = call.server, call.resource, call.registration
    ignored = not_written(call)
    if registration.version is not None:
        return _custom_updater(call, registration.version, ignored)

    registrations = {
        one.api_version: server.registration(one)
        for one in server.catalog.resources()
        if one.collection == resource.collection
    }
    registrations[resource.api_version] = registration

    def convert(obj: Object, source: str, target: str) -> tuple[Object, Schema] | None:
        other = registrations.get(target)
        if other is None:
            return None
        if source != target:
            obj = conversion.converted(obj, registrations[source], other)
        return obj, other.apply_schema

    return Updater(resource.api_version, convert, dict.fromkeys(registrations, ignored), empty(call))


def _custom_updater(call: Call, version: CustomVersion, ignored: Tree) -> Updater:
    """The apply rules of a custom resource.

    A conversion only changes the apiVersion, so that the object may not conform to the schema of the other version.
    The path of the object names the fields that it does not write in its own version only, `/status` in all versions.
    """
    subresource = call.info.subresource
    versions = version.versions.values() if subresource == "status" else (version,)

    def convert(obj: Object, source: str, target: str) -> tuple[Object, Schema] | None:
        other = _sibling(version, target)
        if source != target and other.openapi != _sibling(version, source).openapi:
            check(obj, other.apply_schema)
        return obj, other.apply_schema

    def conform(live: Object, new: Object) -> None:
        """Raises Mismatch. Validation covers what the path writes, unless it accepts what the schema does not."""
        if new.get("kind", version.kind) != version.kind or (
            "apiVersion" in new and version.sibling(new["apiVersion"]) is None
        ):
            raise Mismatch("the type of the object is not that of the definition")
        if version.nonconforming:
            check(new, version.apply_schema, duplicates=True)
            return
        for key, value in new.items():
            unwritten = key != "metadata" if subresource == "status" else version.has_status
            if unwritten and (key == "status") is not (subresource == "status") and value != live.get(key):
                check({key: value}, version.apply_schema, duplicates=True)

    return Updater(
        version.api_version,
        convert,
        {one.api_version: ignored for one in versions if one.has_status or one is version},
        empty(call),
        reconciles=True,
        check=conform,
        check_live=(lambda live: check(live, version.apply_schema, duplicates=True)) if version.nonconforming else None,
    )


def _by_webhook(
    call: Call, version: CustomVersion, obj: Object, source: str, target: str
) -> tuple[Object, Schema] | None:
    """An object as the conversion webhook has converted it. Versions are converted by way of the request's version."""
    other = _sibling(version, target)
    steps = [target] if version.api_version in (source, target) else [version.api_version, target]
    for step in steps if source != target else ():
        obj = conversion.remembered(call, obj, source, step)
        source = step
        check(obj, _sibling(version, step).apply_schema)
    return obj, other.apply_schema


def _sibling(version: CustomVersion, api_version: str) -> CustomVersion:
    """Raises Mismatch if the definition does not have the version."""
    found = version.sibling(api_version)
    if found is None:
        raise Mismatch(f"request to convert CR to an invalid group/version: {api_version}")
    return found


def not_written(call: Call) -> Tree:
    """The fields that the call's path never writes (`GetResetFields`)."""
    subresource = call.info.subresource
    if not subresource:
        status: Tree = {"f:status": LEAF} if "status" in call.resource.subresources else {}
        return union(status, {f"f:{field}": LEAF for field in call.strategy.unowned})
    if subresource in call.strategy.subresource_resets:
        paths = call.strategy.subresource_resets[subresource]
        return of(*(tuple(f"f:{name}" for name in path.split(".")) for path in paths))
    if subresource != "status":
        return {}
    if call.strategy.status_owns_metadata:
        return {"f:spec": LEAF}
    if call.strategy.status_resets_metadata:
        return {"f:spec": LEAF, "f:metadata": LEAF}
    kept: Tree = {f"f:{name}": LEAF for name in call.strategy.status_keeps if name != "generation"}
    return union({"f:spec": LEAF}, {"f:metadata": kept} if kept else {})
