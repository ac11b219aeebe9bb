"""Validates CustomResourceDefinitions (`apiextensions/validation.ValidateCustomResourceDefinition`)."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

from fakekube.apiserver import names as checks
from fakekube.apiserver.crd.definitionstatus import is_true
from fakekube.apiserver.crd.fieldpath import BadPath, resolve
from fakekube.apiserver.crd.schematraits import DEFAULT, traits_of
from fakekube.apiserver.crd.structural import DEPTH_LIMIT, Structural, depth
from fakekube.apiserver.features import since
from fakekube.apiserver.registry.apiextensions.customresourcedefinition import (
    nonstructural,
    openapischema,
    schemadefaults,
)
from fakekube.apiserver.registry.apiextensions.customresourcedefinition.celvalidation import (
    CELSchemaContext,
    RuleCompiler,
)
from fakekube.apiserver.registry.apiextensions.customresourcedefinition.internaltype import (
    internal_spec,
    shown_schema,
    shown_versions,
)
from fakekube.apiserver.registry.apiextensions.customresourcedefinition.ratchets import approval_errors, preserve_errors
from fakekube.apiserver.registry.generic.validation.field import Field
from fakekube.apiserver.registry.generic.validation.webhookclients import validate_client
from fakekube.apiserver.resource import Object
from fakekube.apiserver.resultsbytext import Remembered
from fakekube.apiserver.schema.model import Schema
from fakekube.apiserver.wire import codec
from fakekube.apiserver.wire.gojson import go_json
from fakekube.apiserver.wire.status import (
    FieldError,
    field_duplicate,
    field_forbidden,
    field_invalid,
    field_not_supported,
    field_required,
)
from fakekube.struct import Struct, field

Node = Mapping[str, Any]

SCOPES = ("Cluster", "Namespaced")
CONVERSIONS = ("None", "Webhook")
REVIEW_VERSIONS = ("v1", "v1beta1")
COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
COLUMN_FORMATS = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
SELECTABLE_TYPES = ("string", "boolean", "integer")
SELECTABLE_LIMIT = 8

#: The keywords that are allowed at the root of a schema with a status subresource, in the order of the error message.
_ROOT_FIELDS = (
    "Description", "Type", "Format", "Title", "Maximum", "ExclusiveMaximum", "Minimum", "ExclusiveMinimum", "MaxLength",
    "MinLength", "Pattern", "MaxItems", "MinItems", "UniqueItems", "MultipleOf", "Required", "Items", "Properties",
    "ExternalDocs", "Example", "XPreserveUnknownFields", "XValidations",
)  # fmt: skip
_ROOT_KEYS = frozenset(name[0].lower() + name[1:] for name in _ROOT_FIELDS) | {
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-validations",
}


class DefinitionCheck(Struct, frozen=True):
    """The check of a definition: the schema of ObjectMeta, and the versions with unchanged schemas, whose rules are
    accepted regardless of their cost."""

    meta: Schema
    unchanged: frozenset[str] = frozenset()
    compiler: RuleCompiler = field(default_factory=RuleCompiler)


def validate(crd: Object, meta: Schema) -> list[FieldError]:
    """Validates a new definition except for its metadata; `meta` is the schema of ObjectMeta."""
    of_spec, preserved = _problems_of_spec(crd["spec"], meta)
    return [*of_spec, *_status_errors(crd), *approval_errors(crd, None), *preserved]


def name_problems(crd: Object, name: str) -> Sequence[str]:
    """The problem of the name of a definition, which follows from its spec."""
    names, group = crd["spec"].get("names") or {}, crd["spec"].get("group") or ""
    return () if name == f"{names.get('plural') or ''}.{group}" else ('must be spec.names.plural+"."+spec.group',)


@Remembered
def _problems_of_spec(spec: Object, meta: Schema) -> tuple[Sequence[FieldError], Sequence[FieldError]]:
    """The errors of a new spec, and those of preserveUnknownFields, which come later."""
    return _spec_errors(internal_spec(spec), DefinitionCheck(meta)), preserve_errors(spec, None)


def validate_update(new: Object, old: Object, meta: Schema) -> list[FieldError]:
    """Validates an update of a definition, some of whose fields are immutable."""
    spec, before = internal_spec(new["spec"]), internal_spec(old["spec"])
    errors = _spec_errors(spec, DefinitionCheck(meta, _unchanged(new, old))) + _bundle_errors(spec, old, before)
    if is_true(old, "Established"):
        errors += _immutable("spec.scope", spec.get("scope"), before.get("scope"))
        errors += _immutable("spec.names.kind", spec["names"].get("kind"), before["names"].get("kind"))
    errors += _immutable("spec.group", spec.get("group"), before.get("group"))
    errors += _immutable("spec.names.plural", spec["names"].get("plural"), before["names"].get("plural"))
    errors += _status_errors(new)
    return errors + approval_errors(new, old) + preserve_errors(spec, before)


def validate_status_update(new: Object, old: Object) -> list[FieldError]:
    return _names_errors((new.get("status") or {}).get("acceptedNames") or {}, "status.acceptedNames")


def _immutable(path: str, new: Any, old: Any) -> list[FieldError]:
    return [] if (new or "") == (old or "") else [field_invalid(path, new or "", "field is immutable")]


def _unchanged(new: Object, old: Object) -> frozenset[str]:
    """The versions with unchanged schemas."""
    before = {one.get("name"): one.get("schema") for one in old["spec"].get("versions") or ()}
    versions = new["spec"].get("versions") or ()
    return frozenset(one.get("name") or "" for one in versions if before.get(one.get("name")) == one.get("schema"))


# --- spec ------------------------------------------------------------------------------------------------------------


def _spec_errors(spec: Object, whole: DefinitionCheck) -> list[FieldError]:
    errors = _group_errors(spec.get("group") or "") + _scope_errors(spec.get("scope") or "")
    versions: Sequence[Object] = spec["versions"]
    if (spec.get("validation") or {}).get("openAPIV3Schema") is None:
        for i, version in enumerate(versions):
            if (version.get("schema") or {}).get("openAPIV3Schema") is None:
                errors.append(
                    field_required(
                        f"spec.versions[{i}].schema.openAPIV3Schema", "" if since(34) else "schemas are required"
                    )
                )
    if spec.get("preserveUnknownFields") and _has_defaults(spec):
        why = "must be false in order to use defaults in the schema"
        errors.append(field_invalid("spec.preserveUnknownFields", True, why))
    for i, version in enumerate(versions):
        here, name = f"spec.versions[{i}]", version.get("name") or ""
        problems = checks.dns1035_label_problems(name)
        if problems:
            errors.append(field_invalid(f"{here}.name", name, ",".join(problems)))
        status = _has_status(version) if any(one.get("subresources") for one in versions) else _has_status(spec)
        errors += _version_errors(version, here, status, whole, costs=name not in whole.unchanged)
    errors += _versions_errors(versions)
    if versions and (first := versions[0].get("name")) and (problems := checks.dns1035_label_problems(first)):
        errors.append(field_invalid("spec.version", first, ",".join(problems)))
    errors += [
        field_required(f"spec.names.{key}")
        for key in ("plural", "singular", "kind", "listKind")
        if not spec["names"].get(key)
    ]
    errors += _names_errors(spec["names"], "spec.names")
    any_status = _has_status(spec) or any(map(_has_status, versions))
    first = (versions[0].get("name") or "") if versions else ""
    errors += _validation_errors(
        spec.get("validation"), "spec.validation", any_status, whole, costs=first not in whole.unchanged
    )
    errors += _subresource_errors(spec.get("subresources"), "spec.subresources")
    errors += _column_errors(spec.get("additionalPrinterColumns"), "spec.additionalPrinterColumns")
    if spec.get("selectableFields"):
        errors += _selectable_errors(spec["selectableFields"], spec.get("validation"), "spec.selectableFields")
    return errors + _conversion_errors(spec)


def _group_errors(group: str) -> list[FieldError]:
    if not group:
        return [field_required("spec.group")]
    problems = checks.dns_subdomain_problems(group)
    if problems:
        return [field_invalid("spec.group", group, ",".join(problems))]
    if "." not in group:
        return [field_invalid("spec.group", group, "should be a domain with at least one dot")]
    return []


def _scope_errors(scope: str) -> list[FieldError]:
    if not scope:
        return [field_required("spec.scope")]
    return [] if scope in SCOPES else [field_not_supported("spec.scope", scope, SCOPES)]


def _has_status(holder: Node) -> bool:
    return (holder.get("subresources") or {}).get("status") is not None


def _versions_errors(versions: Sequence[Object]) -> list[FieldError]:
    why = []
    if len({version.get("name") for version in versions}) < len(versions):
        why.append("must contain unique version names")
    if sum(1 for version in versions if version.get("storage")) != 1:
        why.append("must have exactly one version marked as storage version")
    if not why:
        return []
    shown = shown_versions(versions) if versions else "null"
    return [FieldError("spec.versions", "FieldValueInvalid", f"Invalid value: {shown}: {one}") for one in why]


def _names_errors(names: Node, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for key in ("plural", "singular", "kind", "listKind"):
        name = names.get(key) or ""
        kind = key in ("kind", "listKind")
        problems = checks.dns1035_label_problems(name.lower() if kind else name) if name else []
        if problems:
            text = ",".join(problems)
            why = f"may have mixed case, but should otherwise match: {text}" if kind else text
            errors.append(field_invalid(f"{path}.{key}", name, why))
    errors += _label_errors(names.get("shortNames"), f"{path}.shortNames")
    if names.get("kind") and names.get("kind") == names.get("listKind"):
        errors.append(field_invalid(f"{path}.listKind", names["kind"], "kind and listKind may not be the same"))
    return errors + _label_errors(names.get("categories"), f"{path}.categories")


def _label_errors(labels: Sequence[str] | None, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for i, label in enumerate(labels or ()):
        problems = checks.dns1035_label_problems(label)
        if problems:
            errors.append(field_invalid(f"{path}[{i}]", label, ",".join(problems)))
    return errors


# --- a version -------------------------------------------------------------------------------------------------------


def _version_errors(version: Node, path: str, status: bool, whole: DefinitionCheck, *, costs: bool) -> list[FieldError]:
    warning = version.get("deprecationWarning")
    errors = [
        FieldError(f"{path}.deprecationWarning", "FieldValueInvalid", f"Invalid value: {go_json(warning)}: {why}")
        for why in _deprecation_problems(bool(version.get("deprecated")), warning)
    ]
    errors += _validation_errors(version.get("schema"), f"{path}.schema", status, whole, costs=costs)
    errors += _subresource_errors(version.get("subresources"), f"{path}.subresources")
    errors += _column_errors(version.get("additionalPrinterColumns"), f"{path}.additionalPrinterColumns")
    if version.get("selectableFields"):
        here = f"{path}.selectableFields"
        errors += _selectable_errors(version["selectableFields"], version.get("schema"), here)
    return errors


def _deprecation_problems(deprecated: bool, warning: str | None) -> list[str]:
    if warning is None:
        return []
    if not deprecated:
        return ["can only be set for deprecated versions"]
    problems = ["must be <= 256 characters long"] if len(warning.encode()) > 256 else []
    if not warning:
        problems.append("must not be an empty string")
    for i, char in enumerate(warning):
        if not char.isprintable():
            at = len(warning[:i].encode())
            why = f"must only contain printable UTF-8 characters; non-printable character found at index {at}"
            return [*problems, why]
    return problems


def _validation_errors(
    validation: Node | None, path: str, status: bool, whole: DefinitionCheck, *, costs: bool
) -> list[FieldError]:
    """Validates the schema of a version: its structure, defaults, rules and their cost."""
    schema = (validation or {}).get("openAPIV3Schema")
    if schema is None:
        return []
    here = f"{path}.openAPIV3Schema"
    deepest = 2 * DEPTH_LIMIT
    if codec.compact(schema, deepest) is None and depth(schema, deepest) > deepest:
        return [FieldError(here, "FieldValueInvalid", f"Too deep: schemas may nest at most {DEPTH_LIMIT} levels")]
    errors = _root_errors(schema, here) if status else []
    if schema.get("nullable"):
        errors.append(field_forbidden(f"{here}.nullable", "nullable cannot be true at the root"))
    context: CELSchemaContext | None = None
    traits = traits_of(schema)
    unsupported = nonstructural.not_convertible(schema, traits)
    if not unsupported:
        found = nonstructural.structural_errors(schema, here, traits)
        found = found or schemadefaults.default_errors(Structural(schema, traits), here, whole.meta)
        errors += found
        if not found:
            context = CELSchemaContext.root(schema, whole.compiler)
    check = openapischema.SchemaCheck(traits, costs)
    checked = openapischema.check(schema, here, openapischema.SchemaPosition(), context, check, root=True)
    errors += checked.schema + checked.rules
    if not errors and unsupported:
        errors.append(field_invalid(here, "", unsupported))
    if context is not None:
        errors += context.total_errors(here)
    return errors


def _root_errors(schema: Node, path: str) -> list[FieldError]:
    if (schema.get("type") or "object") != "object":
        why = 'only "object" is allowed as the type at the root of the schema if the status subresource is enabled'
        return [field_invalid(f"{path}.type", schema["type"], why)]
    if all(key in _ROOT_KEYS for key, value in schema.items() if value not in (None, False, "", [], {})):
        return []
    shown = " ".join(_ROOT_FIELDS)
    why = f"only [{shown}] fields are allowed at the root of the schema if the status subresource is enabled"
    return [FieldError(path, "FieldValueInvalid", f"Invalid value: {shown_schema(schema)}: {why}")]


def _has_defaults(spec: Object) -> bool:
    schemas = [spec.get("validation"), *(version.get("schema") for version in spec["versions"])]
    found = ((one or {}).get("openAPIV3Schema") or {} for one in schemas)
    return any(traits_of(one).of(one) & DEFAULT for one in found)


# --- scale, columns, fields, conversion ------------------------------------------------------------------------------


def _subresource_errors(subresources: Node | None, path: str) -> list[FieldError]:
    scale = (subresources or {}).get("scale")
    if scale is None:
        return []
    errors = _replicas_path_errors(scale.get("specReplicasPath") or "", f"{path}.scale.specReplicasPath", ".spec")
    errors += _replicas_path_errors(
        scale.get("statusReplicasPath") or "", f"{path}.scale.statusReplicasPath", ".status"
    )
    selector = scale.get("labelSelectorPath") or ""
    if selector:
        here = f"{path}.scale.labelSelectorPath"
        wrong = _simple_path_errors(selector, here)
        if not wrong and not selector.startswith((".spec.", ".status.")):
            wrong = [field_invalid(here, selector, "should be a json path under either .spec or .status")]
        errors += wrong
    return errors


def _replicas_path_errors(text: str, path: str, under: str) -> list[FieldError]:
    if not text:
        return [field_required(path)]
    wrong = _simple_path_errors(text, path)
    if not wrong and not text.startswith(f"{under}."):
        wrong = [field_invalid(path, text, f"should be a json path under {under}")]
    return wrong


def _simple_path_errors(text: str, path: str) -> list[FieldError]:
    return [] if text.startswith(".") else [field_invalid(path, text, "must be a simple json path starting with .")]


def _column_errors(columns: Sequence[Node] | None, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for i, column in enumerate(columns or ()):
        here, kind, form = f"{path}[{i}]", column.get("type") or "", column.get("format") or ""
        if not column.get("name"):
            errors.append(field_required(f"{here}.name"))
        why = f"must be one of {','.join(COLUMN_TYPES)}"
        if not kind:
            errors.append(field_required(f"{here}.type", why))
        elif kind not in COLUMN_TYPES:
            errors.append(field_invalid(f"{here}.type", kind, why))
        if form and form not in COLUMN_FORMATS:
            errors.append(field_invalid(f"{here}.format", form, f"must be one of {','.join(COLUMN_FORMATS)}"))
        json_path = column.get("jsonPath") or ""
        if not json_path:
            errors.append(field_required(f"{here}.JSONPath"))
        else:
            errors += _simple_path_errors(json_path, f"{here}.JSONPath")
    return errors


def _selectable_errors(fields: Sequence[Node], validation: Node | None, path: str) -> list[FieldError]:
    openapi = (validation or {}).get("openAPIV3Schema")
    if openapi is None:
        why = "may only be set when validations.schema is included"
        if path != "spec.selectableFields":
            why = "may only be set when `version.schema.openAPIV3Schema` is not included"
        return [field_invalid(path, "", why)]
    traits = traits_of(openapi)
    if nonstructural.not_convertible(openapi, traits):
        return []
    schema, errors, seen = Structural(openapi, traits), [], set()
    for i, one in enumerate(fields):
        here, text = f"{path}[{i}].jsonPath", one.get("jsonPath") or ""
        if not text:
            errors.append(field_required(here))
            continue
        try:
            shown, found = resolve(text, schema, arrays=False)
        except BadPath as problem:
            errors.append(field_invalid(here, text, f"is an invalid path: {problem}"))
            continue
        if shown.partition(".")[0] == "metadata":
            errors.append(field_invalid(here, text, "must not point to fields in metadata"))
        if found is None or found.type not in SELECTABLE_TYPES:
            why = (
                "must point to a field of type string, boolean or integer. Enum string fields and strings with formats "
                "are allowed."
            )
            errors.append(field_invalid(here, text, why))
        if shown in seen:
            errors.append(field_duplicate(here, text))
        seen.add(shown)
    if len(seen) > SELECTABLE_LIMIT:
        why = f"Too many: {len(seen)}: must have at most {SELECTABLE_LIMIT} items"
        errors.append(FieldError(path, "FieldValueTooMany", why))
    return errors


def _conversion_errors(spec: Object) -> list[FieldError]:
    conversion = spec.get("conversion")
    if conversion is None:
        return []
    errors: list[FieldError] = []
    strategy, config = conversion["strategy"], conversion["webhookClientConfig"]
    versions = conversion["conversionReviewVersions"] or ()
    if strategy != "None" and spec.get("preserveUnknownFields"):
        why = "must be None if spec.preserveUnknownFields is true"
        errors.append(field_invalid("spec.conversion.strategy", strategy, why))
    if not strategy:
        errors.append(field_required("spec.conversion.strategy"))
    elif strategy not in CONVERSIONS:
        errors.append(field_not_supported("spec.conversion.strategy", strategy, CONVERSIONS))
    here, review = "spec.conversion.webhookClientConfig", "spec.conversion.conversionReviewVersions"
    if strategy == "Webhook":
        return errors + _client_errors(config, here) + _review_errors(versions, review)
    why = "should not be set when strategy is not set to Webhook"
    errors += [field_forbidden(here, why)] if config is not None else []
    return errors + ([field_forbidden(review, why)] if versions else [])


def _client_errors(config: Node | None, path: str) -> list[FieldError]:
    if config is None:
        return [field_required(path, "required when strategy is set to Webhook")]
    errors: list[FieldError] = []
    validate_client(Field(config, path, errors))
    return errors


def _bundle_errors(spec: Object, old: Object, before: Object) -> list[FieldError]:
    """Validates the caBundle of an established definition, unless the present one is invalid (`ValidateCABundle`)."""
    bundle, present = (_bundle(one.get("conversion") or {}) for one in (spec, before))
    if not bundle or not is_true(old, "Established") or (present and not _has_certificates(present)):
        return []
    if _has_certificates(bundle) or (spec["conversion"]["strategy"] != "Webhook"):
        return []
    why = "unable to load root certificates: unable to parse bytes as PEM block"
    return [field_invalid("spec.conversion.webhookClientConfig.caBundle", bundle, why)]


def _bundle(conversion: Node) -> str:
    return (conversion.get("webhookClientConfig") or {}).get("caBundle") or ""


def _has_certificates(bundle: str) -> bool:
    return b"-----BEGIN " in base64.b64decode(bundle)


def _review_errors(versions: Sequence[str], path: str) -> list[FieldError]:
    if not versions:
        return [field_required(path)]
    errors: list[FieldError] = []
    for i, version in enumerate(versions):
        if version in versions[:i]:
            errors.append(field_invalid(f"{path}[{i}]", version, "duplicate version"))
            continue
        errors += [field_invalid(f"{path}[{i}]", version, why) for why in checks.dns1035_label_problems(version)]
    if not set(versions) & set(REVIEW_VERSIONS):
        why = f"must include at least one of {', '.join(REVIEW_VERSIONS)}"
        errors.append(field_invalid(path, list(versions), why))
    return errors


# --- status -----------------------------------------------------------------------------------------------------------


def _status_errors(crd: Object) -> list[FieldError]:
    status = crd.get("status") or {}
    errors = _names_errors(status.get("acceptedNames") or {}, "status.acceptedNames")
    stored, versions = status.get("storedVersions") or [], crd["spec"].get("versions") or ()
    here = "status.storedVersions"
    if not stored:
        return [
            *errors,
            FieldError(here, "FieldValueInvalid", "Invalid value: null: must have at least one stored version"),
        ]
    names = [version.get("name") or "" for version in versions]
    for version in versions:
        name = version.get("name") or ""
        if version.get("storage") and name not in stored:
            why = f"Invalid value: {go_json(stored)}: must have the storage version {name}"
            errors.append(FieldError(here, "FieldValueInvalid", why))
    for i, name in enumerate(stored):
        if name not in names:
            why = (
                f"missing from spec.versions; {name} was previously a storage version, and must remain in "
                f"spec.versions until a storage migration ensures no data remains persisted in {name} and removes "
                f"{name} from status.storedVersions"
            )
            if not since(33):
                why = "must appear in spec.versions"
            errors.append(field_invalid(f"{here}[{i}]", name, why))
    return errors
