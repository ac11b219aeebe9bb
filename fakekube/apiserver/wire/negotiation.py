"""Content negotiation (`apiserver/pkg/endpoints/handlers/negotiation`, and the check of go-restful)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from fakekube.apiserver.wire.codec import JSON, PROTOBUF, YAML
from fakekube.apiserver.wire.request import Request
from fakekube.apiserver.wire.status import StatusError, not_acceptable
from fakekube.struct import Struct

#: The supported media types in the server's order, and those of streams.
MEDIA_TYPES = (JSON, YAML, PROTOBUF)
TEXT = "text/plain"
ACCEPTED = f"{JSON}, {YAML}, {PROTOBUF}"
PROTOBUF_STREAM = f"{PROTOBUF};stream=watch"
STREAMS = f"{JSON};stream=watch, {PROTOBUF_STREAM}"


class Representation(Struct, frozen=True):
    """A media type, and the shape of the object (`as`: Table, PartialObjectMetadata; "": the object itself)."""

    media_type: str = JSON
    shape: str = ""
    shape_version: str = ""


PLAIN = Representation()

Shape = tuple[str, str, str]
"""Group, version and kind to which the object is converted."""


class Restrictions(Struct, frozen=True):
    """The representations that an endpoint supports (`EndpointRestrictions`).

    `whole`: the media types of objects that are not converted. `server_version`: the supported value of `sv`.
    """

    whole: frozenset[str] = frozenset(MEDIA_TYPES)
    shapes: frozenset[Shape] = frozenset()
    server_version: str = ""

    def allow(self, media: str, shape: Shape | None) -> bool:
        if shape is None:
            return media in self.whole
        return shape in self.shapes and not (media == PROTOBUF and shape[2] == "Table")


#: Documents that cannot be converted: of discovery, and Status errors.
UNCONVERTED = Restrictions()

_SHAPES = frozenset(
    ("meta.k8s.io", version, kind)
    for version in ("v1", "v1beta1")
    for kind in ("PartialObjectMetadata", "PartialObjectMetadataList", "Table")
)

#: Resources whose objects have a protobuf message, those of them without a table, and others: custom resources.
MESSAGES = Restrictions(shapes=_SHAPES, server_version="v1")
TABLELESS = Restrictions(shapes=frozenset(one for one in _SHAPES if one[2] != "Table"), server_version="v1")
UNSTRUCTURED = Restrictions(frozenset({JSON, YAML}), _SHAPES, "v1")


def aggregated_discovery(versions: Iterable[str]) -> Restrictions:
    """Aggregated discovery in the served versions; other documents are not supported."""
    shapes = frozenset(("apidiscovery.k8s.io", version, "APIGroupDiscoveryList") for version in versions)
    return Restrictions(frozenset(), shapes)


class Clause(Struct, frozen=True):
    """One clause of an Accept header. `media_type` may contain wildcards."""

    media_type: str
    parameters: dict[str, str]
    quality: float = 1.0

    @property
    def shape(self) -> Shape | None:
        """The requested conversion of the object; None if none is requested."""
        values = self.parameters
        if not values.keys() & {"g", "v", "as"}:
            return None
        return values.get("g", ""), values.get("v", ""), values.get("as", "")

    @property
    def taken(self) -> Sequence[str]:
        """The supported media types that the clause accepts, in the server's order."""
        kind, _, subtype = self.media_type.partition("/")
        if subtype == "*":
            return MEDIA_TYPES if kind in ("*", "application") else ()
        return (self.media_type,) if self.media_type in MEDIA_TYPES else ()

    def fits(self, media: str, restrictions: Restrictions) -> bool:
        """Whether the endpoint supports the parameters in a media type. YAML has no streams."""
        stream, version = self.parameters.get("stream", ""), self.parameters.get("sv", "")
        if stream and (stream != "watch" or media == YAML):
            return False
        return version in ("", restrictions.server_version) and restrictions.allow(media, self.shape)

    def precedes(self, other: Clause) -> bool:
        """The order of goautoneg. It is not total: a wildcard of higher quality and a media type precede each other."""
        if self.quality > other.quality:
            return True
        kind, _, subtype = self.media_type.partition("/")
        other_kind, _, other_subtype = other.media_type.partition("/")
        return (kind != "*" and other_kind == "*") or (subtype != "*" and other_subtype == "*")


