"""Content negotiation (`apiserver/pkg/endpoints/handlers/negotiation`, and the check of go-restful)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fakekube.apiserver.resource import Resource
from fakekube.apiserver.wire.codec import JSON, PROTOBUF, YAML
from fakekube.apiserver.wire.request import Request, RequestInfo
from fakekube.apiserver.wire.status import StatusError, not_acceptable

ACCEPTED = f"{JSON}, {YAML}, {PROTOBUF}"
STREAMS = f"{JSON};stream=watch, {PROTOBUF};stream=watch"


@dataclass(frozen=True, slots=True)
class Representation:
    """A media type, and the shape of the object (`as`: Table, PartialObjectMetadata; "": the object itself)."""

    media_type: str = JSON
    shape: str = ""
    shape_version: str = ""


PLAIN = Representation()


@dataclass(frozen=True, slots=True)
class Clause:
    """One clause of an Accept header. `media_type` may contain wildcards."""

    media_type: str
    parameters: dict[str, str]

    @property
    def shape(self) -> tuple[str, str, str] | None:
        """The requested conversion of the object (group, version, kind); None if none is requested."""
        values = self.parameters
        if not values.keys() & {"g", "v", "as"}:
            return None
        return values.get("g", ""), values.get("v", ""), values.get("as", "")

    @property
    def taken(self) -> Sequence[str]:
        """The supported media types that the clause accepts, in the server's order."""
        kind, _, subtype = self.media_type.partition("/")
        if subtype == "*":
            return (JSON, YAML) if kind in ("*", "application") else ()
        return (self.media_type,) if self.media_type in (JSON, YAML) else ()

    def fits(self, media: str) -> bool:
        """Whether the media type supports the other parameters: only JSON has a stream, of the schema `watch`."""
        stream = self.parameters.get("stream", "")
        return (not stream or (stream == "watch" and media == JSON)) and not self.parameters.get("sv")


def clauses(accept: str) -> list[Clause]:
    """The clauses of an Accept header by quality; among equals, wildcards come last."""
    found: list[tuple[tuple[float, bool, bool, int], Clause]] = []
    for i, part in enumerate(accept.split(",")):
        media, *parameters = (piece.strip() for piece in part.split(";"))
        media = "*/*" if media == "*" else media.lower()
        kind, slash, subtype = media.partition("/")
        if not slash:
            continue
        values = {key.strip(): value.strip() for key, _, value in (one.partition("=") for one in parameters) if value}
        try:
            quality = float(values.pop("q", "1"))
        except ValueError:
            quality = 0.0
        found.append(((-quality, kind == "*", subtype == "*", i), Clause(media, values)))
    return [clause for _, clause in sorted(found, key=lambda row: row[0])]


def negotiate(accept: str | None, *, restful: bool, listing: bool, shapes: frozenset[str]) -> Representation:
    """The first supported representation in the client's order. Raises 406 if there is none.

    `restful`: go-restful serves the path and rejects unknown media types with its own message. `listing`: the path also
    supports streams. `shapes`: the supported values of `as`.
    """
    if not accept or accept == "*/*" or accept == JSON:
        return PLAIN
    wanted = clauses(accept)
    if restful and not any(c.media_type in (JSON, YAML, PROTOBUF, "*/*") for c in wanted):
        raise refuse_all(listing)
    for clause in wanted:
        for media in clause.taken:
            found = _representation(clause, media, shapes)
            if found is not None:
                return found
    raise refuse_known()


def _representation(clause: Clause, media: str, shapes: frozenset[str]) -> Representation | None:
    if not clause.fits(media):
        return None
    shape = clause.shape
    if shape is None:
        return Representation(media)
    group, version, kind = shape
    if kind not in shapes or group != "meta.k8s.io" or version not in ("v1", "v1beta1"):
        return None
    return Representation(media, kind, version)


def refusal_media_type(accept: str | None) -> str:
    """The media type of a Status: that of the response, or JSON if that is not supported."""
    if not accept or "yaml" not in accept:
        return JSON
    for clause in clauses(accept):
        for media in clause.taken:
            if clause.fits(media):
                return media
    return JSON


def aggregated_version(accept: str | None, served: Sequence[str]) -> str:
    """The version of aggregated discovery that a client requests among `served`; "" if it requests none."""
    if not accept or "APIGroupDiscoveryList" not in accept:
        return ""
    for clause in clauses(accept):
        group, version, kind = clause.shape or ("", "", "")
        wanted = group == "apidiscovery.k8s.io" and kind == "APIGroupDiscoveryList" and version in served
        if wanted and JSON in clause.taken and clause.fits(JSON):
            return version
    return ""


#: User agents of interactive programs (`negotiation.isPrettyPrint`).
_READERS = ("curl", "Wget", "Mozilla/5.0")
_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})


def is_pretty(request: Request) -> bool:
    """Whether JSON is indented: if the client requests it or is an interactive program."""
    asked = request.option("pretty")
    return asked in _TRUE if asked else request.user_agent.startswith(_READERS)


def refuse_all(listing: bool) -> StatusError:
    available = f"{ACCEPTED}, {STREAMS}" if listing else ACCEPTED
    return not_acceptable(f"406: Not Acceptable\n\nAvailable representations: {available}", {})


def refuse_known() -> StatusError:
    return not_acceptable(f"only the following media types are accepted: {ACCEPTED}")


def refuse_stream() -> StatusError:
    """406 of a watch that is not supported in the negotiated representation."""
    return not_acceptable(f"only the following media types are accepted: {STREAMS}")


def check_shape_fits(
    representation: Representation, info: RequestInfo, resource: Resource, *, unstructured: bool
) -> None:
    """Raises 406 if a list is requested as the metadata of one object, or an object as that of a list."""
    shape = representation.shape
    if not shape:
        return
    listing = info.verb in ("list", "deletecollection")
    go_type = (
        "unstructured.Unstructured" if unstructured else f"{resource.group.partition('.')[0] or 'core'}.{resource.kind}"
    )
    if shape == "PartialObjectMetadata" and listing:
        raise not_acceptable(f"you requested {shape}, but the requested object is a list (*{go_type}List)")
    if shape == "PartialObjectMetadataList" and not listing:
        raise not_acceptable(f"you requested {shape}, but the requested object is not a list (*{go_type})")
