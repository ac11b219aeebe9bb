"""The mapping from kinds to resources, read from discovery."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from controllerlib.client.errors import ApiError, is_not_found
from controllerlib.client.resource import Resource, read_discovery, root


def no_kind_match(api_version: str, kind: str) -> ApiError:
    """Return the error for a kind that is not served (apimachinery: meta.NoKindMatchError)."""
    return ApiError(404, "NoKindMatch", f'no matches for kind "{kind}" in version "{api_version}"')


def is_no_kind_match(error: BaseException) -> bool:
    """Return whether the kind is not served (yet)."""
    return isinstance(error, ApiError) and error.reason == "NoKindMatch"


class RESTMapper:
    """Requests discovery once per apiVersion, and again when a kind is missing, because its CRD may be new.

    Source: apimachinery, meta.RESTMapper.
    """

    def __init__(self, fetch: Callable[[str], Awaitable[Mapping[str, Any]]]) -> None:
        """`fetch` returns the JSON document at a path and raises ApiError."""
        self._fetch = fetch
        self._known: dict[tuple[str, str], Resource] = {}

    async def resource(self, api_version: str, kind: str) -> Resource:
        """Return the resource of a kind; raises ApiError, with reason NoKindMatch if it is not served."""
        known = self._known.get((api_version, kind))
        if known is not None:
            return known
        try:
            document = await self._fetch(root(api_version))
        except ApiError as error:
            if is_not_found(error):
                raise no_kind_match(api_version, kind) from error
            raise
        for resource in read_discovery(api_version, document):
            self._known[api_version, resource.kind] = resource
        try:
            return self._known[api_version, kind]
        except KeyError:
            raise no_kind_match(api_version, kind) from None

    def known(self, api_version: str, kind: str) -> Resource | None:
        """Return the resource if it is in the cache."""
        return self._known.get((api_version, kind))

    def forget(self) -> None:
        """Clear the cache."""
        self._known.clear()
