"""A compiled version of a CustomResourceDefinition: decoding, conversion and validation of its objects
(`apiextensions-apiserver/pkg/registry/customresource`, `customresource_handler.go`)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

from fakekube.apiserver.crd import defaulting, pruning
from fakekube.apiserver.crd.applyschema import apply_schema, has_unmergeable_sets
from fakekube.apiserver.crd.conversionwebhook import ConversionWebhook
from fakekube.apiserver.crd.correlatedobject import CorrelatedObject
from fakekube.apiserver.crd.embedded import MalformedEmbeddedResource, coerce, embedded_errors
from fakekube.apiserver.crd.listtypes import list_errors
from fakekube.apiserver.crd.quickdecoding import unchanged_resource
from fakekube.apiserver.crd.schematraits import traits_of
from fakekube.apiserver.crd.schemavalidator import SchemaValidator
from fakekube.apiserver.crd.structural import Structural
from fakekube.apiserver.crd.validationresult import field_errors
from fakekube.apiserver.crd.validationrules import RatchetingOptions, RuleResults, RuleValidator
from fakekube.apiserver.names import qualified_name_problems
from fakekube.apiserver.resource import Object
from fakekube.apiserver.schema.decode import decode
from fakekube.apiserver.schema.model import Schema
from fakekube.apiserver.schema.wrongtype import WrongType
from fakekube.apiserver.storage.store import Entry
from fakekube.apiserver.wire.gojson import type_name, with_body_numbers, with_go_numbers
from fakekube.apiserver.wire.goprint import go_quote, plain, type_of
from fakekube.apiserver.wire.status import FieldError, field_invalid

#: Reasons of errors after which no validation rule is evaluated.
BLOCKING = frozenset(
    {
        "FieldValueNotSupported",
        "FieldValueRequired",
        "FieldValueTooLong",
        "FieldValueTooMany",
        "FieldValueTypeInvalid",
    }
)

_ABSENT = object()


def unchecked() -> FieldError:
    """The error of an invalid object whose validation stopped early."""
    why = "some validation rules were not checked because the object was invalid; correct the existing errors to "
    return field_invalid("<nil>", None, f"{why}complete validation")


class CustomVersion:
    """One version of a definition. `storage` is the version in which objects are stored, which may be this one.

    `versions` are all versions by name: an object may be stored in each, if the storage version has changed.
    """

    webhook: ConversionWebhook | None
    versions: dict[str, CustomVersion]
    name: str
    storage: CustomVersion
    kind: Any
    api_version: str

    def __init__(
        self,
        crd: Object,
        version: Object,
        meta: Schema,
        storage: CustomVersion | None,
        webhook: ConversionWebhook | None = None,
    ) -> None:
        self.name = version["name"]
        self.versions = {}
        names = crd["spec"]["names"]
        self.api_version, self.kind = f"{crd['spec']['group']}/{version['name']}", names["kind"]
        openapi = (version.get("schema") or {}).get("openAPIV3Schema")
        self.openapi: Object | None = openapi
        self.structural: Structural | None = Structural(openapi, traits_of(openapi)) if openapi is not None else None
        self.values: SchemaValidator | None = SchemaValidator(openapi) if openapi is not None else None
        self.storage, self.webhook = storage or self, webhook
        #: Whether stored objects can have been written with another schema.
        self.changed: bool = (crd["metadata"].get("generation") or 1) > 1 or len(crd["spec"]["versions"]) > 1
        #: Whether valid objects may not conform to the schema for server-side apply.
        self.nonconforming: bool = self.changed or has_unmergeable_sets(openapi)
        self._meta = meta
        #: Fields of the object that was decoded last that are stored as they are. `write` looks for the objects
        #: themselves, so that it does not matter of which request they are: values are never changed in place.
        self.storable: Object = {}
        subresources = version.get("subresources") or {}
        self.has_status: bool = subresources.get("status") is not None
        self.scale: Object | None = subresources.get("scale")

    @cached_property
    def _rules(self) -> RuleValidator | None:
        return RuleValidator.of(self.structural, root=True)

    @cached_property
    def apply_schema(self) -> Schema:
        """The schema for server-side apply."""
        return apply_schema(self.openapi, self._meta)

    def sibling(self, api_version: str) -> CustomVersion | None:
        """The version of the definition with an apiVersion, if it exists."""
        group, _, name = api_version.rpartition("/")
        return self.versions.get(name) if group == self.api_version.rpartition("/")[0] else None

    # --- decoding and conversion -------------------------------------------------------------------------------------

    def decode(self, obj: Object, unknown: list[str]) -> Object:
        """Decodes a body and sets defaults. Paths of unknown fields are appended to `unknown`. Raises WrongType."""
        meta = self._decoded_metadata(with_body_numbers(obj.get("metadata")), unknown)
        unchanged = self._is_unchanged(obj)
        found = obj if unchanged else self._without_unknown(obj, unknown)
        self.storable = obj if unchanged else {}
        if meta is not None:
            found = {**found, "metadata": meta}
        return self.defaulted(found)

    @cached_property
    def _is_unchanged(self) -> Callable[[Object], bool]:
        """Whether an object certainly stays as it is when it is decoded, apart from its metadata and defaults."""
        return unchanged_resource(self.structural) if self.structural is not None else lambda obj: False

    def _without_unknown(self, obj: Object, unknown: list[str]) -> Object:
        found: Object = pruning.prune(with_body_numbers(obj), self.structural, unknown)
        found = defaulting.prune_nulls(found, self.structural)
        embedded: list[str] = []
        try:
            found = coerce(found, self.structural, self._meta, embedded)
        except MalformedEmbeddedResource as problem:
            raise WrongType(str(problem)) from None
        unknown += sorted(embedded)
        return found

    def decode_foreign(self, obj: Object, unknown: list[str]) -> Object:
        """Decodes a body whose apiVersion or kind may be another one, which validation rejects.

        The object is pruned in the version that it names, if its group and kind are those of the definition.
        """
        group, _, name = obj["apiVersion"].rpartition("/")
        if group == self.api_version.rpartition("/")[0] and obj["kind"] == self.kind:
            other = self.versions.get(name)
            if other is not None:
                return other.decode(obj, unknown)
            obj = with_body_numbers(obj)
            pruned = pruning.prune(obj, None, unknown)
            return {**pruned, "metadata": self._decoded_metadata(obj.get("metadata"), unknown) or {}}
        obj = with_body_numbers(obj)
        meta = self._decoded_metadata(obj.get("metadata"), unknown)
        return obj if meta is None else {**obj, "metadata": meta}

    def _decoded_metadata(self, meta: Any, unknown: list[str]) -> Object | None:
        """The decoded metadata of a body; None if it has none. Raises WrongType."""
        if meta is None:
            return None
        if not isinstance(meta, dict):
            raise WrongType(f"json: cannot unmarshal {type_name(meta)} into Go value of type v1.ObjectMeta")
        lost: list[str] = []
        found: Object = decode(self._meta, meta, lost)
        unknown += [f"metadata.{path}" for path in lost]
        return found

    def type_of(self, obj: Object) -> Object:
        """The apiVersion and the kind of an object, if they are not those of this version."""
        own = {"apiVersion": self.api_version, "kind": self.kind}
        return {key: obj[key] for key, value in own.items() if obj.get(key, value) != value}

    def defaulted(self, obj: Object) -> Object:
        filled: Object = defaulting.default(obj, self.structural)
        return filled

    def source(self, entry: Entry) -> CustomVersion:
        """The version in which an object is stored."""
        return self.versions.get(entry.version, self.storage)

    def read(self, entry: Entry) -> Object:
        """A stored object in this version, with the defaults of the version in which it is stored.

        Not to be used if a webhook converts.
        """
        source = self.source(entry)
        found = source.decoded(entry.object)
        return found if source is self else self.pruned(found)

    def write(self, obj: Object) -> Object:
        """An object of this version in the storage version. Not to be used if a webhook converts."""
        return self.storage._stored_form(obj)

    def _stored_form(self, obj: Object) -> Object:
        known = self.storable
        others = {
            key: value for key, value in obj.items() if key != "metadata" and known.get(key, _ABSENT) is not value
        }
        if self._is_unchanged(others):
            return obj
        kept = with_go_numbers(self.pruned(others))
        # of the others, those that are not kept are pruned
        return {key: kept.get(key, value) for key, value in obj.items() if key in kept or key not in others}

    def decoded(self, stored: Object) -> Object:
        """A stored object decoded in this version."""
        return self.defaulted(self.pruned(stored))

    def pruned(self, obj: Object) -> Object:
        """The object without unknown fields and nulls that are not nullable, with embedded metadata decoded."""
        kept: Object = defaulting.prune_nulls(pruning.prune(obj, self.structural, []), self.structural)
        try:
            coerced: Object = coerce(kept, self.structural, self._meta, [])
        except MalformedEmbeddedResource:  # in an applied object, which is not decoded
            return kept
        return coerced

    @property
    def reads_as_stored(self) -> bool:
        """Whether stored objects are returned unchanged in this version.

        Not if the status has a default: a create drops the status, and a read sets its default.
        """
        return self.storage is self and not self.changed and not self._defaults_status

    @property
    def _defaults_status(self) -> bool:
        status = self.structural.properties.get("status") if self.has_status and self.structural is not None else None
        return status is not None and status.default is not None

    @property
    def converts(self) -> bool:
        """Whether a webhook converts between this version and another one."""
        return self.webhook is not None and len(self.versions) > 1

    @property
    def converts_on_write(self) -> bool:
        """Whether a webhook converts objects of this version before they are stored."""
        return self.webhook is not None and self.storage is not self

    # --- validation --------------------------------------------------------------------------------------------------

    def validate(self, obj: Object, *, blocked: bool = False) -> list[FieldError]:
        """Validates a new object except for its metadata. `blocked`: its metadata has errors that block the rules."""
        whole = self.whole(obj)
        errors, accepted = self._type_errors(whole), self._accepts(whole)
        if not errors:
            errors = [] if accepted else self._value_errors(whole)
            errors += self._scale_spec_errors(whole) + self._scale_status_errors(whole)
        errors += embedded_errors(whole, self.structural)
        if self.structural is not None:
            errors += list_errors(whole, self.structural)
        if blocked:
            return errors + ([unchecked()] if self._rules is not None else [])
        return errors + self._rule_errors(errors, whole, accepted=accepted)

    def validate_update(self, new: Object, old: Object, warnings: list[str]) -> list[FieldError]:
        """Validates an update. Errors of unchanged values are tolerated (ratcheting); those of rules are warnings."""
        whole, before = self.whole(new), self.whole(old)
        correlated = self._correlated(whole, before)
        errors, accepted = self._type_errors(whole), self._accepts(whole)
        if not errors:
            errors = [] if accepted else self._value_errors(whole, correlated)
            errors += self._scale_spec_errors(whole) + self._scale_status_errors(whole)
        errors += embedded_errors(whole, self.structural) + self._new_list_errors(whole, before)
        errors += self._rule_errors(errors, whole, before, correlated, warnings, accepted=accepted)
        return errors

    def validate_status_update(self, new: Object, old: Object, warnings: list[str]) -> list[FieldError]:
        whole, before = self.whole(new), self.whole(old)
        correlated = self._correlated(whole, before)
        errors: list[FieldError] = []
        status = self.values.properties.get("status") if self.values is not None else None
        if status is not None and "status" in whole and not status.accepts(whole["status"]):
            known = self._correlated_status(whole, before, correlated)
            errors += field_errors(status.check(whole["status"], "", known).problems, "status")
        errors += self._scale_status_errors(whole) + self._new_list_errors(whole, before)
        accepted = self._rules is None or self._accepts(whole)
        return errors + self._rule_errors(errors, whole, before, correlated, warnings, accepted=accepted)

    def _correlated_status(
        self, new: Object, old: Object, correlated: CorrelatedObject | None
    ) -> CorrelatedObject | None:
        """The status with its old value; an absent one counts as null (`RatchetingSchemaValidator.ValidateUpdate`)."""
        if self.structural is None or correlated is None:
            return None
        return correlated.key("status") or CorrelatedObject(
            new["status"], old.get("status"), self.structural.properties["status"]
        )

    def warnings(self, obj: Object) -> list[str]:
        """The warnings of a create."""
        return _finalizer_warnings(obj, None)

    def update_warnings(self, new: Object, old: Object) -> list[str]:
        """The warnings of an update for new finalizers."""
        return _finalizer_warnings(new, old)

    def whole(self, obj: Object) -> Object:
        """The object with apiVersion and kind, which stored objects do not have."""
        return {"apiVersion": self.api_version, "kind": self.kind, **obj}

    def _type_errors(self, whole: Object) -> list[FieldError]:
        """Validates the kind and the apiVersion (`ValidateTypeMeta`)."""
        own = (("kind", self.kind), ("apiVersion", self.api_version))
        return [field_invalid(key, whole[key], f"must be {value}") for key, value in own if whole[key] != value]

    def _correlated(self, new: Object, old: Object) -> CorrelatedObject | None:
        return CorrelatedObject(new, old, self.structural) if self.structural is not None else None

    def _accepts(self, whole: Object) -> bool:
        """Whether the object certainly conforms to the schema."""
        return self.values is None or self.values.accepts(whole)

    def _value_errors(self, whole: Object, correlated: CorrelatedObject | None = None) -> list[FieldError]:
        return field_errors(self.values.check(whole, "", correlated).problems) if self.values is not None else []

    def _rule_errors(
        self,
        errors: list[FieldError],
        whole: Object,
        before: Object | None = None,
        correlated: CorrelatedObject | None = None,
        warnings: list[str] | None = None,
        *,
        accepted: bool,
    ) -> list[FieldError]:
        """The errors of the validation rules, which are not evaluated after certain errors of the schema.

        `accepted`: the object certainly conforms to the schema. The old one does if the schema has not changed.
        """
        if self._rules is None:
            return []
        if any(error.reason in BLOCKING for error in errors):
            return [unchecked()]
        conforms = accepted and (not self.changed or before is None or self._accepts(before))
        found = RuleResults(checked=not conforms)
        self._rules.apply(whole, before, "", RatchetingOptions(correlated), found)
        if warnings is not None:
            warnings += found.warnings
        return found.errors

    def _new_list_errors(self, whole: Object, before: Object) -> list[FieldError]:
        if self.structural is None:
            return []
        changed = {key: value for key, value in whole.items() if value is not before.get(key)}
        errors = list_errors(changed, self.structural)  # others are errors of the old object
        return errors if errors and not list_errors(before, self.structural) else []

    # --- scale -------------------------------------------------------------------------------------------------------

    def _scale_spec_errors(self, whole: Object) -> list[FieldError]:
        return replicas_errors(whole, self.scale["specReplicasPath"]) if self.scale else []

    def _scale_status_errors(self, whole: Object) -> list[FieldError]:
        if not self.scale:
            return []
        errors = replicas_errors(whole, self.scale["statusReplicasPath"])
        selector = self.scale.get("labelSelectorPath")
        if selector is not None:
            try:
                nested(whole, selector, str)
            except WrongType as problem:
                errors.append(field_invalid(selector, "", str(problem)))
        return errors


#: The finalizers of Kubernetes, which have no domain.
STANDARD_FINALIZERS = frozenset({"orphan", "foregroundDeletion", "kubernetes"})


def _finalizer_warnings(new: Object, old: Object | None) -> list[str]:
    """Warnings for new finalizers without a domain or with an invalid name (`validateKubeFinalizerName`)."""
    before = set(((old or {}).get("metadata") or {}).get("finalizers") or ())
    path = "metadata.finalizers"
    found: list[str] = []
    for name in sorted(set(new["metadata"].get("finalizers") or ()) - before):
        shown = go_quote(name)
        found += [f"{path}: {shown}: {problem}" for problem in qualified_name_problems(name)]
        if "/" not in name and name not in STANDARD_FINALIZERS:
            path_part = "including a path (/) " if "." in name else ""
            why = f"prefer a domain-qualified finalizer name {path_part}to avoid accidental conflicts"
            found.append(f"{path}: {shown}: {why} with other finalizer writers")
    return found


def nested(obj: Object, path: str, kind: type) -> Any:
    """The value at a simple path; None if it does not exist. Raises WrongType."""
    parts = path.lstrip(".").split(".")
    value: Any = obj
    for i, part in enumerate(parts):
        if value is None:
            return None
        if not isinstance(value, dict):
            where = ".".join(parts[:i])
            why = f"{plain(value)} is of the type {type_of(value)}, expected map[string]interface{{}}"
            raise WrongType(f".{'.'.join(parts)} accessor error: {why}" if where else why)
        if part not in value:
            return None
        value = value[part]
    if type(value) is not kind:
        wanted = {int: "int64", str: "string"}[kind]
        why = f"{plain(value)} is of the type {type_of(value)}, expected {wanted}"
        raise WrongType(f".{'.'.join(parts)} accessor error: {why}")
    return value


def replicas_errors(obj: Object, path: str) -> list[FieldError]:
    """Validates the number of replicas at a path of the scale subresource."""
    try:
        count = nested(obj, path, int) or 0
    except WrongType as problem:
        return [field_invalid(path, 0, str(problem))]
    if count < 0:
        return [field_invalid(path, count, "should be a non-negative integer")]
    if count > 2**31 - 1:
        return [field_invalid(path, count, "should be less than or equal to 2147483647")]
    return []


def compile_versions(crd: Object, meta: Schema) -> dict[str, CustomVersion]:
    """Compiles all versions of a definition."""
    versions = crd["spec"].get("versions") or ()
    stored = next((one for one in versions if one.get("storage")), None)
    conversion = crd["spec"].get("conversion") or {}
    webhook = ConversionWebhook(crd) if conversion.get("strategy") == "Webhook" else None
    storage = CustomVersion(crd, stored, meta, None, webhook) if stored is not None else None
    made = {one["name"]: CustomVersion(crd, one, meta, storage, webhook) for one in versions if one is not stored}
    if storage is not None:
        made[storage.name] = storage
    for version in made.values():
        version.versions = made
    return made
