"""POST `/eviction`: deletes a pod if its disruption budget allows it (`core/pod/storage.EvictionREST`)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fakekube.apiserver import commit
from fakekube.apiserver.call import Call
from fakekube.apiserver.endpoints import ownership
from fakekube.apiserver.endpoints.delete import check_preconditions, delete_entry
from fakekube.apiserver.endpoints.write import Action, read_body
from fakekube.apiserver.features import since
from fakekube.apiserver.resource import Resource
from fakekube.apiserver.response import Document, Response
from fakekube.apiserver.storage.store import Entry
from fakekube.apiserver.wire import codec, selectors
from fakekube.apiserver.wire.options import WriteOptions, delete_options, parse_write_options
from fakekube.apiserver.wire.status import StatusError, bad_request, forbidden, not_found

Object = dict[str, Any]

BUDGETS = "poddisruptionbudgets.policy"

#: The maximum size of `status.disruptedPods` of a budget (`MaxDisruptedPodSize`).
MAX_DISRUPTED = 2000

REFUSED = "Cannot evict pod as it would violate the pod's disruption budget."

#: The condition set on an evicted pod.
CONDITION = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "EvictionByEvictionAPI",
    "message": "Eviction API: evicting",
}

#: The field manager of the status of the budget.
MANAGER = "kube-apiserver"


_EVICTION = Resource(
    group="policy",
    version="v1",
    plural="evictions",
    singular="",
    kind="Eviction",
    list_kind="EvictionList",
    namespaced=True,
    verbs=frozenset(),
    collection="evictions.policy",
)


def _as_eviction(call: Call) -> Call:
    return call.of_kind(call.server.body_registration(_EVICTION))


def _read(call: Call, body: Call, options: WriteOptions) -> Object:
    """Decode the body. An Eviction of policy/v1beta1 is accepted as well, although the version is not served."""
    sent = body.request.body
    if isinstance(sent, bytes) and b"policy/v1beta1" in sent:
        decoded = codec.decode(sent, body.request.headers.get("content-type"), kind="Eviction").object
        if (decoded.get("apiVersion"), decoded.get("kind")) == ("policy/v1beta1", "Eviction"):
            body = replace(body, request=body.request._replace(body={**decoded, "apiVersion": "policy/v1"}))
    return read_body(call, body, options)


def _check(call: Call, eviction: Object) -> None:
    if (eviction["metadata"].get("name") or "") != call.info.name:
        raise bad_request("name in URL does not match name in Eviction object")
    _delete_body(eviction, parse_write_options(call.request, "CreateOptions"))


def evict(call: Call, eviction: Object, options: WriteOptions) -> Response:
    """Delete the pod if its disruption budget allows it. Raises 404, 409, 422, 429."""
    body = _delete_body(eviction, options)
    pod = call.stored()
    if pod is None:
        raise not_found(call.resource.qualified, call.info.name)
    if not _ignores_budgets(pod.object):
        _use_disruption(call, pod.object, dry_run=bool(body.get("dryRun")))
    deletion = delete_options(body, call.request)  # only the deletion validates them
    if not deletion.dry_run:
        check_preconditions(call, deletion, pod)
        marked = _with_target_condition(call, pod)
        if marked is not pod and deletion.resource_version is not None:
            deletion = replace(deletion, resource_version=marked.object["metadata"]["resourceVersion"])
        pod = marked
    delete_entry(call, call.path, pod, deletion)
    status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
    return Response(201, Document(status))


def _delete_body(eviction: Object, options: WriteOptions) -> Object:
    """The deleteOptions of the eviction, with dryRun of the query. Raises 500 if both are set and differ."""
    body = dict(eviction.get("deleteOptions") or {})
    if options.dry_run:
        if body.get("dryRun", ["All"]) != ["All"]:
            sent = " ".join(map(str, body["dryRun"] or ()))
            raise StatusError(500, "", f"Non-matching dry-run options in request and content: [All] and [{sent}]")
        body["dryRun"] = ["All"]
    return body


def _ignores_budgets(pod: Object) -> bool:
    """Terminal, pending and terminating pods ignore disruption budgets (`canIgnorePDB`)."""
    phase = (pod.get("status") or {}).get("phase")
    return phase in ("Succeeded", "Failed", "Pending") or bool(pod["metadata"].get("deletionTimestamp"))


def _budgets(call: Call, pod: Object) -> list[Entry]:
    """The budgets that select the pod; a pod without labels has none."""
    labels = pod["metadata"].get("labels")
    if not labels:
        return []
    found = []
    for _, entry in call.server.store.collection(BUDGETS).scan(f"{call.namespace}/", "", None):
        wanted = (entry.object.get("spec") or {}).get("selector")
        selector = selectors.of_object(wanted) if wanted is not None else None
        if selector is not None and selector.matches(labels):
            found.append(entry)
    return found


def _is_ready(pod: Object) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(one.get("type") == "Ready" and one.get("status") == "True" for one in conditions)


def _use_disruption(call: Call, pod: Object, *, dry_run: bool) -> None:
    """Decrement the disruptions that the pod's budget allows. Raises 403, 429, and 500 for several budgets."""
    budgets = _budgets(call, pod)
    if len(budgets) > 1:
        why = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
        raise StatusError(500, "", why)
    if not budgets or _may_evict_unready(pod, budgets[0].object):
        return
    budget = budgets[0]
    _check_allowed(budget.object)
    changed = _decremented(budget.object, pod["metadata"]["name"], call.context.now)
    _commit_status(call, budget, changed, dry_run=dry_run)


