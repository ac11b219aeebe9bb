"""What kube-apiserver's strategies and stores say of each built-in kind, whole sets at a time.

The names are those of `pkg/registry/*/*/strategy.go` and `storage.go`; kinds that a set does not name have the other answer.
"""

from collections.abc import Callable
from typing import Any

import pytest

from fakekube.apiserver import versions
from fakekube.apiserver.registry.builtin import KINDS, PRINTERS_BEFORE, STRATEGIES, strategy_of
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.resource import resourceclaim, resourceclaimtemplate

POLICIES = {
    f"{one}.admissionregistration.k8s.io"
    for one in (
        "mutatingadmissionpolicies",
        "mutatingadmissionpolicybindings",
        "mutatingwebhookconfigurations",
        "validatingadmissionpolicies",
        "validatingadmissionpolicybindings",
        "validatingwebhookconfigurations",
    )
}
LEASES = {"leases.coordination.k8s.io", "leasecandidates.coordination.k8s.io"}
EVENTS = {"events", "events.events.k8s.io"}
ROLES = {f"{one}.rbac.authorization.k8s.io" for one in ("clusterroles", "clusterrolebindings", "roles", "rolebindings")}
SINCE_1_37 = {
    "devicetaintrules.resource.k8s.io",
    "podcertificaterequests.certificates.k8s.io",
    "storageversionmigrations.storagemigration.k8s.io",
}
PLAIN_FINALIZERS = {
    *POLICIES,
    *LEASES,
    "apiservices.apiregistration.k8s.io",
    "events",
    "poddisruptionbudgets.policy",
    "runtimeclasses.node.k8s.io",
}
CREATED_BY_PUT = {*LEASES, *EVENTS, *ROLES, "endpoints", "limitranges", "services", "runtimeclasses.node.k8s.io"}
WITHOUT_UNCONDITIONAL_UPDATE = {
    *POLICIES,
    *LEASES,
    *SINCE_1_37,
    "apiservices.apiregistration.k8s.io",
    "clustertrustbundles.certificates.k8s.io",
    "csidrivers.storage.k8s.io",
    "csinodes.storage.k8s.io",
    "csistoragecapacities.storage.k8s.io",
    "poddisruptionbudgets.policy",
    "runtimeclasses.node.k8s.io",
    "storageversions.internal.apiserver.k8s.io",
    "volumeattachments.storage.k8s.io",
}
OF_SPEC = {
    *(one for one in POLICIES if "policies" in one or "policybindings" in one),
    *(f"{one}.apps" for one in ("daemonsets", "deployments", "replicasets", "statefulsets")),
    *(f"{one}.batch" for one in ("cronjobs", "jobs")),
    *(f"{one}.flowcontrol.apiserver.k8s.io" for one in ("flowschemas", "prioritylevelconfigurations")),
    *(f"{one}.networking.k8s.io" for one in ("ingresses", "ingressclasses", "networkpolicies")),
    *(f"{one}.resource.k8s.io" for one in ("deviceclasses", "devicetaintrules", "resourceslices")),
    "csidrivers.storage.k8s.io",
    "poddisruptionbudgets.policy",
    "pods",
    "replicationcontrollers",
}

RETURNED = {
    *(f"{one}.storage.k8s.io" for one in ("csidrivers", "csinodes", "storageclasses")),
    *(f"{one}.storage.k8s.io" for one in ("volumeattachments", "volumeattributesclasses")),
    *(f"{one}.resource.k8s.io" for one in ("deviceclasses", "resourceclaims")),
    *(f"{one}.resource.k8s.io" for one in ("resourceclaimtemplates", "resourceslices")),
    "namespaces",
    "persistentvolumeclaims",
    "persistentvolumes",
    "pods",
    "podtemplates",
    "resourcequotas",
    "serviceaccounts",
    "services",
}
STATUS_RESETS = {
    *SINCE_1_37,
    *(f"{one}.flowcontrol.apiserver.k8s.io" for one in ("flowschemas", "prioritylevelconfigurations")),
    "resourceclaims.resource.k8s.io",
    "servicecidrs.networking.k8s.io",
    "validatingadmissionpolicies.admissionregistration.k8s.io",
    "volumeattachments.storage.k8s.io",
}


