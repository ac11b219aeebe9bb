"""The registration and the strategy of a version of a custom resource (`customresource_handler.go`,
`customresource.strategy`)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

from fakekube.apiserver import crd
from fakekube.apiserver.crd.customversion import CustomVersion
from fakekube.apiserver.crd.definition import deprecation, version_of
from fakekube.apiserver.features import since
from fakekube.apiserver.registry.custom.table import DEFAULT_COLUMNS, SCALE_COLUMNS
from fakekube.apiserver.registry.custom.table import printer as table_printer
from fakekube.apiserver.registry.generic.strategy import Convert, Strategy
from fakekube.apiserver.registry.generic.table.columns import Printer
from fakekube.apiserver.resource import Resource
from fakekube.apiserver.schema.model import Schema
from fakekube.apiserver.schema.objectmeta import stored_layout, without_kind
from fakekube.apiserver.storage.watch import Read, View
from fakekube.apiserver.wire.gojson import encode, fields_kept, go_json, is_same, with_go_numbers
from fakekube.apiserver.wire.request import Request, RequestInfo
from fakekube.apiserver.wire.status import (
    PlainAnswer,
    StatusError,
    bad_request,
    not_found,
    unsupported_media_type,
)

Object = dict[str, Any]

_SCALE_PRINTER = table_printer(SCALE_COLUMNS)


class CustomRegistration:
    """The registration of a version of a CustomResourceDefinition. `meta` is the schema of ObjectMeta."""

    schema: Schema | None = None
    unstructured = True
    has_message = False

    def __init__(self, resource: Resource, definition: Object, version: CustomVersion, meta: Schema) -> None:
        self.resource = resource
        self.version: CustomVersion | None = version
        self._version = version
        self._definition = definition
        self.strategy: Strategy = strategy_of(definition, resource, version)
        self.stored_version: str = version.storage.name
        self.read: Read | None = None if version.reads_as_stored else version.read
        self.write: Convert | None = version.write
        self.view: View = View(resource.api_version, resource.kind, self.read)
        self.empty: Object = {}
        self.storage_prefix: str = f"{resource.group}/{resource.plural}"

    @property
    def apply_schema(self) -> Schema:
        return self._version.apply_schema

    def decode(self, obj: Object, unknown: list[str]) -> Object:
        resource = self.resource
        version, kind = obj.get("apiVersion"), obj.get("kind")
        if kind == resource.kind and version == resource.api_version:
            return stored_layout(self._version.decode(obj, unknown))
        if version is None and kind is None:  # not a body
            obj = {"apiVersion": resource.api_version, "kind": resource.kind, **obj}
        obj = {"apiVersion": "", **obj}
        decoded = self._version.decode_foreign(obj, unknown)
        different = self._version.type_of(decoded)
        return {**stored_layout(decoded), **different}

    def decode_changed(self, obj: Object, stored: Object, unknown: list[str]) -> Object:
        """Fields that the request does not change are not decoded again, for speed."""
        resource = self.resource
        if obj.get("kind") != resource.kind or obj.get("apiVersion") != resource.api_version:
            return self.decode(obj, unknown)
        # what was stored with another schema may be decoded differently
        same = fields_kept(obj, stored if self.read is None else {"metadata": stored["metadata"]})
        if not same:
            return self.decode(obj, unknown)
        made = self.decode({key: value for key, value in obj.items() if key not in same}, unknown) | same
        self._version.storable = {**self._version.storable, **same}
        # in the order in which all would have been decoded
        return {key: made[key] for key in {"metadata": None, **obj, **made} if key in made}

    def decode_applied(self, obj: Object) -> Object:
        """Only sets defaults: unknown fields and nulls are validated, and pruned when the object is stored."""
        return stored_layout(self._version.defaulted(with_go_numbers(without_kind(obj))))

    def settled(self, obj: Object) -> Object:
        return obj

    def printer(self, kind: str) -> Printer:
        return _SCALE_PRINTER if kind == "Scale" else self._printer

    @cached_property
    def _printer(self) -> Printer:
        return table_printer(crd.printer_columns(self._definition, self.resource.version) or DEFAULT_COLUMNS)

    def check_kind(self, api_version: str, kind: str, obj: Object) -> None:
        resource = self.resource
        if api_version != resource.api_version:
            raise bad_request(
                f"the API version in the data ({api_version}) does not match the expected API version "
                f"({resource.api_version})"
            )

    def check_route(self, request: Request, info: RequestInfo) -> None:
        resource, name = self.resource, info.parts[1] if len(info.parts) > 1 else ""
        in_namespace = bool(info.namespace)
        if resource.namespaced:
            writing = info.verb not in ("list", "watch")
            if not in_namespace and (name or writing):
                raise _no_such_path()
        elif in_namespace:
            raise _no_such_path()
        if info.subresource and info.subresource not in resource.subresources:
            raise not_found(resource.qualified, info.name)
        if request.method == "PUT" and not name:
            raise bad_request("name must be provided")
        verbs = resource.subresources[info.subresource].verbs if info.subresource else resource.verbs
        if info.verb not in verbs:
            why = f'{info.verb} is not supported on resources of kind "{resource.qualified}"'
            details: Object = {"group": resource.group, "kind": resource.plural}
            raise StatusError(405, "MethodNotAllowed", why, details)

    def refuse_patch_type(self) -> StatusError:
        accepted = ", ".join(self.resource.patch_types)
        return unsupported_media_type(
            f"the body of the request was in an unknown format - accepted media types include: {accepted}"
        )

    def patch_text(self, result: Any) -> str:
        encode(result)
        return go_json(result)  # a Go map, whose keys are sorted


def _no_such_path() -> PlainAnswer:
    return PlainAnswer(404, "404 page not found\n")


def strategy_of(definition: Object, resource: Resource, version: CustomVersion) -> Strategy:
    """The strategy of a version."""
    declared = version_of(definition, resource.version)
    paths = [(field.get("jsonPath") or "").lstrip(".") for field in declared.get("selectableFields") or ()]
    return Strategy(
        fields={path: _field_reader(path.split(".")) for path in paths},
        fields_message="label",
        deprecation=deprecation(definition, declared),
        unconditional_update=False,
        status_resets_metadata=True,
        status_owns_metadata=not since(36),
        qualified_finalizers=False,
        counts_update=_counts_update(resource),
        validate=version.validate,
        validate_update_with_warnings=version.validate_update,
        validate_status_with_warnings=version.validate_status_update,
        warnings=version.warnings,
        update_warnings=version.update_warnings,
    )


def _counts_update(resource: Resource) -> Callable[[Object, Object], bool]:
    """A function that returns whether an update increments the generation: any field but metadata has changed, and but
    status if it is a subresource (`PrepareForUpdate`)."""
    ignored = {"metadata", "status"} if "status" in resource.subresources else {"metadata"}

    def counts(new: Object, old: Object) -> bool:
        fields = new.keys() - ignored
        return fields != old.keys() - ignored or not all(is_same(new[key], old[key]) for key in fields)

    return counts


def _field_reader(path: list[str]) -> Callable[[Object], str]:
    def read(obj: Object) -> str:
        value: Any = obj
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        if isinstance(value, bool):
            return "true" if value else "false"
        return "" if value is None else str(value)

    return read
