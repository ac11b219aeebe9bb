"""Which representation to answer in (`apiserver/pkg/endpoints/handlers/negotiation`, and go-restful's own check)."""

from __future__ import annotations

from dataclasses import dataclass

from fakekube.core.codec import JSON, PROTOBUF, YAML
from fakekube.core.request import Request, RequestInfo
from fakekube.core.resource import Resource
from fakekube.core.status import StatusError, not_acceptable

ACCEPTED = f"{JSON}, {YAML}, {PROTOBUF}"
STREAMS = f"{JSON};stream=watch, {PROTOBUF};stream=watch"


@dataclass(frozen=True, slots=True)
class Representation:
    """A media type, and the shape that the client wants the object in (`as`: Table, PartialObjectMetadata; "":
    itself)."""

    media_type: str = JSON
    shape: str = ""
    shape_version: str = ""
    pretty: bool = False


PLAIN = Representation()


@dataclass(frozen=True, slots=True)
class _Clause:
    media_type: str
    parameters: dict[str, str]


def _clauses(accept: str) -> list[_Clause]:
    found: list[tuple[float, int, _Clause]] = []
    for i, part in enumerate(accept.split(",")):
        media, *parameters = (piece.strip() for piece in part.split(";"))
        values = dict(p.split("=", 1) for p in parameters if "=" in p)
        try:
            quality = float(values.pop("q", "1"))
        except ValueError:
            quality = 0.0
        found.append((-quality, i, _Clause(media.lower(), values)))
    return [clause for *_, clause in sorted(found, key=lambda row: row[:2])]


def negotiate(accept: str | None, *, custom: bool, listing: bool, shapes: frozenset[str]) -> Representation:
    """The first representation in the client's order that can be given. Raises 406 where none can.

    `custom`: a custom resource answers (its refusal has other words); `listing`: the path also offers streams;
    `shapes`: what `as` may ask for here.
    """
    if not accept or accept == "*/*" or accept == JSON:
        return PLAIN
    clauses = _clauses(accept)
    if not custom and not any(c.media_type in (JSON, YAML, PROTOBUF, "*/*") for c in clauses):
        raise refuse_all(listing)
    for clause in clauses:
        media = JSON if clause.media_type in ("*/*", "application/*") else clause.media_type
        if media not in (JSON, YAML):
            continue
        shape = clause.parameters.get("as", "")
        if shape:
            known = clause.parameters.get("g") == "meta.k8s.io" and clause.parameters.get("v") in ("v1", "v1beta1")
            if shape not in shapes or not known:
                continue
        elif clause.parameters.get("stream") not in (None, "watch"):
            continue
        return Representation(media, shape, clause.parameters.get("v", ""), False)
    raise refuse_known()


#: Programs that a person sits in front of (`negotiation.isPrettyPrint`).
_READERS = ("curl", "Wget", "Mozilla/5.0")
_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})


def is_pretty(request: Request) -> bool:
    """Whether JSON is to be laid out for a reader: the client asks for it, or is a known program of a person."""
    asked = request.option("pretty")
    return asked in _TRUE if asked else request.user_agent.startswith(_READERS)


def refuse_all(listing: bool) -> StatusError:
    available = f"{ACCEPTED}, {STREAMS}" if listing else ACCEPTED
    return not_acceptable(f"406: Not Acceptable\n\nAvailable representations: {available}", {})


def refuse_known() -> StatusError:
    return not_acceptable(f"only the following media types are accepted: {ACCEPTED}")


def refuse_stream() -> StatusError:
    """A stream cannot be given in the first representation that the client takes."""
    return not_acceptable(f"only the following media types are accepted: {STREAMS}")


def check_shape_fits(representation: Representation, info: RequestInfo, resource: Resource) -> None:
    """A list cannot be shown as one object's metadata, nor the other way round. Raises 406."""
    shape = representation.shape
    listing = info.verb in ("list", "deletecollection")
    go_type = (
        "unstructured.Unstructured"
        if resource.custom
        else f"{resource.group.partition('.')[0] or 'core'}.{resource.kind}"
    )
    if shape == "PartialObjectMetadata" and listing:
        raise not_acceptable(f"you requested {shape}, but the requested object is a list (*{go_type}List)")
    if shape == "PartialObjectMetadataList" and not listing:
        raise not_acceptable(f"you requested {shape}, but the requested object is not a list (*{go_type})")
