"""Creating, patching and deleting pods for a controller, with an Event for each (`controller.RealPodControl`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from controllerlib import ApiError, Client
from controllerlib.record import CoreEventRecorder
from fakekube.apiserver.names import dns_subdomain_problems

Object = Mapping[str, Any]


class PodControl:
    """Writes pods as one controller. Events are about the object that controls them."""

    def __init__(
        self, client: Client, recorder: CoreEventRecorder, on_write: Callable[[Object, Object], None] | None = None
    ) -> None:
        """`on_write` is called with the owner and each pod that was created or patched."""
        self._client, self._recorder, self._on_write = client, recorder, on_write

    async def create(
        self, owner: Object, reference: Object, template: Object, *, generate_name: str = "", name: str = ""
    ) -> Object:
        """Create a pod from a template; returns it. Raises ApiError.

        `reference`: the controller reference to `owner`. `generate_name`: default: the owner's name and a dash.
        """
        pod = pod_from_template(owner, reference, template)
        if name:
            pod["metadata"].pop("generateName")
            pod["metadata"]["name"] = name
        elif generate_name:
            pod["metadata"]["generateName"] = generate_name
        if not pod["metadata"].get("labels"):
            raise ValueError("unable to create pods, no labels")
        try:
            created = await self._client.create(pod)
        except ApiError as error:
            if not is_namespace_terminating(error):
                self._recorder.event(owner, "Warning", "FailedCreate", f"Error creating: {error.message}")
            raise
        if self._on_write is not None:
            self._on_write(owner, created)
        self._recorder.event(owner, "Normal", "SuccessfulCreate", f"Created pod: {created['metadata']['name']}")
        return created

    async def patch(self, owner: Object, pod: Object, patch: Object) -> None:
        """Patch a pod strategically. Raises ApiError."""
        patched = await self._client.patch(pod, patch, type="strategic")
        if self._on_write is not None:
            self._on_write(owner, patched)

    async def delete(self, owner: Object, pod: Object) -> None:
        """Delete a pod. Raises ApiError."""
        name = pod["metadata"]["name"]
        try:
            await self._client.delete("v1", "Pod", name, pod["metadata"]["namespace"])
        except ApiError as error:
            if error.reason != "NotFound":
                self._recorder.event(owner, "Warning", "FailedDelete", f"Error deleting: {error.message}")
            raise
        self._recorder.event(owner, "Normal", "SuccessfulDelete", f"Deleted pod: {name}")


def pod_from_template(owner: Object, reference: Object, template: Object) -> dict[str, Any]:
    """The pod of a template (controller.GetPodFromTemplate)."""
    meta, owned = template.get("metadata") or {}, owner["metadata"]
    found: dict[str, Any] = {
        "generateName": pods_prefix(owned["name"]),
        "namespace": owned["namespace"],
        **{name: dict(meta[name]) for name in ("labels", "annotations") if meta.get(name)},
        "ownerReferences": [dict(reference)],
    }
    if meta.get("finalizers"):
        found["finalizers"] = list(meta["finalizers"])
    return {"apiVersion": "v1", "kind": "Pod", "metadata": found, "spec": dict(template.get("spec") or {})}


def pods_prefix(name: str) -> str:
    """The prefix of the names of an object's pods: with a dash if that is a valid prefix."""
    return name if dns_subdomain_problems(f"{name}-", prefix=True) else f"{name}-"


def is_namespace_terminating(error: ApiError) -> bool:
    """Whether a creation failed because its namespace is being deleted (v1.NamespaceTerminatingCause)."""
    causes = (error.status.get("details") or {}).get("causes") or ()
    return any(cause.get("reason") == "NamespaceTerminating" for cause in causes)
