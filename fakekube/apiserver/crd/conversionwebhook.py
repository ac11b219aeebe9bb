"""Conversion of custom resources from one version to another (`apiextensions-apiserver/pkg/apiserver/conversion`).

With the strategy None versions differ in their apiVersion alone. A webhook is asked once for every content and every
version, and what it said is remembered as long as its definition stands: whoever shows an object only looks it up, and
where nothing is known `Unconverted` tells what is to be asked. What only the server writes into metadata is no content:
a webhook may change labels and annotations, and nothing else there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from fakekube.apiserver.resource import Object
from fakekube.apiserver.schema.objectmeta import annotation_errors, label_errors
from fakekube.apiserver.storage.watch import NotConverted
from fakekube.apiserver.wire import goprint
from fakekube.apiserver.wire.goprint import go_quote
from fakekube.apiserver.wire.status import StatusError, together

#: Reviews that the server speaks; the first that a definition names is taken.
REVIEWS = ("v1", "v1beta1")

#: How long a webhook may take (seconds).
TIMEOUT = 30

#: So many answers are remembered.
REMEMBERED = 100_000

#: What of metadata a webhook may change.
_CHANGEABLE = ("labels", "annotations")


class Unconverted(NotConverted):
    """Objects that the webhook has not been asked about, all to be converted to one version."""

    def __init__(self, webhook: ConversionWebhook, objects: Sequence[Object], api_version: str) -> None:
        super().__init__(f"{len(objects)} objects to be converted to {api_version}")
        self.webhook, self.objects, self.api_version = webhook, objects, api_version


class ConversionWebhook:
    """The webhook of a definition, and what it has said. Objects have their apiVersion and kind here."""

    def __init__(self, crd: Object) -> None:
        self.name: str = crd["metadata"]["name"]
        webhook: Object = crd["spec"]["conversion"]["webhook"]
        self.config: Object = webhook["clientConfig"]
        spoken: Sequence[str] = webhook.get("conversionReviewVersions") or ()
        self._review = next((one for one in spoken if one in REVIEWS), REVIEWS[0])
        self._said: dict[tuple[str, bytes], Object] = {}

    def converted(self, obj: Object, api_version: str) -> Object:
        """An object in another version. Raises Unconverted."""
        if "name" not in obj["metadata"]:  # nothing but where a watch stands
            return {**obj, "apiVersion": api_version}
        said = self._said.get((api_version, _content(obj)))
        if said is None:
            raise Unconverted(self, [obj], api_version)
        meta = {key: value for key, value in obj["metadata"].items() if key not in _CHANGEABLE}
        return {**said, "metadata": meta | said["metadata"]}

    def review(self, asked: Unconverted, uid: str) -> Object:
        """The question as a document."""
        return {
            "kind": "ConversionReview",
            "apiVersion": f"apiextensions.k8s.io/{self._review}",
            "request": {"uid": uid, "desiredAPIVersion": asked.api_version, "objects": list(asked.objects)},
        }

    def learn(self, asked: Unconverted, uid: str, document: Any, problem: str) -> None:
        """Remember an answer. Raises 500 where there is none, or a wrong one."""
        first = asked.objects[0]
        group_version, kind = first["apiVersion"], first["kind"]
        subject = f"conversion webhook for {group_version}, Kind={kind}"
        if problem:
            raise _refused(f"{subject} failed: {problem.removeprefix('failed to call webhook: ')}")
        found = self._answers(document, uid, f"{subject} failed: ")
        if len(found) != len(asked.objects):
            raise _refused(f"{subject} returned {len(found)} objects, expected {len(asked.objects)}")
        for index, (obj, made) in enumerate(zip(asked.objects, found, strict=True)):
            said = _checked(obj, made, asked.api_version, subject, index)
            while len(self._said) >= REMEMBERED:
                del self._said[next(iter(self._said))]
            self._said[asked.api_version, _content(obj)] = said

    def _answers(self, document: Any, uid: str, prefix: str) -> list[Any]:
        """The objects of a review's response (`getConvertedObjectsFromResponse`)."""
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
            told = result.get("message") or f"response.result.status was '{result.get('status') or ''}', not 'Success'"
            raise _refused(f"{prefix}{told}")
        return response.get("convertedObjects") or []


def _content(obj: Object) -> bytes:
    meta = obj["metadata"]
    kept = {key: meta[key] for key in ("name", "namespace", *_CHANGEABLE) if meta.get(key)}
    return orjson.dumps({**obj, "metadata": kept}, option=orjson.OPT_SORT_KEYS)


def _refused(message: str) -> StatusError:
    return StatusError(500, "", message)


def _checked(obj: Object, made: Any, api_version: str, subject: str, index: int) -> Object:
    """A converted object, its metadata reduced to what a webhook may change. Raises 500."""
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
    return {**{key: value for key, value in given.items() if key != "metadata"}, "metadata": changed}


def _metadata(made: Object, before: Object) -> Object:
    """Labels and annotations of a converted object (`restoreObjectMeta`). Raises ValueError."""
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
