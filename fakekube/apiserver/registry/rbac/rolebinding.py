"""TODO"""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.registry.generic import names, objectmeta
from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import AGE, NAME, Printer, age_of, columns, get, name_of, wide
from fakekube.apiserver.registry.generic.validation import gostructs
from fakekube.apiserver.registry.generic.validation.content import Errors, add, check_dns_subdomain
from fakekube.apiserver.registry.generic.validation.metadata import check_again
from fakekube.apiserver.registry.rbac.role import is_namespaced
from fakekube.apiserver.wire.status import FieldError, field_invalid, field_not_supported, field_required

Object = dict[str, Any]


def default_binding(obj: Object) -> None:
    """Groups of the role and of the subjects (`pkg/apis/rbac/v1/defaults.go`)."""
    obj.setdefault("roleRef", {})
    if not obj["roleRef"].get("apiGroup"):
        obj["roleRef"]["apiGroup"] = GROUP
    for subject in obj.get("subjects") or ():
        if subject.get("kind") in ("User", "Group") and not subject.get("apiGroup"):
            subject["apiGroup"] = GROUP


GROUP = "rbac.authorization.k8s.io"


SUBJECT_KINDS = ("ServiceAccount", "User", "Group")


def validate_binding(binding: Object) -> list[FieldError]:
    """Of a RoleBinding, and of a ClusterRoleBinding, which has no namespace."""
    errors: Errors = []
    namespaced, role = is_namespaced(binding), binding.get("roleRef") or {}
    group, kind, name = (role.get(field) or "" for field in ("apiGroup", "kind", "name"))
    kinds = ("Role", "ClusterRole") if namespaced else ("ClusterRole",)
    if group != GROUP:
        errors.append(field_not_supported("roleRef.apiGroup", group, (GROUP,)))
    if kind not in kinds:
        errors.append(field_not_supported("roleRef.kind", kind, kinds))
    if name:
        add(errors, "roleRef.name", name, names.path_segment_problems(name))
    else:
        errors.append(field_required("roleRef.name"))
    for i, subject in enumerate(binding.get("subjects") or ()):
        _check_subject(subject, f"subjects[{i}]", errors, namespaced)
    return errors


def validate_binding_update(new: Object, old: Object) -> list[FieldError]:
    errors: Errors = []
    check_again(new, errors)
    errors += validate_binding(new)
    errors += objectmeta.validate_update(new["metadata"], old["metadata"])
    role = new.get("roleRef") or {}
    if role != (old.get("roleRef") or {}):
        shown = {"APIGroup": role.get("apiGroup", ""), "Kind": role.get("kind", ""), "Name": role.get("name", "")}
        why = f"Invalid value: {gostructs.marshal(shown)}: cannot change roleRef"
        errors.append(FieldError("roleRef", "FieldValueInvalid", why))
    return errors


def _check_subject(subject: Object, path: str, errors: Errors, namespaced: bool) -> None:
    kind, name, group = (subject.get(field) or "" for field in ("kind", "name", "apiGroup"))
    if not name:
        errors.append(field_required(f"{path}.name"))
    if kind == "ServiceAccount":
        if name:
            check_dns_subdomain(name, f"{path}.name", errors)
        if group:
            errors.append(field_not_supported(f"{path}.apiGroup", group, ("",)))
        if not namespaced and not subject.get("namespace"):
            errors.append(field_required(f"{path}.namespace"))
    elif kind in SUBJECT_KINDS:
        if not name:
            errors.append(field_invalid(f"{path}.name", name, f"{kind.lower()} name cannot be empty"))
        if group != GROUP:
            errors.append(field_not_supported(f"{path}.apiGroup", group, (GROUP,)))
    else:
        errors.append(field_not_supported(f"{path}.kind", kind, SUBJECT_KINDS))


def _subjects(obj: Object, kind: str) -> str:
    """The binding's subjects of a kind; service accounts with their namespace."""
    found = [subject for subject in obj.get("subjects") or () if subject.get("kind") == kind]
    if kind == "ServiceAccount":
        return ", ".join(f"{one.get('namespace') or ''}/{one.get('name') or ''}" for one in found)
    return ", ".join(one.get("name") or "" for one in found)


def _binding(obj: Object, ages: Ages) -> list[Any]:
    role = f"{get(obj, 'roleRef.kind', '')}/{get(obj, 'roleRef.name', '')}"
    return [
        name_of(obj),
        role,
        age_of(obj, ages),
        *(_subjects(obj, kind) for kind in ("User", "Group", "ServiceAccount")),
    ]


PRINTER = Printer(columns(NAME, "Role", AGE, wide("Users"), wide("Groups"), wide("ServiceAccounts")), _binding)


STRATEGY = Strategy(
    name_check=names.path_segment_problems,
    create_on_update=True,
    repeats_metadata=False,
    default=default_binding,
    validate=validate_binding,
    validate_update=validate_binding_update,
)

KIND = Kind(
    "rolebindings.rbac.authorization.k8s.io",
    STRATEGY,
    printer=PRINTER,
)
