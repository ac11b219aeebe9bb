"""Validates pods: new ones, and their changes through each path (`ValidatePodCreate`, `ValidatePodUpdate`, ...)."""

from __future__ import annotations

from fakekube.apiserver.features import since
from fakekube.apiserver.registry.core.pod.resources import qos_class
from fakekube.apiserver.registry.core.pod.validation import affinity, containers, securitycontext
from fakekube.apiserver.registry.core.pod.validation.podoptions import POD, PodOptions
from fakekube.apiserver.registry.core.pod.validation.podspec import MIRROR, validate_pod_annotations, validate_spec
from fakekube.apiserver.registry.core.pod.validation.podstatus import validate_podstatus
from fakekube.apiserver.registry.core.pod.validation.ratcheting import options_after
from fakekube.apiserver.registry.generic.validation.content import MAX_INT32, Errors
from fakekube.apiserver.registry.generic.validation.diff import struct_diff
from fakekube.apiserver.registry.generic.validation.field import Field, Object
from fakekube.apiserver.registry.generic.validation.metadata import validate_metadata
from fakekube.apiserver.wire.goprint import quoted
from fakekube.apiserver.wire.status import field_forbidden

CHANGEABLE = ",".join(
    (
        "`spec.containers[*].image`",
        "`spec.initContainers[*].image`",
        "`spec.activeDeadlineSeconds`",
        "`spec.tolerations` (only additions to existing tolerations)",
        "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
    )
)
CONTAINERS = ("containers", "initContainers")


def validate(pod: Object) -> Errors:
    root = Field(pod)
    spec = _validate_annotations_and_spec(root, POD)
    if spec.value.get("ephemeralContainers"):
        spec["ephemeralContainers"].forbidden("cannot be set on create")
    if spec.value.get("nodeName") and spec.value.get("schedulingGates"):
        spec["nodeName"].forbidden("cannot be set until all schedulingGates have been cleared")
    securitycontext.validate_profiles_agree(pod["metadata"].get("annotations") or {}, spec)
    return root.errors


def _validate_annotations_and_spec(root: Field, options: PodOptions) -> Field:
    """`validatePodMetadataAndSpec`; returns the spec."""
    meta, spec = root.value["metadata"], root.at("spec", root.value.get("spec") or {})
    if meta.get("annotations"):
        validate_pod_annotations(root["metadata"]["annotations"], spec, options)
    validate_spec(spec, options, meta)
    if not spec.value.get("serviceAccountName"):
        _forbid_tokens(spec)
    for kind in CONTAINERS:
        for container in spec.each(kind):
            containers.validate_image_spaces(container)
    return spec


def _forbid_tokens(spec: Field) -> None:
    for volume in spec.each("volumes"):
        if volume.value.get("projected"):
            for source in volume["projected"]["sources"]:
                for token in source.members(("serviceAccountToken",)):
                    token.forbidden("must not be specified when serviceAccountName is not set")


def validate_changed(root: Field, old: Field) -> PodOptions:
    """Validates a changed pod as if it were new, but for invalid values that it had before; returns the options."""
    validate_metadata(root)
    strict = Field(root.value)
    _validate_annotations_and_spec(strict, POD)
    if not strict.errors:
        return POD
    options = options_after(old["spec"].value or {}, old["metadata"].value, is_pod=True)
    _validate_annotations_and_spec(root, options)
    return options


def validate_update(new: Object, old: Object) -> Errors:
    root, stored = Field(new), Field(old)
    options = validate_changed(root, stored)
    validate_annotation_changes(root, stored, options)
    spec, before = (one.at("spec", one.value.get("spec") or {}) for one in (root, stored))
    if spec.value == before.value and not root.errors:
        return []
    same_containers = all(_validate_images(spec[kind], before[kind]) for kind in CONTAINERS)
    if not same_containers or not _validate_deadline(spec["activeDeadlineSeconds"], before["activeDeadlineSeconds"]):
        return root.errors
    _validate_toleration_changes(spec["tolerations"], before["tolerations"])
    _validate_gate_changes(spec["schedulingGates"], before["schedulingGates"])
    if spec.value != before.value:
        if not since(32) and qos_class(spec.value) != qos_class(before.value):
            root.at("metadata", root.find("status.qosClass").text).invalid("Pod QoS is immutable")
        _validate_unchanged(spec, before)
    return root.errors


def validate_annotation_changes(root: Field, old: Field, options: PodOptions) -> None:
    """AppArmor profiles and the mark of a mirror pod are immutable (`ValidatePodSpecificAnnotationUpdates`)."""
    annotations, before = root["metadata"]["annotations"], old["metadata"]["annotations"].value or {}
    if not annotations and not before:
        return
    after = annotations.value or {}
    changes = [(key, "remove or update") for key in before if after.get(key) != before[key]]
    for key, what in (*changes, *[(key, "add") for key in after if key not in before]):
        if key.startswith(securitycontext.APPARMOR):
            annotations.entry(key).forbidden(f"may not {what} AppArmor annotations")
        elif key == MIRROR:
            annotations.entry(key).forbidden(f"may not {what} mirror pod annotation")
    validate_pod_annotations(annotations, root["spec"], options)


def _validate_images(found: Field, before: Field) -> bool:
    if len(found) != len(before):
        found.forbidden("pod updates may not add or remove containers")
        return False
    for container in found:
        container.require("image")
        containers.validate_image_spaces(container)
    return True