@pytest.mark.parametrize(
    ("says", "kinds"),
    [
        pytest.param(
            lambda rules: rules.create_on_update,
            CREATED_BY_PUT,
            id="AllowCreateOnUpdate",
        ),
        pytest.param(
            lambda rules: not rules.unconditional_update,
            WITHOUT_UNCONDITIONAL_UPDATE,
            id="not AllowUnconditionalUpdate",
        ),
        pytest.param(
            lambda rules: rules.returns_deleted,
            RETURNED,
            id="ReturnDeletedObject",
        ),
        pytest.param(lambda rules: not rules.qualified_finalizers, PLAIN_FINALIZERS, id="only ValidateObjectMeta"),
        pytest.param(lambda rules: rules.default_propagation == "", EVENTS, id="Unsupported"),
        pytest.param(
            lambda rules: rules.default_propagation == "Orphan",
            {"jobs.batch", "replicationcontrollers"},
            id="OrphanDependents",
        ),
        pytest.param(lambda rules: not rules.watch_cached, EVENTS, id="without a watch cache"),
        pytest.param(
            lambda rules: not rules.repeats_metadata,
            {
                *POLICIES,
                *ROLES,
                *(f"{one}.flowcontrol.apiserver.k8s.io" for one in ("flowschemas", "prioritylevelconfigurations")),
                *(f"{one}.storage.k8s.io" for one in ("csinodes", "storageclasses", "volumeattachments")),
                "endpointslices.discovery.k8s.io",
                "events",
                "limitranges",
                "namespaces",
                "nodes",
                "persistentvolumes",
                "poddisruptionbudgets.policy",
                "resourceclaimtemplates.resource.k8s.io",
                "runtimeclasses.node.k8s.io",
            },
            id="an update without ValidateObjectMetaUpdate of its own",
        ),
        pytest.param(
            lambda rules: not rules.status_repeats_metadata,
            {
                *(f"{one}.flowcontrol.apiserver.k8s.io" for one in ("flowschemas", "prioritylevelconfigurations")),
                "cronjobs.batch",
                "poddisruptionbudgets.policy",
                "validatingadmissionpolicies.admissionregistration.k8s.io",
                "volumeattachments.storage.k8s.io",
            },
            id="a status without ValidateObjectMetaUpdate of its own",
        ),
        pytest.param(
            lambda rules: rules.metadata_last,
            {"events", "events.events.k8s.io", "poddisruptionbudgets.policy"},
            id="its own ValidateObjectMeta, or none",
        ),
        pytest.param(
            lambda rules: rules.default_status, {"persistentvolumeclaims", "persistentvolumes"}, id="a phase on create"
        ),
        pytest.param(lambda rules: rules.deprecation, {"endpoints"}, id="deprecated"),
        pytest.param(lambda rules: rules.delete_warning, {"jobs.batch"}, id="a warning of a delete"),
        pytest.param(lambda rules: rules.named_group == "", {"events.events.k8s.io"}, id="errors of the core group"),
        pytest.param(lambda rules: rules.versioned_annotation, {"daemonsets.apps"}, id="an annotation of a version"),
        pytest.param(
            lambda rules: rules.unowned == ("spec",), {"certificatesigningrequests.certificates.k8s.io"}, id="unowned"
        ),
        pytest.param(
            lambda rules: rules.first_generation != 1, {"csidrivers.storage.k8s.io"}, id="no generation on create"
        ),
        pytest.param(
            lambda rules: rules.generation == ("template",), {"podtemplates"}, id="a generation of the template"
        ),
        pytest.param(
            lambda rules: rules.labels_count, {"endpointslices.discovery.k8s.io"}, id="a generation of labels"
        ),
        pytest.param(lambda rules: rules.graceful, {"pods"}, id="RESTGracefulDeleteStrategy"),
        pytest.param(lambda rules: rules.status_on_create, {"nodes"}, id="a status on create"),
        pytest.param(lambda rules: not rules.random_suffix, {"ipaddresses.networking.k8s.io"}, id="no suffix of names"),
        pytest.param(lambda rules: "spec" in rules.generation, OF_SPEC, id="a generation of the spec"),
        pytest.param(
            lambda rules: rules.generation == ("webhooks",),
            {
                "mutatingwebhookconfigurations.admissionregistration.k8s.io",
                "validatingwebhookconfigurations.admissionregistration.k8s.io",
            },
            id="a generation of the webhooks",
        ),
        pytest.param(
            lambda rules: set(rules.generation) == {"addressType", "endpoints", "ports"} and rules.labels_count,
            {"endpointslices.discovery.k8s.io"},
            id="a generation of the endpoints",
        ),
        pytest.param(lambda rules: rules.annotations_count, {"deployments.apps"}, id="a generation of annotations"),
        pytest.param(
            lambda rules: rules.constant_generation, {"priorityclasses.scheduling.k8s.io"}, id="a generation of 1"
        ),
        pytest.param(
            lambda rules: rules.status_resets_metadata,
            STATUS_RESETS,
            id="ResetObjectMetaForStatus",
        ),
    ],
)
def test_the_kinds_of_a_rule(says: Callable[[Strategy], Any], kinds: set[str]):
    assert {kind for kind, rules in STRATEGIES.items() if says(rules) and "/" not in kind} == kinds


INVOLVED = ("apiVersion", "fieldPath", "kind", "name", "namespace", "resourceVersion", "uid")

