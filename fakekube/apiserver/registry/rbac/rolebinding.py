"""RoleBinding, and ClusterRoleBinding, which has the same rules (`ValidateRoleBinding`)."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver import names
from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import AGE, NAME, Printer, age_of, columns, get, name_of, wide
from fakekube.apiserver.registry.generic.validation.field import Field
from fakekube.apiserver.registry.generic.validation.metadata import validate_metadata, validate_metadata_update
from fakekube.apiserver.registry.generic.validation.rules import update_validator, validator
from fakekube.apiserver.registry.rbac.role import is_namespaced

Object = dict[str, Any]

GROUP = "rbac.authorization.k8s.io"

SUBJECT_KINDS = ("ServiceAccount", "User", "Group")


def default_binding(obj: Object) -> None:
    """Sets the groups of the role and of the subjects (`pkg/apis/rbac/v1/defaults.go`)."""
    obj.setdefault("roleRef", {})
    if not obj["roleRef"].get("apiGroup"):
        obj["roleRef"]["apiGroup"] = GROUP
    for subject in obj.get("subjects") or ():
        if subject.get("kind") in ("User", "Group") and not subject.get("apiGroup"):
            subject["apiGroup"] = GROUP


def validate(binding: Field) -> None:
    namespaced, role = is_namespaced(binding), binding["roleRef"]
    role["apiGroup"].one_of((GROUP,), plain=True)
    role["kind"].one_of(("Role", "ClusterRole") if namespaced else ("ClusterRole",), plain=True)
    role["name"].required().check(names.path_segment_problems)
    for subject in binding["subjects"]:
        _validate_subject(subject, namespaced)


def validate_update(new: Field, old: Field) -> None:
    validate_metadata(new, names.path_segment_problems)
    validate(new)
    validate_metadata_update(new, old)
    role = new["roleRef"]
    if role.struct != old["roleRef"].struct:
        shown = {"APIGroup": role["apiGroup"].text, "Kind": role["kind"].text, "Name": role["name"].text}
        role.with_value(shown).invalid_go("cannot change roleRef")


def _validate_subject(subject: Field, namespaced: bool) -> None:
    kind, name, group = subject["kind"], subject["name"], subject["apiGroup"]
    name.required()
    if kind.value == "ServiceAccount":
        name.optional().dns_subdomain()
        group.optional().one_of(("",), plain=True)
        if not namespaced:
            subject["namespace"].required()
        return
    kind.one_of(SUBJECT_KINDS, plain=True)
    if kind.value in SUBJECT_KINDS:
        group.one_of((GROUP,), plain=True)


def _subjects(obj: Object, kind: str) -> str:
    """Returns the binding's subjects of a kind; service accounts with their namespace."""
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
    validate=validator(validate),
    as_new_before=35,
    validate_update=update_validator(validate_update),
)


KIND = Kind(
    "rolebindings.rbac.authorization.k8s.io",
    STRATEGY,
    printer=PRINTER,
)
