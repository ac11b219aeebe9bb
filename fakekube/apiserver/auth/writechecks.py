"""Validation of writes that depends on the user's permissions or on the namespace (`registry/resource/utils.go`,
`registry/admissionregistration/*/authz.go`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from fakekube.apiserver.auth import escalation, rbac
from fakekube.apiserver.resource import Object, Resource
from fakekube.apiserver.user import User
from fakekube.apiserver.wire.request import RequestInfo
from fakekube.apiserver.wire.status import FieldError, field_forbidden, forbidden


class Kinds(Protocol):
    """The served kinds."""

    def find_kind(self, api_version: str, kind: str) -> Resource | None: ...


class Server(escalation.Authorizer, Protocol):
    """The parts of the API server that the checks read."""

    @property
    def catalog(self) -> Kinds: ...


class Write(escalation.Write, Protocol):
    """A create or an update."""

    @property
    def server(self) -> Server: ...


Check = Callable[[Write, Object, Object | None], Iterable[FieldError]]


def checked(write: Write, obj: Object, old: Object | None, errors: list[FieldError]) -> list[FieldError]:
    """The errors of an object, given those of its kind's validation; `old` is None for a create."""
    qualified = write.resource.qualified
    first = _BEFORE.get(qualified)
    if first is not None:
        return [*first(write, obj, old), *errors]
    last = None if errors or write.info.subresource else _AFTER.get(qualified)
    if last is None or rbac.SUPERUSERS in write.user.groups:
        return errors
    return list(last(write, obj, old))


# --- admin access to devices -----------------------------------------------------------------------------------------

#: The extra attribute of a service account's user that names the node of its pod.
NODE_NAME = "authentication.kubernetes.io/node-name"

ADMIN_LABEL = "resource.kubernetes.io/admin-access"


def _admin_access(write: Write, obj: Object, old: Object | None) -> Iterator[FieldError]:
    """Admin access is only granted in labeled namespaces (`AuthorizedForAdmin`, `AuthorizedForAdminStatus`)."""
    if write.info.subresource == "status":
        before = _admin_results(old or {})
        path = None if before else next(iter(_admin_results(obj)), None)
    else:
        path = next(iter(_admin_requests(obj)), None) if old is None else None
    if path is None:
        return
    namespace = write.server.store.get("namespaces", write.namespace)
    labels = (namespace.object["metadata"].get("labels") or {}) if namespace is not None else {}
    if labels.get(ADMIN_LABEL) != "true":
        why = f"admin access to devices requires the `{ADMIN_LABEL}: true` label on the containing namespace"
        yield field_forbidden(path, why)


def _admin_requests(obj: Object) -> list[str]:
    """The paths of the requests of a claim or a template that request admin access."""
    spec = obj.get("spec") or {}
    requests = ((spec.get("devices") or (spec.get("spec") or {}).get("devices")) or {}).get("requests") or ()
    granted = [(request.get("exactly") or {}).get("adminAccess") for request in requests]
    return [f"spec.devices.requests[{i}].adminAccess" for i, one in enumerate(granted) if one]


def _admin_results(obj: Object) -> list[str]:
    """The paths of the allocated devices with admin access."""
    allocation = (obj.get("status") or {}).get("allocation") or {}
    results = (allocation.get("devices") or {}).get("results") or ()
    path = "status.allocation.devices.results"
    return [f"{path}[{i}].adminAccess" for i, one in enumerate(results) if one.get("adminAccess")]


# --- status of claims ------------------------------------------------------------------------------------------------

_ASSOCIATED, _ARBITRARY = "associated-node:", "arbitrary-node:"


def _claim(write: Write, claim: Object, old: Object | None) -> Iterator[FieldError]:
    yield from _admin_access(write, claim, old)
    if write.info.subresource == "status" and old is not None:
        after, before = claim.get("status") or {}, old.get("status") or {}
        yield from _binding_access(write, after, before)
        if after.get("allocation") is not None:
            yield from _device_access(write, after, before)


def _binding_access(write: Write, after: Object, before: Object) -> Iterator[FieldError]:
    """Changes of the allocation or the consumers need the permission for `resourceclaims/binding`
    (`AuthorizedForBinding`)."""
    if all((after.get(field) or None) == (before.get(field) or None) for field in ("allocation", "reservedFor")):
        return
    verb = write.info.verb
    denied = _denied(write, verb, "binding", "", "")
    if denied:
        needed = f'requires resource="resourceclaims/binding", verb="{verb}" permission'
        why = f"changing status.allocation or status.reservedFor {needed}: {denied}"
        yield field_forbidden("status.allocation", why)


def _device_access(write: Write, after: Object, before: Object) -> Iterator[FieldError]:
    """Changes of the state of a driver's devices need the permission for `resourceclaims/driver`, either on the node of
    the claim or on any (`AuthorizedForDeviceStatus`)."""
    verbs = [f"{_ARBITRARY}{write.info.verb}"]
    node = _node_of(after["allocation"])
    if node and write.user.name.startswith("system:serviceaccount:") and write.user.extra.get(NODE_NAME) == (node,):
        verbs.insert(0, f"{_ASSOCIATED}{write.info.verb}")
    for driver in sorted(_changed_drivers(after.get("devices") or (), before.get("devices") or ())):
        denials = [_denied(write, verb, "driver", write.namespace, driver) for verb in verbs]
        if all(denials):
            needed = f'requires resource="resourceclaims/driver", verb="[{" ".join(verbs)}]" permission'
            yield field_forbidden("status.devices", f"changing status.devices {needed}: {denials[0]}")


