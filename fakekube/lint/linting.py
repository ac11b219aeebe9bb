"""Gives manifests to a server without a socket, and collects what it says about them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fakekube.apiserver.auth.serviceaccount import user_named
from fakekube.apiserver.user import ADMIN, User
from fakekube.lint.defect import Defect, of_status
from fakekube.server import bootstrap, manifests
from fakekube.server.direct import DirectTransport
from fakekube.server.manifests import Placed
from fakekube.server.process.pacedloop import PacedClock
from fakekube.server.random import SystemRandom
from fakekube.server.runner import ServerRunner

Object = dict[str, Any]

#: The order of kinds: what others depend on, or what judges them, is first.
ORDER = (
    "Namespace", "CustomResourceDefinition", "PriorityClass", "RuntimeClass", "StorageClass", "IngressClass",
    "ValidatingAdmissionPolicy", "MutatingAdmissionPolicy", "ServiceAccount", "ClusterRole", "Role",
    "ClusterRoleBinding", "RoleBinding", "LimitRange", "ResourceQuota", "ConfigMap", "Secret",
    "ValidatingAdmissionPolicyBinding", "MutatingAdmissionPolicyBinding",
)  # fmt: skip

_RANKS = {kind: rank for rank, kind in enumerate(ORDER)}

#: Kinds that would send requests to servers which do not run. They are checked, and not stored.
CALLING = frozenset({"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration", "APIService"})

#: Configuration of tools, which no server takes.
OF_TOOLS = frozenset({"kustomize.config.k8s.io", "helm.sh", "kind.x-k8s.io"})

_WARNING = re.compile(r'299 \S+ "((?:[^"\\]|\\.)*)"')


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to check. `present`: objects that the cluster has, stored as its administrator. `user`: who applies the
    others ("": the administrator). `pods`: whether those of templates are judged."""

    objects: Sequence[Placed]
    present: Sequence[Placed] = ()
    user: str = ""
    pods: bool = True


async def lint(wanted: Wanted, version: str) -> list[Defect]:
    """The defects of the objects on a server of a Kubernetes version."""
    return await _Linter(wanted, version).run()