def _may_evict_unready(pod: Object, budget: Object) -> bool:
    """Whether the pod is unready and its budget allows the eviction of unready pods (unhealthyPodEvictionPolicy)."""
    if _is_ready(pod):
        return False
    if (budget.get("spec") or {}).get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    status = budget.get("status") or {}
    desired = status.get("desiredHealthy") or 0
    return desired > 0 and (status.get("currentHealthy") or 0) >= desired


def _check_allowed(budget: Object) -> None:
    name, status = budget["metadata"]["name"], budget.get("status") or {}
    if (status.get("observedGeneration") or 0) < (budget["metadata"].get("generation") or 0):
        raise _refused(f"The disruption budget {name} is still being processed by the server.", retry_after=10)
    allowed = status.get("disruptionsAllowed") or 0
    if allowed < 0:
        raise forbidden("poddisruptionbudget.policy", name, "pdb disruptions allowed is negative")
    if len(status.get("disruptedPods") or ()) > MAX_DISRUPTED:
        why = "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
        raise forbidden("poddisruptionbudget.policy", name, why)
    if allowed == 0:
        raise _refused(_why_none_allowed(name, status))


def _why_none_allowed(name: str, status: Object) -> str:
    current, desired = status.get("currentHealthy") or 0, status.get("desiredHealthy") or 0
    if not since(35):
        return f"The disruption budget {name} needs {desired} healthy pods and has {current} currently"
    for condition in status.get("conditions") or ():
        if condition.get("type") == "DisruptionAllowed" and condition.get("reason") == "SyncFailed":
            why = condition.get("message") or ""
            return f"The disruption budget {name} does not allow evicting pods currently because it failed sync: {why}"
    if current <= desired:
        return f"The disruption budget {name} needs {desired} healthy pods and has {current} currently"
    return f"The disruption budget {name} does not allow evicting pods currently"


def _refused(cause: str, retry_after: int = 0) -> StatusError:
    details: Object = {"causes": [{"reason": "DisruptionBudget", "message": cause}]}
    headers = {}
    if retry_after:
        details["retryAfterSeconds"] = retry_after
        headers["Retry-After"] = str(retry_after)
    return StatusError(429, "TooManyRequests", REFUSED, details, headers=headers)


def _decremented(budget: Object, pod: str, now: str) -> Object:
    """The budget with one allowed disruption less, and with the pod in disruptedPods."""
    status = dict(budget.get("status") or {})
    status["disruptionsAllowed"] = status["disruptionsAllowed"] - 1
    status["disruptedPods"] = {**(status.get("disruptedPods") or {}), pod: now}
    if status["disruptionsAllowed"] == 0:
        condition = {
            "type": "DisruptionAllowed",
            "status": "False",
            "observedGeneration": status.get("observedGeneration") or 0,
            "lastTransitionTime": now,
            "reason": "InsufficientPods",
            "message": "",
        }
        status["conditions"] = with_condition(status.get("conditions") or (), condition)
    return {**budget, "status": status}


def _commit_status(call: Call, budget: Entry, changed: Object, *, dry_run: bool) -> None:
    resource = next(r for r in call.server.catalog.resources() if r.collection == BUDGETS)
    name = budget.object["metadata"]["name"]
    info = replace(call.info, group=resource.group, resource=resource.plural, name=name, subresource="status")
    written = replace(call, info=info, registration=call.server.registration(resource))
    changed = ownership.changed(written, changed, budget.object, _BY_SERVER)
    commit.update(written, BUDGETS, written.path, budget, changed, dry_run=dry_run)


_BY_SERVER = WriteOptions(dry_run=False, field_manager=MANAGER, field_validation="Ignore", force=False)


def _with_target_condition(call: Call, pod: Entry) -> Entry:
    """Set the condition DisruptionTarget on a pod. No manager owns it, because the server writes it internally."""
    status = pod.object.get("status") or {}
    condition = {**CONDITION, "lastProbeTime": None, "lastTransitionTime": call.context.now}
    conditions = with_condition(status.get("conditions") or (), condition)
    obj = {**pod.object, "status": {**status, "conditions": conditions}}
    return commit.update(call, call.resource.collection, call.path, pod, obj, dry_run=False)


def with_condition(conditions: Any, condition: Object) -> list[Object]:
    """The conditions with one of them set; lastTransitionTime changes only if its status changes."""
    found, seen = [], False
    for one in conditions:
        if one.get("type") != condition["type"]:
            found.append(one)
            continue
        seen = True
        same = one.get("status") == condition["status"]
        kept = {"lastTransitionTime": one.get("lastTransitionTime")} if same else {}
        found.append({**condition, **kept})
    return found if seen else [*found, condition]


EVICTION = Action(_check, evict, body=_as_eviction, read=_read)
