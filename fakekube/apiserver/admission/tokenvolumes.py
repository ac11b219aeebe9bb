"""Gives pods their service account, with its token and its pull secrets (plugin ServiceAccount)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from fakekube.apiserver.admission.refusal import refused
from fakekube.apiserver.auth.podreferences import is_mirror, secret_names, volumes
from fakekube.apiserver.auth.serviceaccounttoken import EXTENDED
from fakekube.apiserver.call import Call
from fakekube.apiserver.storage.store import path_of
from fakekube.apiserver.wire.status import StatusError

Object = dict[str, Any]

DEFAULT_ACCOUNT = "default"

ENFORCE = "kubernetes.io/enforce-mountable-secrets"

VOLUME_PREFIX = "kube-api-access-"

MOUNT_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"

_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})


def mutate_pod(call: Call, obj: Object, old: Object | None) -> Object:
    """Complete a new pod from its service account. Raises 403 if the account does not exist or the pod may not use it.

    Mirror pods are never changed: a kubelet deletes a mirror pod that differs from its static pod.
    """
    if old is not None or is_mirror(obj):
        validate_pod(call, obj, old)
        return obj
    spec = obj.get("spec") or {}
    name = spec.get("serviceAccountName") or DEFAULT_ACCOUNT
    spec = {**spec, "serviceAccountName": name, "serviceAccount": name}
    account = _account(call, obj, name)
    if _automounts(account, spec):
        spec = _with_token(call, obj, spec)
    if not spec.get("imagePullSecrets") and account.get("imagePullSecrets"):
        spec["imagePullSecrets"] = [{"name": one.get("name", "")} for one in account["imagePullSecrets"]]
    made = {**obj, "spec": spec}
    validate_pod(call, made, old)
    return made


def validate_pod(call: Call, obj: Object, old: Object | None) -> None:
    """Check what a new pod and its service account refer to. Raises 403."""
    if old is not None:
        return
    if is_mirror(obj):
        _check_mirror(call, obj)
        return
    account = _used_account(call, obj)
    if _is_limited(account):
        _check_references(call, obj, account)


def validate_ephemeral_containers(call: Call, obj: Object, old: Object | None) -> None:
    """Check the Secrets that ephemeral containers refer to. Raises 403, 500 as the real plugin does."""
    account = _used_account(call, obj)
    if _is_limited(account):
        containers = (obj.get("spec") or {}).get("ephemeralContainers") or ()
        for problem in _environment_problems("ephemeral container", containers, account):
            raise StatusError(500, "", _not_allowed(problem, obj))


def _used_account(call: Call, obj: Object) -> Object:
    name = (obj.get("spec") or {}).get("serviceAccountName")
    if not name:
        pod = f"{call.namespace}/{obj['metadata'].get('name') or ''}"
        raise refused(call, obj, f"no service account specified for pod {pod}")
    return _account(call, obj, name)


def _account(call: Call, obj: Object, name: str) -> Object:
    """The service account. The real plugin retries for a second if it is `default`, which a controller creates."""
    found = call.server.store.get("serviceaccounts", path_of(call.namespace, name))
    if found is None:
        why = f'error looking up service account {call.namespace}/{name}: serviceaccount "{name}" not found'
        raise refused(call, obj, why)
    return found.object


def _automounts(account: Object, spec: Object) -> bool:
    for one in (spec, account):
        if one.get("automountServiceAccountToken") is not None:
            return bool(one["automountServiceAccountToken"])
    return True


# --- the token volume ------------------------------------------------------------------------------------------------


def _with_token(call: Call, obj: Object, spec: Object) -> Object:
    """The spec with a volume for the token, which containers mount unless they mount another one at its path."""
    present = next((one["name"] for one in volumes(obj) if one.get("name", "").startswith(VOLUME_PREFIX)), "")
    kinds = [kind for kind in ("initContainers", "containers") if spec.get(kind)]
    needed = any(not _mounts_token(one) for kind in kinds for one in spec[kind])
    if not needed:
        return spec
    meta = obj["metadata"]
    key = path_of(call.namespace, meta.get("name") or meta.get("generateName") or "")
    name = present or VOLUME_PREFIX + call.context.suffix(f"pods/{key}/{VOLUME_PREFIX}")
    mount = {"name": name, "readOnly": True, "mountPath": MOUNT_PATH}
    made = dict(spec)
    for kind in kinds:
        made[kind] = [
            one if _mounts_token(one) else {**one, "volumeMounts": [*(one.get("volumeMounts") or ()), mount]}
            for one in spec[kind]
        ]
    if not present:
        made["volumes"] = [*volumes(obj), {"name": name, "projected": _token_source()}]
    return made


def _mounts_token(container: Object) -> bool:
    return any(mount.get("mountPath") == MOUNT_PATH for mount in container.get("volumeMounts") or ())


def _token_source() -> Object:
    namespace = {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}
    certificate = {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}
    return {
        "sources": [
            {"serviceAccountToken": {"expirationSeconds": EXTENDED, "path": "token"}},
            {"configMap": certificate},
            {"downwardAPI": {"items": [namespace]}},
        ],
        "defaultMode": 0o644,
    }


# --- references ------------------------------------------------------------------------------------------------------


def _check_mirror(call: Call, obj: Object) -> None:
    if (obj.get("spec") or {}).get("serviceAccountName"):
        raise refused(call, obj, "a mirror pod may not reference service accounts")
    if any(secret_names(obj)):
        raise refused(call, obj, "a mirror pod may not reference secrets")
    for volume in volumes(obj):
        for source in (volume.get("projected") or {}).get("sources") or ():
            if source.get("serviceAccountToken") is not None:
                raise refused(call, obj, "a mirror pod may not use ServiceAccountToken volume projections")


def _is_limited(account: Object) -> bool:
    """Whether pods may refer to those Secrets only that their service account names."""
    return (account["metadata"].get("annotations") or {}).get(ENFORCE) in _TRUE


def _check_references(call: Call, obj: Object, account: Object) -> None:
    spec = obj.get("spec") or {}
    _raise_first(call, obj, _volume_problems(obj, account))
    _raise_first(call, obj, _environment_problems("init container", spec.get("initContainers") or (), account))
    _raise_first(call, obj, _environment_problems("container", spec.get("containers") or (), account))
    pulled = {one.get("name") for one in account.get("imagePullSecrets") or ()}
    for i, one in enumerate(spec.get("imagePullSecrets") or ()):
        if one.get("name") not in pulled:
            why = f'imagePullSecrets[{i}].name="{one.get("name", "")}" is not allowed because service account '
            raise refused(call, obj, f"{why}{account['metadata']['name']} does not reference that imagePullSecret")


def _volume_problems(obj: Object, account: Object) -> Iterator[str]:
    for volume in volumes(obj):
        if volume.get("secret") is not None:
            name = volume["secret"].get("secretName", "")
            if name not in _mountable(account):
                yield f'volume with secret.secretName="{name}"'


def _environment_problems(kind: str, containers: Sequence[Object], account: Object) -> Iterator[str]:
    allowed = _mountable(account)
    for container in containers:
        for variable in container.get("env") or ():
            reference = (variable.get("valueFrom") or {}).get("secretKeyRef")
            if reference is not None and reference.get("name", "") not in allowed:
                secret = f'referencing secret.secretName="{reference.get("name", "")}"'
                yield f"{kind} {container['name']} with envVar {variable['name']} {secret}"
        for source in container.get("envFrom") or ():
            reference = source.get("secretRef")
            if reference is not None and reference.get("name", "") not in allowed:
                name = reference.get("name", "")
                yield f'{kind} {container["name"]} with envFrom referencing secret.secretName="{name}"'


def _mountable(account: Object) -> set[str]:
    return {one.get("name", "") for one in account.get("secrets") or ()}


def _raise_first(call: Call, obj: Object, problems: Iterator[str]) -> None:
    """Raises 403 for the first reference, if any."""
    for problem in problems:
        raise refused(call, obj, _not_allowed(problem, obj))


def _not_allowed(problem: str, obj: Object) -> str:
    name = (obj.get("spec") or {}).get("serviceAccountName")
    return f"{problem} is not allowed because service account {name} does not reference that secret"
