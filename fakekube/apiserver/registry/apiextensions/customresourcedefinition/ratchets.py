"""Rules of definitions that hold for what is new: an approval of protected groups, and no unknown fields by default."""

from __future__ import annotations

from fakekube.apiserver.crd import apiapproval
from fakekube.apiserver.resource import Object
from fakekube.apiserver.wire.goprint import quoted
from fakekube.apiserver.wire.status import FieldError, field_invalid, field_required


def approval_errors(new: Object, old: Object | None) -> list[FieldError]:
    """Definitions in groups of the Kubernetes community require an approval annotation."""
    if not apiapproval.is_protected(new["spec"].get("group") or ""):
        return []
    state, why = apiapproval.state(new)
    if old is not None and apiapproval.state(old)[0] == state:
        return []
    path = f"metadata.annotations[{apiapproval.ANNOTATION}]"
    if state == "missing":
        return [field_required(path, why)]
    return (
        [field_invalid(path, new["metadata"]["annotations"][apiapproval.ANNOTATION], why)] if state == "invalid" else []
    )


def preserve_errors(spec: Object, old: Object | None) -> list[FieldError]:
    """`preserveUnknownFields` can be kept, and not be set."""
    if not spec.get("preserveUnknownFields") or (old or {}).get("preserveUnknownFields"):
        return []
    why = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
    return [FieldError("spec.preserveUnknownFields", "FieldValueInvalid", f"Invalid value: {quoted(True)}: {why}")]