def clauses(accept: str) -> list[Clause]:
    """The clauses of an Accept header in the client's order (`goautoneg.ParseAccept`).

    Sorted by insertion as Go sorts short slices, because the order is not total.
    """
    found: list[Clause] = []
    for clause in _parsed(accept):
        i = len(found)
        while i and clause.precedes(found[i - 1]):
            i -= 1
        found.insert(i, clause)
    return found


def _parsed(accept: str) -> Iterator[Clause]:
    for part in accept.split(","):
        media, *parameters = part.strip(" ").split(";")
        kind, _, rest = media.partition("/")
        subtype, _, more = rest.partition("/")
        if more or not (rest or kind.strip(" ") == "*"):
            continue
        pairs = (piece.split("=") for piece in parameters)
        values = {pair[0].strip(" "): pair[1].strip(" ") for pair in pairs if len(pair) == 2 and pair[1]}
        yield Clause(f"{kind.strip(' ')}/{subtype.strip(' ') or '*'}", values, _quality(values.pop("q", "1")))


def _quality(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


@lru_cache(maxsize=256)
def choose(accept: str | None, restrictions: Restrictions) -> Representation | None:
    """The first supported representation in the client's order; None if there is none."""
    if not accept:
        return PLAIN
    for clause in clauses(accept):
        for media in clause.taken:
            if clause.fits(media, restrictions):
                _, version, kind = clause.shape or ("", "", "")
                return Representation(media, kind, version)
    return None


def negotiate(
    accept: str | None, restrictions: Restrictions, *, restful: bool, listing: bool = False, log: bool = False
) -> Representation:
    """The first supported representation in the client's order. Raises 406 if there is none.

    `restful`: go-restful serves the path and rejects unknown media types with its own message. `listing`: the path also
    supports streams; `log`: it also produces text, for which errors and options are negotiated nevertheless.
    """
    if not accept or accept in ("*/*", JSON):
        return PLAIN
    if restful and log:
        check_produced(accept, (TEXT, *MEDIA_TYPES), f"{TEXT}, {ACCEPTED}")
    elif restful:
        check_produced(accept, MEDIA_TYPES, f"{ACCEPTED}, {STREAMS}" if listing else ACCEPTED)
    found = choose(accept, restrictions)
    if found is None:
        raise refuse_known()
    return found


def check_produced(accept: str | None, produced: Sequence[str], shown: str) -> None:
    """Raises the 406 of go-restful if no media type of the header is one that the path produces."""
    wanted = {part.partition(";")[0].strip(" ") for part in (accept or "*/*").split(",")}
    if not wanted & {*produced, "*/*"}:
        raise not_acceptable(f"406: Not Acceptable\n\nAvailable representations: {shown}", {})


#: Subresources that connect a client with a backend, which reads the Accept header itself.
CONNECTED = frozenset({"attach", "exec", "portforward", "proxy"})


#: User agents of interactive programs (`negotiation.isPrettyPrint`).
_READERS = ("curl", "Wget", "Mozilla/5.0")
_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})


def is_pretty(request: Request) -> bool:
    """Whether JSON is indented: if the client requests it or is an interactive program."""
    accept = request.headers.get("accept", "")
    if "pretty" in accept and _is_pretty_clause(accept):
        return True
    asked = request.option("pretty") if request.query else None
    return asked in _TRUE if asked else request.user_agent.startswith(_READERS)


def _is_pretty_clause(accept: str) -> bool:
    """Whether the first clause that accepts JSON has the parameter `pretty=1`."""
    chosen = next((one for one in clauses(accept) if JSON in one.taken), None)
    return chosen is not None and chosen.parameters.get("pretty") == "1"


def refuse_known() -> StatusError:
    return not_acceptable(f"only the following media types are accepted: {ACCEPTED}")


def refuse_stream() -> StatusError:
    """406 of a watch that is not supported in the negotiated representation."""
    return not_acceptable(f"only the following media types are accepted: {STREAMS}")