#: Kind -> the field labels of selectors besides name and namespace (`AddFieldLabelConversionFunc`).
FIELD_LABELS = {
    "certificatesigningrequests.certificates.k8s.io": {"spec.signerName"},
    "clustertrustbundles.certificates.k8s.io": {"spec.signerName"},
    "events": {*(f"involvedObject.{one}" for one in INVOLVED), "reason", "reportingComponent", "source", "type"},
    "events.events.k8s.io": {*(f"regarding.{one}" for one in INVOLVED), "reason", "reportingController", "type"},
    "jobs.batch": {"status.successful"},
    "namespaces": {"status.phase"},
    "nodes": {"spec.unschedulable"},
    "podcertificaterequests.certificates.k8s.io": {
        "spec.nodeName", "spec.podName", "spec.serviceAccountName", "spec.signerName",
    },
    "pods": {
        "spec.host", "spec.hostNetwork", "spec.nodeName", "spec.restartPolicy", "spec.schedulerName",
        "spec.serviceAccountName", "status.nominatedNodeName", "status.phase", "status.podIP", "status.podIPs",
    },
    "replicationcontrollers": {"status.replicas"},
    "resourceslices.resource.k8s.io": {"spec.driver", "spec.nodeName"},
    "secrets": {"type"},
    "services": {"spec.clusterIP", "spec.type"},
}  # fmt: skip


def test_the_field_labels_of_selectors():
    assert {kind: set(rules.fields) for kind, rules in STRATEGIES.items() if rules.fields} == FIELD_LABELS
    assert {kind for kind, rules in STRATEGIES.items() if rules.fields_message != "known"} == set(FIELD_LABELS)


def test_the_metadata_that_a_status_keeps():
    kept = {kind: set(rules.status_keeps) for kind, rules in STRATEGIES.items() if "/" not in kind}
    assert {kind: fields - {"generation"} for kind, fields in kept.items() if fields != {"generation"}} == {
        "apiservices.apiregistration.k8s.io": {"labels", "annotations", "finalizers", "ownerReferences"},
        "deployments.apps": {"labels"},
        "pods": {"ownerReferences"},
    }


def test_the_rules_of_earlier_versions():
    """Kind -> the first version without the difference, and the fields of its strategy that differ before."""
    assert {
        kind.resource: {last: dict(fields) for last, fields in kind.before.items()} for kind in KINDS if kind.before
    } == {
        "endpoints": {33: {"deprecation": ""}},
        "pods": {33: {"generation": ()}},
        "resourceclaims.resource.k8s.io": {
            35: {"status_owns_metadata": True, "drop_disabled": resourceclaim._GATED_BEFORE_35.drop_disabled}
        },
        "resourceclaimtemplates.resource.k8s.io": {
            35: {"drop_disabled": resourceclaimtemplate._GATED_BEFORE_35.drop_disabled}
        },
        "servicecidrs.networking.k8s.io": {36: {"status_owns_metadata": True}},
        "services": {31: {"fields": {}}},
    }
    assert {resource: list(printers) for resource, printers in PRINTERS_BEFORE.items() if printers} == {
        "daemonsets.apps": [36], "deployments.apps": [36], "replicasets.apps": [36],
        "nodes": [36], "priorityclasses.scheduling.k8s.io": [32], "serviceaccounts": [35],
    }  # fmt: skip


def test_an_autoscaler_has_the_same_rules_in_both_versions():
    newest = strategy_of("horizontalpodautoscalers.autoscaling", "v2", 35)
    oldest = strategy_of("horizontalpodautoscalers.autoscaling", "v1", 35)
    for rule in ("create_on_update", "unconditional_update", "generation", "qualified_finalizers", "returns_deleted"):
        assert getattr(newest, rule) == getattr(oldest, rule)


def test_resources_of_other_versions():
    """Resource, version -> its first and last minor version, its scope, its subresources and its names."""
    found = {
        f"{row.plural}.{of.version}.{of.group}": (
            of.first, of.last, row.namespaced, sorted(row.subresources), row.short_names, row.categories
        )
        for of in versions.ADDED_OR_REMOVED
        for row in of.rows
    }  # fmt: skip
    end = (9, 9)
    assert found == {
        "horizontalpodautoscalers.v2beta2.autoscaling": ((1, 23), (1, 25), True, ["status"], ("hpa",), ("all",)),
        **{
            f"{plural}.{version}.flowcontrol.apiserver.k8s.io": (first, last, False, ["status"], (), ())
            for plural in ("flowschemas", "prioritylevelconfigurations")
            for version, first, last in (
                ("v1beta1", (1, 20), (1, 25)), ("v1beta2", (1, 23), (1, 28)), ("v1beta3", (1, 26), (1, 31)),
            )
        },
        "csistoragecapacities.v1beta1.storage.k8s.io": ((1, 21), (1, 26), True, [], (), ()),
        "clustertrustbundles.v1.certificates.k8s.io": ((1, 37), end, False, [], (), ()),
        "podcertificaterequests.v1.certificates.k8s.io": ((1, 37), end, True, ["status"], (), ()),
        "devicetaintrules.v1.resource.k8s.io": ((1, 37), end, False, ["status"], (), ()),
        "storageversionmigrations.v1.storagemigration.k8s.io": ((1, 37), end, False, ["status"], (), ()),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ({}, False),
        ({"generation": ("spec",)}, True),
        ({"constant_generation": True}, True),
        ({"counts_update": lambda new, old: False}, True),
    ],
)
def test_kinds_that_have_generations(rules: dict[str, Any], expected: bool) -> None:
    assert Strategy(**rules).counts_generations is expected
