"""Deletes the content of a namespace (`pkg/controller/namespace/deletion`).

Pods go first, and the rest when there are none. What stays, and why, is written in the conditions of the namespace.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from controllerlib import ApiError, Client
from controllerlib.client import is_not_found
from fakekube.controllers.core.namespaceconditions import Findings, new_conditions, updated_conditions
from fakekube.controllers.servedresources import ServedResource, served_resources
from fakekube.controllers.workload.podstate import is_terminal, time_of, timestamp
from fakekube.struct import Struct, field

_log = logging.getLogger(__name__)

#: Seconds in which finalizers are expected to be removed.
FINALIZER_ESTIMATE = 15

Object = Mapping[str, Any]


class UnexpectedContent(Exception):
    """Objects stay although they were deleted and nothing holds them."""


class ContentFailure(Exception):
    """The content could not be deleted; it is tried again."""


class Remaining(Struct, frozen=True):
    """What is left of a resource. `estimate`: the seconds until it is expected to be gone."""

    estimate: int = 0
    number: int = 0
    finalizers: Mapping[str, int] = field(default_factory=dict)
    problem: Exception | None = None


class NamespaceContent:
    """Deletes the objects of all resources in a namespace. `now`: the present time."""

    def __init__(self, client: Client, now: Callable[[], datetime]) -> None:
        self._client, self._now = client, now

    async def delete(self, namespace: Object) -> int:
        """Delete everything that can be, and write the conditions of the namespace.

        Returns the seconds until what is left is expected to be gone, 0 if nothing is. Raises ContentFailure, ApiError.
        """
        served = await served_resources(self._client)
        deletable = [one for one in served.supporting("delete") if one.namespaced]
        findings = Findings(discovery=served.problem)
        pods = [one for one in deletable if (one.api_version, one.plural) == ("v1", "pods")]
        estimate = await self._delete_each(pods, namespace, findings)
        if findings.remaining:
            findings = Findings(findings.discovery, findings.failures)  # what remains is not written yet
        else:
            rest = [one for one in deletable if one not in pods]
            estimate = max(estimate, await self._delete_each(rest, namespace, findings))
        await self._write(namespace, findings)
        if findings.discovery or findings.failures:
            raise ContentFailure(", ".join([*filter(None, [findings.discovery]), *findings.failures]))
        return estimate

    async def _delete_each(self, resources: Iterable[ServedResource], namespace: Object, findings: Findings) -> int:
        estimate = 0
        for resource in resources:
            left = await self._delete_all(resource, namespace)
            if left.problem is not None:
                findings.failures.append(str(left.problem))
            estimate = max(estimate, left.estimate)
            if left.number:
                findings.remaining[f"{resource.plural}.{resource.group}"] = left.number
                findings.finalizers.update(left.finalizers)
        return estimate

    async def _delete_all(self, resource: ServedResource, namespace: Object) -> Remaining:
        """Delete the objects of a resource (deleteAllContentForGroupVersionResource)."""
        name, estimate = namespace["metadata"]["name"], 0
        try:
            estimate = await self._estimate(resource, namespace)
            await self._delete_collection(resource, name)
            left = await self._list(resource, name)
        except (ApiError, OSError) as error:
            return Remaining(estimate, problem=error)
        if not left:
            return Remaining(estimate if "list" not in resource.verbs else 0)
        finalizers = Counter(one for obj in left for one in obj["metadata"].get("finalizers") or ())
        if not estimate and not finalizers:
            gvr = f"{resource.group}/{resource.version}, Resource={resource.plural}"
            problem = UnexpectedContent(f"unexpected items still remain in namespace: {name} for gvr: {gvr}")
            return Remaining(0, len(left), problem=problem)
        return Remaining(estimate or FINALIZER_ESTIMATE, len(left), finalizers)

    async def _estimate(self, resource: ServedResource, namespace: Object) -> int:
        """The longest grace period of the running pods, 0 if it has passed since the deletion of the namespace."""
        if (resource.group, resource.plural) != ("", "pods"):
            return 0
        pods = await self._client.list("v1", "Pod", namespace["metadata"]["name"])
        periods = [pod["spec"].get("terminationGracePeriodSeconds") or 0 for pod in pods if not is_terminal(pod)]
        longest = max(periods, default=0)
        deleted = time_of(namespace["metadata"]["deletionTimestamp"])
        return 0 if (self._now() - deleted).total_seconds() >= longest else longest

    async def _delete_collection(self, resource: ServedResource, namespace: str) -> None:
        """Delete all objects of a resource at once, or one by one if it does not support that."""
        api_version, kind = resource.api_version, resource.kind
        if "deletecollection" in resource.verbs:
            try:
                await self._client.delete_collection(api_version, kind, namespace, propagation="Background")
                return
            except ApiError as error:
                if not _is_unsupported(error):
                    raise
        for obj in await self._list(resource, namespace):
            try:
                await self._client.delete(
                    api_version, kind, obj["metadata"]["name"], namespace, propagation="Background"
                )
            except ApiError as error:
                if not _is_unsupported(error):
                    raise

    async def _list(self, resource: ServedResource, namespace: str) -> Sequence[Object]:
        if "list" not in resource.verbs:
            return ()
        try:
            return await self._client.list(resource.api_version, resource.kind, namespace)
        except ApiError as error:
            if _is_unsupported(error):
                return ()
            raise

    async def _write(self, namespace: Object, findings: Findings) -> None:
        """Write the conditions if they have changed. A failure is only logged: the deletion goes on."""
        status = namespace.get("status") or {}
        before = status.get("conditions") or []
        after = updated_conditions(before, new_conditions(findings), timestamp(self._now()))
        if after == before:
            return
        try:
            await self._client.update_status({**namespace, "status": {**status, "conditions": after}})
        except ApiError as error:
            _log.warning("could not update the conditions of a namespace", extra={"error": str(error)})


def _is_unsupported(error: ApiError) -> bool:
    return error.reason == "MethodNotAllowed" or is_not_found(error)
