"""Conversion of custom resources between versions by a webhook (`apiextensions-apiserver/pkg/apiserver/conversion`).

The module makes reviews and evaluates their responses; it does not send them. It is not used with the strategy None,
where versions differ only in their apiVersion. Of metadata, a webhook may only change labels and annotations.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fakekube.apiserver.resource import Object
from fakekube.apiserver.schema.objectmeta import annotation_errors, label_errors
from fakekube.apiserver.wire import goprint
from fakekube.apiserver.wire.goprint import go_quote
from fakekube.apiserver.wire.status import StatusError, together

#: The supported versions of ConversionReview; the first one that a definition lists is used.
REVIEWS = ("v1", "v1beta1")

#: The timeout of a webhook in seconds.
TIMEOUT = 30

#: The fields of metadata that a webhook may change.
_CHANGEABLE = ("labels", "annotations")


class ConversionWebhook:
    """The conversion webhook of a definition. Objects have their apiVersion and kind here."""

    def __init__(self, crd: Object) -> None:
        webhook: Object = crd["spec"]["conversion"]["webhook"]
        self.config: Object = webhook["clientConfig"]
        accepted: Sequence[str] = webhook.get("conversionReviewVersions") or ()
        self._review = next((one for one in accepted if one in REVIEWS), REVIEWS[0])

    def review(self, objects: Sequence[Object], api_version: str, uid: str) -> Object:
        """The ConversionReview for the conversion of objects to a version."""
        return {
            "kind": "ConversionReview",
            "apiVersion": f"apiextensions.k8s.io/{self._review}",
            "request": {"uid": uid, "desiredAPIVersion": api_version, "objects": list(objects)},
        }

    def converted(
        self, objects: Sequence[Object], api_version: str, uid: str, document: Any, problem: str
    ) -> list[Object]:
        """The converted objects in a webhook's response. Raises 500 if there is none, or if it is invalid."""
        first = objects[0]
        subject = f"conversion webhook for {first['apiVersion']}, Kind={first['kind']}"
        if problem:
            raise _refused(f"{subject} failed: {problem.removeprefix('failed to call webhook: ')}")
        found = self._answers(document, uid, f"{subject} failed: ")
        if len(found) != len(objects):
            raise _refused(f"{subject} returned {len(found)} objects, expected {len(objects)}")
        return [
            _checked(obj, made, api_version, subject, index)
            for index, (obj, made) in enumerate(zip(objects, found, strict=True))
        ]

    def _answers(self, document: Any, uid: str, prefix: str) -> list[Any]:
        """The objects in the response of a review (`getConvertedObjectsFromResponse`)."""
        response = document.get("response") if isinstance(document, dict) else None
        if self._review == "v1":
            wanted = "apiextensions.k8s.io/v1, Kind=ConversionReview"
            given = document if isinstance(document, dict) else {}
            got = f"{given.get('apiVersion') or '/'}, Kind={given.get('kind') or ''}"
            if got != wanted:
                raise _refused(f"{prefix}expected webhook response of {wanted}, got {got}")
        if not isinstance(response, dict):
            raise _refused(f"{prefix}no response provided")
        if self._review == "v1" and response.get("uid") != uid:
            got = go_quote(str(response.get("uid") or ""))
            raise _refused(f"{prefix}expected response.uid={go_quote(uid)}, got {got}")
        result = response.get("result") or {}
        if result.get("status") != "Success":
            why = result.get("message") or f"response.result.status was '{result.get('status') or ''}', not 'Success'"
            raise _refused(f"{prefix}{why}")
        return response.get("convertedObjects") or []


def _refused(message: str) -> StatusError:
    return StatusError(500, "", message)


def _checked(obj: Object, made: Any, api_version: str, subject: str, index: int) -> Object:
    """A converted object with the metadata of the original, except for labels and annotations. Raises 500."""
    given = made if isinstance(made, dict) else {}
    invalid = f"{subject} returned invalid object"
    found, kind = given.get("apiVersion") or "/", given.get("kind") or ""
    if found != api_version:
        raise _refused(f"{invalid} at index {index}: invalid groupVersion (expected {api_version}, received {found})")
    if kind != obj["kind"]:
        raise _refused(f"{invalid} at index {index}: invalid kind (expected {obj['kind']}, received {kind})")
    meta = given.get("metadata")
    for key, shown in (("name", "name"), ("namespace", "namespace"), ("uid", "UID")):
        before, after = obj["metadata"].get(key) or "", (meta if isinstance(meta, dict) else {}).get(key) or ""
        if before != after:
            raise _refused(f"{invalid}: must have the same {shown}: {before} != {after}")
    try:
        changed = _metadata(given, obj["metadata"])
    except ValueError as problem:
        raise _refused(f"{subject} returned invalid metadata: {problem}") from None
    kept = {key: value for key, value in obj["metadata"].items() if key not in _CHANGEABLE}
    return {**given, "metadata": kept | changed}


def _metadata(made: Object, before: Object) -> Object:
    """The labels and annotations of a converted object (`restoreObjectMeta`). Raises ValueError."""
    if "metadata" not in made:
        raise ValueError("missing metadata in converted object")
    meta = made["metadata"]
    if not isinstance(meta, dict):
        raise ValueError(f"invalid metadata of type {goprint.type_of(meta)} in converted object")
    kept: Object = {}
    for field, check in (("labels", label_errors), ("annotations", annotation_errors)):
        values = meta.get(field)
        if values is None:
            continue
        if not isinstance(values, dict):
            raise ValueError(f"invalid metadata.{field} of type {goprint.type_of(values)} in converted object")
        for key, value in values.items():
            if not isinstance(value, str):
                what = goprint.type_of(value)
                raise ValueError(f"metadata.{field}[{key}] must be a string, but is {what} in converted object")
        if values != (before.get(field) or {}):
            problems = [str(one) for one in check(values, f"metadata.{field}")]
            if problems:
                raise ValueError(together(problems))
        kept[field] = values
    return kept