def _denied(write: Write, verb: str, subresource: str, namespace: str, name: str) -> str:
    """The error of a request that the user may not make; "" if the user may."""
    info = replace(write.info, verb=verb, subresource=subresource, namespace=namespace, name=name)
    decision = write.server.decide(write.user, info)
    if decision.allowed:
        return ""
    return forbidden(info.qualified, name, rbac.denied_text(write.user, info, decision.reason)).message


def _node_of(allocation: Object) -> str:
    """The node that an allocation is bound to, if it is a single one."""
    terms: Sequence[Object] = (allocation.get("nodeSelector") or {}).get("nodeSelectorTerms") or ()
    if len(terms) != 1 or terms[0].get("matchExpressions") or len(terms[0].get("matchFields") or ()) != 1:
        return ""
    field: Object = terms[0]["matchFields"][0]
    values: Sequence[str] = field.get("values") or ()
    return values[0] if (field["key"], field["operator"], len(values)) == ("metadata.name", "In", 1) else ""


def _changed_drivers(after: Iterable[Object], before: Iterable[Object]) -> set[str]:
    def by_id(devices: Iterable[Object]) -> dict[tuple[str, ...], Object]:
        return {tuple(one.get(key) or "" for key in ("driver", "pool", "device", "shareID")): one for one in devices}

    new, old = by_id(after), by_id(before)
    return {key[0] for key in new.keys() | old.keys() if new.get(key) != old.get(key)}


# --- parameters of policies ------------------------------------------------------------------------------------------


def _policy(write: Write, policy: Object, old: Object | None) -> Iterator[FieldError]:
    """The user must be allowed to read all objects of the paramKind."""
    kind = policy["spec"].get("paramKind")
    if kind is None or (old is not None and old["spec"].get("paramKind") == kind):
        return
    info, _ = _request(write, kind, "get", "*", "*")
    if not write.server.decide(write.user, info).allowed:
        referenced = f"(kind={kind['kind']}, apiVersion={kind['apiVersion']})"
        what = f'"get" permission on all objects of the referenced paramKind {referenced}'
        yield field_forbidden("spec.paramKind", f"user {shown_user(write.user)} must have {what}")


def _request(write: Write, kind: Object, verb: str, namespace: str, name: str) -> tuple[RequestInfo, bool]:
    """The request for the objects of a paramKind, and whether the kind is served."""
    group, _, version = kind["apiVersion"].rpartition("/")
    found = write.server.catalog.find_kind(kind["apiVersion"], kind["kind"])
    plural = found.plural if found is not None else "*"
    info = RequestInfo(
        verb, "", is_resource=True, group=group, version=version, namespace=namespace, resource=plural, name=name
    )
    return info, found is not None


def _binding(policies: str, *, swapped: bool) -> Check:
    """The user must be allowed to read the parameters of a binding. `policies`: the collection of its policy.

    `swapped`: the message has the user and the verb in each other's place, as that of mutating policies has.
    """

    def check(write: Write, binding: Object, old: Object | None) -> Iterator[FieldError]:
        spec = binding["spec"]
        ref = spec.get("paramRef")
        if ref is None:
            return
        name, namespace = ref.get("name") or "", ref.get("namespace") or ""
        verb = "get" if name else "list"
        policy = write.server.store.get(policies, spec["policyName"])
        kind = policy.object["spec"].get("paramKind") if policy is not None else None
        if kind is not None:
            info, served = _request(write, kind, verb, namespace, name)
        else:
            info = RequestInfo(
                verb, "", is_resource=True, group="*", version="*", namespace=namespace, resource="*", name=name
            )
        if write.server.decide(write.user, info).allowed:
            return
        user = shown_user(write.user)
        everything = f'and user {user} does not have "{verb}" permission for all groups, versions and resources'
        why = f'user {user} does not have "{verb}" permission on the object referenced by paramRef'
        if policy is None:
            why = f"unable to get policy {spec['policyName']} to determine minimum required permissions {everything}"
        elif kind is not None and not served:
            shown = f"&{{{kind['apiVersion']} {kind['kind']}}}"
            why = f"unable to resolve paramKind {shown} to determine minimum required permissions {everything}"
        elif swapped:
            why = f'user {verb} does not have "{user}" permission on the object referenced by paramRef'
        yield field_forbidden("spec.paramRef", why)

    return check


def shown_user(user: User) -> str:
    """A user as Go prints the pointer to a `user.DefaultInfo`."""
    extra = " ".join(f"{key}:[{' '.join(values)}]" for key, values in sorted((user.extra or {}).items()))
    return f"&{{{user.name} {user.uid} [{' '.join(user.groups)}] map[{extra}]}}"


_GROUP = "admissionregistration.k8s.io"

#: Checks whose errors precede those of the kind's validation.
_BEFORE: Mapping[str, Check] = {
    "resourceclaims.resource.k8s.io": _claim,
    "resourceclaimtemplates.resource.k8s.io": _admin_access,
}

#: Checks of valid objects, which superusers need not pass.
_AFTER: Mapping[str, Check] = {
    f"validatingadmissionpolicies.{_GROUP}": _policy,
    f"mutatingadmissionpolicies.{_GROUP}": _policy,
    f"validatingadmissionpolicybindings.{_GROUP}": _binding(f"validatingadmissionpolicies.{_GROUP}", swapped=False),
    f"mutatingadmissionpolicybindings.{_GROUP}": _binding(f"mutatingadmissionpolicies.{_GROUP}", swapped=True),
}
