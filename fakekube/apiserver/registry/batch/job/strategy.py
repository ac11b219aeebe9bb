"""Job."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.registry.batch.job import status, validation
from fakekube.apiserver.registry.batch.job.table import PRINTER
from fakekube.apiserver.registry.batch.job.warnings import of_job, of_spec
from fakekube.apiserver.registry.core.pod.defaults import default_template
from fakekube.apiserver.registry.core.pod.disabledfields import drop_disabled_in
from fakekube.apiserver.registry.core.podtemplate.status import with_labels_of_template
from fakekube.apiserver.registry.core.podtemplate.warnings import where_changed
from fakekube.apiserver.registry.generic.gatedfields import GatedFields
from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.validation.rules import update_validator, validator

Object = dict[str, Any]

MAX_INT32 = 2**31 - 1


def default_job(obj: Object) -> None:
    spec = obj.setdefault("spec", {})
    if spec.get("completions") is None and spec.get("parallelism") is None:
        spec["completions"] = 1
    spec.setdefault("parallelism", 1)
    spec.setdefault("backoffLimit", MAX_INT32 if spec.get("backoffLimitPerIndex") is not None else 6)
    spec.setdefault("completionMode", "NonIndexed")
    spec.setdefault("suspend", False)
    spec.setdefault("manualSelector", False)
    failing = spec.get("podFailurePolicy") is not None
    spec.setdefault("podReplacementPolicy", "Failed" if failing else "TerminatingOrFailed")
    template = spec.get("template") or {}
    labels = (template.get("metadata") or {}).get("labels")
    if labels and not obj["metadata"].get("labels"):
        obj["metadata"]["labels"] = labels  # shared, as in Go: labels that are added to the template are the Job's, too
    default_failure_policy(spec)
    default_template(template)


def default_failure_policy(spec: Object) -> None:
    for rule in (spec.get("podFailurePolicy") or {}).get("rules") or ():
        for pattern in rule.get("onPodConditions") or ():
            if not pattern.get("status"):  # it is a required field in earlier versions
                pattern["status"] = "True"


JOB_LABELS = ("batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name", "controller-uid", "job-name")


def prepare_job(obj: Object) -> Object:
    """Unless `manualSelector` is set, a Job selects by its uid, and its pods have uid and name as labels
    (`generateSelector`)."""
    spec = dict(obj["spec"])
    if spec.get("manualSelector"):
        return obj
    uid, name = obj["metadata"]["uid"], obj["metadata"].get("name") or ""
    template = dict(spec.get("template") or {})
    meta = dict(template.get("metadata") or {})
    own = dict(zip(JOB_LABELS, (uid, name, uid, name), strict=True))
    meta["labels"] = {**own, **(meta.get("labels") or {})}
    selector = dict(spec.get("selector") or {})
    selector["matchLabels"] = {JOB_LABELS[0]: uid, **(selector.get("matchLabels") or {})}
    labels = obj["metadata"].get("labels")
    shared = not labels or labels is ((spec.get("template") or {}).get("metadata") or {}).get("labels")
    labelled = {**obj["metadata"], "labels": dict(meta["labels"]) if shared else labels}
    spec |= {"template": {**template, "metadata": meta}, "selector": selector}
    return {**obj, "metadata": labelled, "spec": spec}


def has_labels_of_read(job: Object) -> bool:
    """The labels of a template that are set after those of the Job was defaulted are the labels of the Job when it is
    read."""
    return set(job["metadata"].get("labels") or ()) == set(JOB_LABELS)


_GATED = GatedFields(
    ("JobManagedBy", ("spec.managedBy",)),
    ("JobSuccessPolicy", ("spec.successPolicy",)),
    ("JobBackoffLimitPerIndex", ("spec.backoffLimitPerIndex", "spec.maxFailedIndexes")),
    ("JobPodReplacementPolicy", ("spec.podReplacementPolicy",)),
)


KIND = Kind(
    "jobs.batch",
    Strategy(
        stored_incomplete=has_labels_of_read,
        default_propagation="Orphan",
        delete_warning=(
            "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove "
            "them or set propagationPolicy=Orphan to suppress this warning"
        ),
        generation=("spec",),
        default=default_job,
        drop_disabled=drop_disabled_in("spec", "template", "spec", gated=_GATED),
        prepare_create=prepare_job,
        prepare_status_update=with_labels_of_template,
        fields_message="Job",
        fields={"status.successful": lambda o: str((o.get("status") or {}).get("succeeded", 0))},
        validate=validator(validation.validate),
        warnings=of_job,
        update_warnings=where_changed(of_spec),
        validate_update=update_validator(validation.validate_update),
        validate_status_update=update_validator(status.validate_status_update),
    ),
    printer=PRINTER,
)