def _validate_deadline(deadline: Field, before: Field) -> bool:
    """A deadline may be added or shortened. Returns whether the rest is validated."""
    if deadline.value is None:
        if before.value is not None:
            deadline.invalid("must not update from a positive integer to nil value", None)
        return True
    errors = len(deadline.errors)
    deadline.between(0, MAX_INT32)
    if len(deadline.errors) == errors and before.value is not None and before.value < deadline.value:
        deadline.invalid("must be less than or equal to previous value")
    return len(deadline.errors) == errors


def _validate_toleration_changes(tolerations: Field, before: Field) -> None:
    kept = [_without_seconds(toleration) for toleration in tolerations]
    if any(_without_seconds(toleration) not in kept for toleration in before):
        tolerations.forbidden("existing toleration can not be modified except its tolerationSeconds")
    else:
        affinity.validate_tolerations(tolerations)


def _without_seconds(toleration: Field) -> Object:
    return {key: value for key, value in toleration.value.items() if key != "tolerationSeconds"}


def _validate_gate_changes(gates: Field, before: Field) -> None:
    known = {gate["name"].value for gate in before}
    added = {gate["name"].value: gate for gate in gates if gate["name"].value not in known}
    for name, gate in added.items():
        gate["name"].forbidden(f"only deletion is allowed, but found new scheduling gate '{name}'")


def _validate_unchanged(spec: Field, before: Field) -> None:
    """Apart from the fields that may change, the two specs are equal."""
    old = before.value
    rest = with_fields(spec.value, old, ("activeDeadlineSeconds", "schedulingGates", "tolerations"))
    for kind in CONTAINERS:
        if rest.get(kind):
            rest[kind] = [with_fields(one, was, ("image",)) for one, was in zip(rest[kind], old[kind], strict=True)]
    if (old.get("terminationGracePeriodSeconds") or 0) < 0 and rest.get("terminationGracePeriodSeconds") == 1:
        rest["terminationGracePeriodSeconds"] = old["terminationGracePeriodSeconds"]
    if old.get("schedulingGates"):
        rest = _validate_gated(spec.with_value(rest), before)
    if rest != old:
        spec.forbidden(
            f"pod updates may not change fields other than {CHANGEABLE}\n{struct_diff('PodSpec', old, rest)}"
        )


def with_fields(obj: Object, other: Object, fields: tuple[str, ...]) -> Object:
    """The object with some fields of the other."""
    made = {key: value for key, value in obj.items() if key not in fields}
    made.update((key, other[key]) for key in fields if key in other)
    return made


def _validate_gated(spec: Field, before: Field) -> Object:
    """A pod with scheduling gates may get a narrower choice of nodes. Returns the spec without those changes."""
    rest: Object = spec.value
    if spec["nodeSelector"].value != before["nodeSelector"].value:
        selector, old = spec["nodeSelector"].value or {}, before["nodeSelector"].value or {}
        if any(selector.get(key) != value for key, value in old.items()):
            why = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
            spec["nodeSelector"].invalid(why, spec["nodeSelector"].value)
        rest = with_fields(rest, before.value, ("nodeSelector",))
    now, was = spec["affinity"], before["affinity"]
    if now["nodeAffinity"].value != was["nodeAffinity"].value:
        terms = f"nodeAffinity.{affinity.REQUIRED}.nodeSelectorTerms"
        _validate_node_selector_terms(now.find(terms), was.find(terms))
        kept = with_fields(now.value or {}, was.value or {}, ("nodeAffinity",))
        rest = with_fields(rest, before.value if kept == (was.value or {}) else {"affinity": kept}, ("affinity",))
    return rest


def _validate_node_selector_terms(terms: Field, before: Field) -> None:
    if before and len(terms) != len(before):
        why = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        terms.invalid_struct("NodeSelectorTerm", why)
        return
    for term, old_term in zip(terms, before, strict=False):
        if not _only_adds(term, old_term):
            term.invalid_struct("NodeSelectorTerm", "only additions are allowed (no mutations or deletions)")


def _only_adds(term: Field, old_term: Field) -> bool:
    kinds = ("matchExpressions", "matchFields")
    if not any(old_term[kind] for kind in kinds):
        return not any(term[kind] for kind in kinds)
    return all((term[kind].value or [])[: len(old_term[kind])] == (old_term[kind].value or []) for kind in kinds)


def validate_status_update(new: Object, old: Object) -> Errors:
    root, stored = Field(new), Field(old)
    if root["metadata"]["annotations"] or stored["metadata"]["annotations"]:
        options = options_after(old.get("spec") or {}, old["metadata"], is_pod=True)
        validate_annotation_changes(root, stored, options)
    validate_podstatus(root["status"], stored)
    return root.errors


def validate_ephemeral_containers(new: Object, old: Object) -> Errors:
    """Containers may be added, but neither removed nor changed (`ValidatePodEphemeralContainersUpdate`)."""
    root, stored = Field(new), Field(old)
    options = validate_changed(root, stored)
    validate_annotation_changes(root, stored, options)
    if MIRROR in stored["metadata"]["annotations"]:
        return [field_forbidden("", "static pods do not support ephemeral containers")]
    containers = root["spec"]["ephemeralContainers"]
    found = {container["name"].value: container.value for container in containers}
    for container in stored["spec"]["ephemeralContainers"]:
        name = container["name"].value
        which = f"existing ephemeral containers {quoted(name)} may not be"
        if name not in found:
            containers.forbidden(f"{which} removed\n")
        elif found[name] != container.value:
            containers.forbidden(f"{which} changed\n{struct_diff('EphemeralContainer', container.value, found[name])}")
    return root.errors
