"""Warnings of kinds other than pods."""

import pytest

from tests.apiserver.validation.support import as_new, complete, merged, strategy

HOST = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/a"}}
BETA = {"volume.beta.kubernetes.io/storage-class": "a"}
JOB = {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}}
WARNINGS = [
    ("PersistentVolume", {"spec": {**HOST, "persistentVolumeReclaimPolicy": "Recycle"}}, [
        'spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.',
    ]),
    ("PersistentVolume", {"metadata": {"annotations": {**BETA, "volume.beta.kubernetes.io/mount-options": "ro"}}, "spec": HOST}, [
        'metadata.annotations[volume.beta.kubernetes.io/storage-class]: deprecated since v1.8; use "storageClassName" attribute instead',
        'metadata.annotations[volume.beta.kubernetes.io/mount-options]: deprecated since v1.31; use "mountOptions" attribute instead',
    ]),
    ("PersistentVolume", {"spec": {"rbd": {"monitors": ["m"], "image": "i"}, "storageos": {"volumeName": "a"}}}, [
        'spec.storageOS: deprecated in v1.22, non-functional in v1.25+',
        'spec.rbd: deprecated in v1.28, non-functional in v1.31+',
    ]),
    ("PersistentVolumeClaim", {"metadata": {"annotations": BETA}, "spec": {"resources": {"requests": {"storage": "1500m"}}}}, [
        'metadata.annotations[volume.beta.kubernetes.io/storage-class]: deprecated since v1.8; use "storageClassName" attribute instead',
        'spec.resources.requests[storage]: fractional byte value "1500m" is invalid, must be an integer',
    ]),
    ("Service", {"metadata": {"annotations": {"service.kubernetes.io/topology-aware-hints": "auto"}}, "spec": {"trafficDistribution": "PreferClose", "externalIPs": ["01.2.3.4"]}}, [
        'annotation service.kubernetes.io/topology-aware-hints is deprecated, please use service.kubernetes.io/topology-mode instead',
        'spec.externalIPs[0]: non-standard IP address "01.2.3.4" is invalid: use "1.2.3.4"',
        'spec.externalIPs is deprecated and may no longer be implemented in some clusters',
        'spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"',
    ]),
    ("Service", {"spec": {"type": "ExternalName", "externalName": "a", "externalIPs": ["1.2.3.4"]}}, ['spec.externalIPs is ignored when spec.type is "ExternalName"']),
    ("Service", {"spec": {"externalName": "a", "clusterIP": "01.2.3.4", "clusterIPs": ["01.2.3.4", "2001:DB8::1"]}}, [
        'spec.clusterIPs[0]: non-standard IP address "01.2.3.4" is invalid: use "1.2.3.4"',
        'spec.clusterIPs[1]: IPv6 address "2001:DB8::1" should be in RFC 5952 canonical format ("2001:db8::1")',
        'spec.externalName is ignored when spec.type is not "ExternalName"',
    ]),
    ("Service", {"spec": {"clusterIP": "None", "clusterIPs": ["None"], "loadBalancerIP": "::ffff:1.2.3.4", "externalIPs": ["1.2.3.4"], "sessionAffinity": "ClientIP"}}, [
        'spec.loadBalancerIP is ignored for headless services',
        'spec.externalIPs is ignored for headless services',
        'spec.SessionAffinity is ignored for headless services',
        'spec.loadBalancerIP: non-standard IP address "::ffff:1.2.3.4" is invalid: use "1.2.3.4"',
    ]),
    ("Service", {"spec": {"type": "LoadBalancer", "loadBalancerSourceRanges": ["10.0.0.1/8", "010.0.0.0/8", "2001:DB8::/64"]}}, [
        'spec.loadBalancerSourceRanges[0]: CIDR value "10.0.0.1/8" is ambiguous in this context (should be "10.0.0.0/8" or "10.0.0.1/32"?)',
        'spec.loadBalancerSourceRanges[1]: non-standard CIDR value "010.0.0.0/8" is invalid: use "10.0.0.0/8"',
        'spec.loadBalancerSourceRanges[2]: IPv6 CIDR value "2001:DB8::/64" should be in RFC 5952 canonical format ("2001:db8::/64")',
    ]),
    ("Ingress", {"metadata": {"annotations": {"kubernetes.io/ingress.class": "a"}}, "spec": {}}, [
        'annotation "kubernetes.io/ingress.class" is deprecated, please use \'spec.ingressClassName\' instead',
    ]),
    ("NetworkPolicy", {"spec": {"podSelector": {}, "ingress": [{"from": [{"ipBlock": {"cidr": "10.0.0.1/8", "except": ["010.0.0.0/16"]}}]}]}}, [
        'spec.ingress[0].from[0].ipBlock.cidr: CIDR value "10.0.0.1/8" is ambiguous in this context (should be "10.0.0.0/8" or "10.0.0.1/32"?)',
        'spec.ingress[0].from[0].ipBlock.except[0]: non-standard CIDR value "010.0.0.0/16" is invalid: use "10.0.0.0/16"',
    ]),
    ("EndpointSlice", {"addressType": "FQDN", "endpoints": [{"addresses": ["a.b"]}]}, ['spec.addressType: FQDN endpoints are deprecated']),
    ("EndpointSlice", {"addressType": "IPv6", "endpoints": [{"addresses": ["2001:DB8::1"]}]}, [
        'endpoints[0].addresses[0]: IPv6 address "2001:DB8::1" should be in RFC 5952 canonical format ("2001:db8::1")',
    ]),
    ("Job", {"spec": {**JOB, "completionMode": "Indexed", "completions": 100_001, "parallelism": 10_001}}, [
        'In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes fail',
    ]),
    ("Job", {"metadata": {"name": "a.b"}, "spec": JOB}, [
        'metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: [must not contain dots]',
    ]),
    ("CronJob", {"metadata": {"name": "a.b"}, "spec": {"schedule": "* * * * *", "jobTemplate": {"spec": JOB}}}, [
        'metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: [must not contain dots]',
    ]),
    ("StatefulSet", {"spec": {"revisionHistoryLimit": -1, "volumeClaimTemplates": [{"spec": {"resources": {"requests": {"storage": "1500m"}}}}]}}, [
        'spec.volumeClaimTemplates[0].resources.requests[storage]: fractional byte value "1500m" is invalid, must be an integer',
        'spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended',
    ]),
    ("RuntimeClass", {"handler": "h", "scheduling": {"nodeSelector": {"beta.kubernetes.io/os": "linux", "a": "b"}}}, ['scheduling.nodeSelector: deprecated since v1.14; use "kubernetes.io/os" instead']),
    ("PodTemplate", {"template": {"spec": {"containers": [], "nodeSelector": {"beta.kubernetes.io/os": "linux"}}}}, [
        'template.spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead',
    ]),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "obj", "expected"), WARNINGS)
def test_warnings(kind, obj, expected):
    assert strategy(kind).warnings(complete(kind, obj)) == expected


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob"])
def test_an_update_warns_only_if_it_changes_the_generation(kind):
    old_label = {"spec": {"containers": [], "nodeSelector": {"beta.kubernetes.io/os": "linux"}}}
    job = {"spec": {"template": old_label}}
    obj = {"spec": {"jobTemplate": job} if kind == "CronJob" else job["spec"]}
    old = complete(kind, merged(obj, {"metadata": {"generation": 1}}))
    new = complete(kind, merged(obj, {"metadata": {"generation": 2}}))
    assert strategy(kind).update_warnings(new, old) == strategy(kind).warnings(new) != []
    assert strategy(kind).update_warnings(old, old) == []


def test_an_update_of_an_ingress_does_not_warn():
    ingress = as_new("Ingress", {"metadata": {"annotations": {"kubernetes.io/ingress.class": "a"}}, "spec": {}})
    assert strategy("Ingress").update_warnings(ingress, ingress) == []