class _Linter:
    def __init__(self, wanted: Wanted, version: str) -> None:
        clock, random = PacedClock(asyncio.get_running_loop()), SystemRandom()
        mode = "RBAC" if wanted.user else "AlwaysAllow"
        self._server = bootstrap.api_server(clock.now(), random, version=version, authorization_mode=mode)
        self._runner = ServerRunner(self._server, clock, random)
        self._wanted = wanted
        self._defects: list[Defect] = []
        self._places: dict[tuple[str, str], str] = {}

    async def run(self) -> list[Defect]:
        user = user_named(self._wanted.user) if self._wanted.user else ADMIN
        await self._make_namespaces([*self._wanted.present, *self._wanted.objects])
        await self._apply(self._wanted.present, ADMIN)
        await self._apply(self._wanted.objects, user)
        if self._wanted.pods:
            for placed in self._wanted.objects:
                await self._judge_pod(placed)
        return self._defects

    async def _make_namespaces(self, placed: Iterable[Placed]) -> None:
        """Make the namespaces that objects are in and that none of them is: those of a cluster."""
        own = {one.object["metadata"].get("name") for one in placed if _is_namespace(one.object)}
        used = dict.fromkeys((one.object.get("metadata") or {}).get("namespace") for one in placed)
        admin = DirectTransport(self._runner)
        for name in used:
            if isinstance(name, str) and name and name not in own:
                body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
                await admin.request("POST", "/api/v1/namespaces", body=body)

    async def _apply(self, placed: Iterable[Placed], user: User) -> None:
        transport = DirectTransport(self._runner, user=user, headers={"User-Agent": "fakekube-lint"})
        later: list[tuple[Placed, list[Defect]]] = []
        for one in sorted(placed, key=lambda one: _RANKS.get(one.object["kind"], len(ORDER))):
            retry, found = await self._create(one, transport)
            if retry:
                later.append((one, found))
            else:
                self._defects += found
        for one, _ in later:
            _, found = await self._create(one, transport)
            self._defects += found

    async def _create(self, placed: Placed, transport: DirectTransport) -> tuple[bool, list[Defect]]:
        """Create an object: whether another try may succeed, as its kind may come later, and what is wrong."""
        obj, at = placed.object, _place(placed)
        kind, api_version = obj["kind"], obj["apiVersion"]
        if api_version.partition("/")[0] in OF_TOOLS:
            return False, [replace(at, level="skipped", message=f"{api_version} is configuration of a tool")]
        resource = self._server.catalog.find_kind(api_version, kind)
        if resource is None:
            problem = manifests.no_kind(api_version, kind, list(self._server.catalog.resources()))
            return True, [replace(at, message=problem.removeprefix("the cluster has "))]
        meta = obj.get("metadata") or {}
        path = manifests.collection_path(resource, meta.get("namespace") or "default")
        skipped = kind in CALLING
        query = [("fieldValidation", "Strict"), *([("dryRun", "All")] if skipped else [])]
        code, headers, body = await transport.request("POST", path, query=query, body=obj)
        judged = self._wanted.pods and _template(obj) is not None  # its pod is, of which a warning warns already
        texts = (text for text in _warnings(headers) if not (judged and text.startswith("would violate PodSecurity")))
        found = [replace(at, level="warning", message=text) for text in texts]
        if code < 300:
            if skipped:
                found.append(replace(at, level="skipped", message="it is not called: nothing runs that it names"))
            elif meta.get("name"):
                self._places[path, meta["name"]] = placed.where
                await self._count_quota(f"{path}/{meta['name']}", obj)
            return False, found
        if code == 409 and body.get("reason") == "AlreadyExists":
            first = self._places.get((path, meta.get("name", "")))
            if first is None:  # an object of every cluster
                return False, found
            return False, [*found, replace(at, level="warning", message=f"it is defined already: {first}")]
        return False, [*found, *of_status(at, body)]

    async def _count_quota(self, path: str, obj: Object) -> None:
        """Write the status of a quota, as its controller does: without one, it limits nothing yet."""
        if (obj["apiVersion"], obj["kind"]) != ("v1", "ResourceQuota"):
            return
        hard = (obj.get("spec") or {}).get("hard") or {}
        headers = {"Content-Type": "application/merge-patch+json"}
        body = {"status": {"hard": hard, "used": dict.fromkeys(hard, "0")}}
        await DirectTransport(self._runner).request("PATCH", f"{path}/status", headers=headers, body=body)

    async def _judge_pod(self, placed: Placed) -> None:
        """Create, as a dry run, a pod of the template of an object, as its controller would."""
        template = _template(placed.object)
        if template is None:
            return
        meta = placed.object.get("metadata") or {}
        made = {name: value for name, value in (template.get("metadata") or {}).items() if name in _OF_PODS}
        made["generateName"] = f"{meta.get('name', 'pod')}-"
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": made, "spec": template.get("spec")}
        namespace = meta.get("namespace") or "default"
        transport = DirectTransport(self._runner, headers={"User-Agent": "fakekube-lint"})
        query = [("dryRun", "All")]
        code, _, body = await transport.request("POST", f"/api/v1/namespaces/{namespace}/pods", query=query, body=pod)
        if code == 403:  # what is invalid in a template, the object's own validation says
            at = _place(placed)
            self._defects.append(replace(at, field="pod", message=_without_name(str(body.get("message", body)))))


_OF_PODS = ("labels", "annotations")


def _without_name(message: str) -> str:
    """A message without the name of the pod, which is generated."""
    return re.sub(r'^pods "[^"]*" is ', "", message)


def _template(obj: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The template of the pods of an object, if it has any."""
    spec = obj.get("spec")
    if isinstance(spec, dict) and obj["kind"] == "CronJob":
        job = spec.get("jobTemplate")
        spec = job.get("spec") if isinstance(job, dict) else None
    template = spec.get("template") if isinstance(spec, dict) else None
    is_of_pods = isinstance(template, dict) and isinstance((template.get("spec") or {}).get("containers"), list)
    return template if is_of_pods and obj["apiVersion"] in ("apps/v1", "batch/v1", "v1") else None


def _is_namespace(obj: Object) -> bool:
    return (obj["apiVersion"], obj["kind"]) == ("v1", "Namespace") and isinstance(obj.get("metadata"), dict)


def _place(placed: Placed) -> Defect:
    file, _, line = placed.where.rpartition(":")
    meta = placed.object.get("metadata") or {}
    name = meta.get("name") or meta.get("generateName") or ""
    return Defect(file, int(line), f"{placed.object['kind']}/{name}", "", "")


def _warnings(headers: Mapping[str, str]) -> Iterator[str]:
    for text in _WARNING.findall(headers.get("Warning", "")):
        yield re.sub(r"\\(.)", r"\1", text)
