"""Pods: new ones, and what of them may change through which path (`ValidatePodCreate`, `ValidatePodUpdate`, ...)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fakekube.apiserver.registry.core.pod.validation import affinity, containers, securitycontext
from fakekube.apiserver.registry.core.pod.validation.podoptions import POD, PodOptions
from fakekube.apiserver.registry.core.pod.validation.podspec import MIRROR, check_annotations, check_spec
from fakekube.apiserver.registry.core.pod.validation.podstatus import check_status_update
from fakekube.apiserver.registry.core.pod.validation.ratcheting import options_after
from fakekube.apiserver.registry.generic.validation import content
from fakekube.apiserver.registry.generic.validation.content import MAX_INT32, Errors
from fakekube.apiserver.registry.generic.validation.diff import spec_diff
from fakekube.apiserver.registry.generic.validation.gostructs import invalid_struct
from fakekube.apiserver.registry.generic.validation.metadata import check_again
from fakekube.apiserver.wire.goprint import quoted
from fakekube.apiserver.wire.status import field_forbidden, field_invalid, field_required

Object = dict[str, Any]

CHANGEABLE = ",".join(
    (
        "`spec.containers[*].image`",
        "`spec.initContainers[*].image`",
        "`spec.activeDeadlineSeconds`",
        "`spec.tolerations` (only additions to existing tolerations)",
        "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
    )
)


def validate(pod: Object) -> Errors:
    errors: Errors = []
    spec = pod.get("spec") or {}
    _check_own(pod, errors, POD)
    if spec.get("ephemeralContainers"):
        errors.append(field_forbidden("spec.ephemeralContainers", "cannot be set on create"))
    if spec.get("nodeName") and spec.get("schedulingGates"):
        why = "cannot be set until all schedulingGates have been cleared"
        errors.append(field_forbidden("spec.nodeName", why))
    securitycontext.check_profiles_agree(pod["metadata"].get("annotations") or {}, spec, "spec", errors)
    return errors


def _check_own(pod: Object, errors: Errors, options: PodOptions) -> None:
    """Of its annotations and its spec (`validatePodMetadataAndSpec`)."""
    meta, spec = pod["metadata"], pod.get("spec") or {}
    if meta.get("annotations"):
        check_annotations(meta["annotations"], spec, "metadata.annotations", errors, options)
    check_spec(spec, "spec", errors, options, meta)
    if not spec.get("serviceAccountName"):
        _check_tokens(spec, errors)
    for kind in ("containers", "initContainers"):
        for i, container in enumerate(spec.get(kind) or ()):
            containers.check_image_spaces(container, f"spec.{kind}[{i}]", errors)


def _check_tokens(spec: Object, errors: Errors) -> None:
    for i, volume in enumerate(spec.get("volumes") or ()):
        for n, source in enumerate((volume.get("projected") or {}).get("sources") or ()):
            if source.get("serviceAccountToken") is not None:
                here = f"spec.volumes[{i}].projected.sources[{n}].serviceAccountToken"
                errors.append(field_forbidden(here, "must not be specified when serviceAccountName is not set"))


def check_changed(new: Object, old: Object, errors: Errors) -> PodOptions:
    """What of a changed pod would be refused of a new one; returns the rules that were good for it."""
    check_again(new, errors)
    found: Errors = []
    _check_own(new, found, POD)
    options = POD
    if found:
        options = options_after(old.get("spec") or {}, old["metadata"], is_pod=True)
        found = []
        _check_own(new, found, options)
    errors += found
    return options


# --- updates -------------------------------------------------------------------------------------------------------


def validate_update(new: Object, old: Object) -> Errors:
    errors: Errors = []
    options = check_changed(new, old, errors)
    check_annotation_changes(new, old, errors, options)
    before, after = old.get("spec") or {}, new.get("spec") or {}
    for kind in ("containers", "initContainers"):
        if not _same_containers(after.get(kind) or (), before.get(kind) or (), f"spec.{kind}", errors):
            return errors
    if not _check_deadline(after.get("activeDeadlineSeconds"), before.get("activeDeadlineSeconds"), errors):
        return errors
    _check_tolerations(after.get("tolerations") or (), before.get("tolerations") or (), errors)
    _check_gates(after.get("schedulingGates") or (), before.get("schedulingGates") or (), errors)
    if after != before:
        _check_rest(after, before, errors)
    return errors


def check_annotation_changes(new: Object, old: Object, errors: Errors, options: PodOptions) -> None:
    """Profiles and the mark of a mirror pod stay as they are (`ValidatePodSpecificAnnotationUpdates`)."""
    after, before = new["metadata"].get("annotations") or {}, old["metadata"].get("annotations") or {}
    if not after and not before:
        return
    for key, value in before.items():
        if after.get(key) != value:
            errors += _forbidden_annotation(key, "remove or update")
    for key in after:
        if key not in before:
            errors += _forbidden_annotation(key, "add")
    check_annotations(after, new.get("spec") or {}, "metadata.annotations", errors, options)


def _forbidden_annotation(key: str, what: str) -> Errors:
    path = f"metadata.annotations[{key}]"
    if key.startswith(securitycontext.APPARMOR):
        return [field_forbidden(path, f"may not {what} AppArmor annotations")]
    if key == MIRROR:
        return [field_forbidden(path, f"may not {what} mirror pod annotation")]
    return []


def _same_containers(after: Sequence[Object], before: Sequence[Object], path: str, errors: Errors) -> bool:
    if len(after) != len(before):
        errors.append(field_forbidden(path, "pod updates may not add or remove containers"))
        return False
    for i, container in enumerate(after):
        if not container.get("image"):
            errors.append(field_required(f"{path}[{i}].image"))
        containers.check_image_spaces(container, f"{path}[{i}]", errors)
    return True


def _check_deadline(after: int | None, before: int | None, errors: Errors) -> bool:
    """It may be set, and come nearer."""
    path = "spec.activeDeadlineSeconds"
    if after is None:
        if before is not None:
            why = "must not update from a positive integer to nil value"
            errors.append(field_invalid(path, None, why))
        return True
    if not 0 <= after <= MAX_INT32:
        errors.append(field_invalid(path, after, content.range_problem(0, MAX_INT32)))
        return False
    if before is not None and before < after:
        errors.append(field_invalid(path, after, "must be less than or equal to previous value"))
        return False
    return True


def _check_tolerations(after: Sequence[Object], before: Sequence[Object], errors: Errors) -> None:
    kept = [_without_seconds(toleration) for toleration in after]
    if any(_without_seconds(toleration) not in kept for toleration in before):
        why = "existing toleration can not be modified except its tolerationSeconds"
        errors.append(field_forbidden("spec.tolerations", why))
        return
    affinity.check_tolerations(after, "spec.tolerations", errors)


def _without_seconds(toleration: Object) -> Object:
    return {key: value for key, value in toleration.items() if key != "tolerationSeconds"}


def _check_gates(after: Sequence[Object], before: Sequence[Object], errors: Errors) -> None:
    known = {gate.get("name") for gate in before}
    added = {gate.get("name"): i for i, gate in enumerate(after) if gate.get("name") not in known}
    for name, i in added.items():
        why = f"only deletion is allowed, but found new scheduling gate '{name}'"
        errors.append(field_forbidden(f"spec.schedulingGates[{i}].name", why))


def _check_rest(after: Object, before: Object, errors: Errors) -> None:
    """With everything that may change as it was, the two specs must be the same."""
    rest = _with(after, before, ("activeDeadlineSeconds", "schedulingGates", "tolerations"))
    for kind in ("containers", "initContainers"):
        if rest.get(kind):
            rest[kind] = [_with(one, was, ("image",)) for one, was in zip(rest[kind], before[kind], strict=True)]
    if (before.get("terminationGracePeriodSeconds") or 0) < 0 and rest.get("terminationGracePeriodSeconds") == 1:
        rest["terminationGracePeriodSeconds"] = before["terminationGracePeriodSeconds"]
    if before.get("schedulingGates"):
        rest = _check_gated(rest, before, errors)
    if rest != before:
        why = f"pod updates may not change fields other than {CHANGEABLE}\n{spec_diff(before, rest)}"
        errors.append(field_forbidden("spec", why))


def _with(obj: Object, other: Object, fields: tuple[str, ...]) -> Object:
    """The object with some fields of the other."""
    made = {key: value for key, value in obj.items() if key not in fields}
    made.update((key, other[key]) for key in fields if key in other)
    return made


def _check_gated(rest: Object, before: Object, errors: Errors) -> Object:
    """Who waits at a gate may still be told more precisely where to go. Returns the spec without those changes."""
    if rest.get("nodeSelector") != before.get("nodeSelector"):
        _check_node_selector(rest.get("nodeSelector") or {}, before.get("nodeSelector") or {}, errors)
        rest = _with(rest, before, ("nodeSelector",))
    was, now = (holder.get("affinity") or {} for holder in (before, rest))
    if was.get("nodeAffinity") != now.get("nodeAffinity"):
        _check_node_affinity(now.get("nodeAffinity") or {}, was.get("nodeAffinity") or {}, errors)
        kept = _with(now, was, ("nodeAffinity",))
        rest = _with(rest, before if kept == was else {"affinity": kept}, ("affinity",))
    return rest


def _check_node_selector(after: Mapping[str, str], before: Mapping[str, str], errors: Errors) -> None:
    if any(after.get(key) != value for key, value in before.items()):
        why = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
        errors.append(field_invalid("spec.nodeSelector", dict(after) or None, why))


def _check_node_affinity(after: Object, before: Object, errors: Errors) -> None:
    old_terms = (before.get(affinity.REQUIRED) or {}).get("nodeSelectorTerms") or []
    terms = (after.get(affinity.REQUIRED) or {}).get("nodeSelectorTerms") or []
    path = f"spec.affinity.nodeAffinity.{affinity.REQUIRED}.nodeSelectorTerms"
    if old_terms and len(old_terms) != len(terms):
        why = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        errors.append(invalid_struct(path, "NodeSelectorTerm", terms or None, why))
        return
    for i, (term, old_term) in enumerate(zip(terms, old_terms, strict=False)):
        if not _only_adds(term, old_term):
            why = "only additions are allowed (no mutations or deletions)"
            errors.append(invalid_struct(f"{path}[{i}]", "NodeSelectorTerm", term, why))


def _only_adds(term: Object, old_term: Object) -> bool:
    kinds = ("matchExpressions", "matchFields")
    if not any(old_term.get(kind) for kind in kinds):
        return not any(term.get(kind) for kind in kinds)
    for kind in kinds:
        old = old_term.get(kind) or []
        if (term.get(kind) or [])[: len(old)] != old:
            return False
    return True


def validate_status_update(new: Object, old: Object) -> Errors:
    errors: Errors = []
    if new["metadata"].get("annotations") or old["metadata"].get("annotations"):
        options = options_after(old.get("spec") or {}, old["metadata"], is_pod=True)
        check_annotation_changes(new, old, errors, options)
    check_status_update(new, old, errors)
    return errors


# --- /ephemeralcontainers ------------------------------------------------------------------------------------------


def validate_ephemeral_containers(new: Object, old: Object) -> Errors:
    """Containers may be added; none goes, and none changes (`ValidatePodEphemeralContainersUpdate`)."""
    errors: Errors = []
    options = check_changed(new, old, errors)
    check_annotation_changes(new, old, errors, options)
    if MIRROR in (old["metadata"].get("annotations") or {}):
        return [field_forbidden("", "static pods do not support ephemeral containers")]
    found = {one.get("name"): one for one in (new.get("spec") or {}).get("ephemeralContainers") or ()}
    path = "spec.ephemeralContainers"
    for container in (old.get("spec") or {}).get("ephemeralContainers") or ():
        name = container.get("name")
        which = f"existing ephemeral containers {quoted(name)} may not be"
        if name not in found:
            errors.append(field_forbidden(path, f"{which} removed\n"))
        elif found[name] != container:
            errors.append(field_forbidden(path, f"{which} changed\n{spec_diff(container, found[name])}"))
    return errors
