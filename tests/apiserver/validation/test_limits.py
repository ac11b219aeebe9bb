"""Every limit of a field on both sides: the last value that is accepted, and the first one that is not."""

import base64

import pytest

from tests.apiserver.validation.support import as_new, complete, merged, problems, strategy, texts
from tests.apiserver.validation.test_certificates import REQUEST
from tests.apiserver.validation.test_configuration_fields import lim
from tests.apiserver.validation.test_devices import claim, offered, request
from tests.apiserver.validation.test_jobs import CRON_JOB, JOB
from tests.apiserver.validation.test_networks import service
from tests.apiserver.validation.test_networks_fields import ING
from tests.apiserver.validation.test_pods import POD
from tests.apiserver.validation.test_registration import LEVEL, POLICY, SCHEMA, SERVICE, hooks
from tests.apiserver.validation.test_scaling import AUTOSCALER
from tests.apiserver.validation.test_storage import CLAIM, CLASS, DRIVER, NODE, VOLUME
from tests.apiserver.validation.test_storage_fields import ATT


def job(**spec):
    return merged(JOB, {"spec": spec})


def indexed(**spec):
    return job(**{"completionMode": "Indexed", "completions": 5, **spec})


def pod(**spec):
    return merged(POD, {"spec": spec})


def container(**fields):
    return {"spec": {"containers": [{"name": "c", "image": "i", **fields}]}}


def probe(kind="livenessProbe", **fields):
    return container(**{kind: {"tcpSocket": {"port": 1}, **fields}})


def volume(**source):
    return pod(volumes=[{"name": "v", **source}])


def token(**source):
    return merged(volume(**source), {"spec": {"serviceAccountName": "a"}})


def failing(**rule):
    policy = {"rules": [{"action": "Ignore", **rule}]}
    return job(podFailurePolicy=policy)


def codes(count):
    return {"operator": "In", "values": list(range(1, count + 1))}


def patterns(count):
    return failing(onPodConditions=[{"type": f"a{i}", "status": "True"} for i in range(count)])


def level(**queuing):
    return merged(LEVEL, {"spec": {"limited": {"limitResponse": {"queuing": queuing}}}})


def limited(**fields):
    return merged(LEVEL, {"spec": {"limited": fields}})


def scaler(**spec):
    return merged(AUTOSCALER, {"spec": spec})


def scaling(**rules):
    return scaler(behavior={"scaleUp": {"policies": [{"type": "Pods", "value": 1, "periodSeconds": 1}], **rules}})


def policy(**fields):
    return scaling(policies=[{"type": "Pods", "value": 1, "periodSeconds": 1, **fields}])


def endpoints(**endpoint):
    return {"addressType": "IPv4", "endpoints": [{"addresses": ["1.2.3.4"], **endpoint}]}


def addresses(count):
    return [f"10.1.{i // 250}.{i % 250 + 1}" for i in range(count)]


def spread(**fields):
    given = {"topologyKey": "z", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
    return pod(topologySpreadConstraints=[{**given, **fields}])


def preferred(weight):
    return pod(affinity={"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
        {"weight": weight, "preference": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}}]}})  # fmt: skip


def preferred_pods(weight):
    return pod(affinity={"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
        {"weight": weight, "podAffinityTerm": {"topologyKey": "z"}}]}})  # fmt: skip


def hook_conditions(count):
    return hooks({"matchConditions": [{"name": f"a{i}", "expression": "true"} for i in range(count)]})


def device_requests(count):
    return claim(*(request(f"r{i}") for i in range(count)))


def alternatives(count):
    return claim({"name": "r", "firstAvailable": [{"name": f"a{i}", "deviceClassName": "gpu"} for i in range(count)]})


def selectors(count):
    return claim(request(selectors=[{"cel": {"expression": "true"}}] * count))


def parameters(size):
    text = "x" * (size - len('{"a":""}'))
    return claim(request(), config=[{"opaque": {"driver": "d.example.com", "parameters": {"a": text}}}])


def attributes(count):
    return offered(attributes={f"a{i}": {"int": 1} for i in range(count)})


def shared(**fields):
    return offered(allowMultipleAllocations=True, capacity={"c": {"value": "10", "requestPolicy": fields}})


def dns(**config):
    return pod(dnsPolicy="None", dnsConfig={"nameservers": ["1.2.3.4"], **config})


def taken(**limits):
    return container(resources={"limits": limits, "requests": {"cpu": "1"}})


SEG = "a" * 63
LONG = ".".join([SEG, SEG, SEG, SEG])  # 255 characters


def domain(size):
    return LONG[: size - 1] + "b"


#: A kind, a function of the value, the last value that is accepted, and the first one that is not with its error.
LIMITS = [
    ("Job", lambda n: job(backoffLimit=n), 0, -1, "spec.backoffLimit: Invalid value: -1: must be greater than or equal to 0"),
    ("Job", lambda n: job(managedBy=f"a.io/{'x' * (n - 5)}"), 63, 64, "spec.managedBy: Too long: may not be more than 63 bytes"),
    ("Job", lambda n: indexed(parallelism=n), 100_000, 100_001, "spec.parallelism: Invalid value: 100001: must be less than or equal to 100000 when completion mode is Indexed"),
    ("Job", lambda n: indexed(backoffLimitPerIndex=1, maxFailedIndexes=n), 5, 6, "spec.maxFailedIndexes: Invalid value: 6: must be less than or equal to completions"),
    ("Job", lambda n: indexed(backoffLimitPerIndex=1, completions=n), 100_000, 100_001, "spec.maxFailedIndexes: Required value: must be specified when completions is above 100000"),
    ("Job", lambda n: indexed(backoffLimitPerIndex=1, completions=100_001, maxFailedIndexes=n), 10_000, 10_001, "spec.maxFailedIndexes: …above 100000 and used with backoff limit per index"),
    ("Job", lambda n: indexed(backoffLimitPerIndex=1, completions=100_001, maxFailedIndexes=1, parallelism=n), 10_000, 10_001, "spec.parallelism: …above 100000 and used with backoff limit per index"),
    ("Job", lambda n: job(podFailurePolicy={"rules": [{"action": "Ignore", "onExitCodes": codes(1)}] * n}), 20, 21, "spec.podFailurePolicy.rules: Too many: 21: must have at most 20 items"),
    ("Job", lambda n: failing(onExitCodes=codes(n)), 255, 256, "spec.podFailurePolicy.rules[0].onExitCodes.values: Too many: 256: must have at most 255 items"),
    ("Job", patterns, 20, 21, "spec.podFailurePolicy.rules[0].onPodConditions: Too many: 21: must have at most 20 items"),
    ("Job", lambda n: indexed(successPolicy={"rules": [{"succeededCount": 1}] * n}), 20, 21, "spec.successPolicy.rules: Too many: 21: must have at most 20 items"),
    ("Job", lambda n: indexed(successPolicy={"rules": [{"succeededCount": n}]}), 5, 6, "spec.successPolicy.rules[0].succeededCount: …r equal to 5 (the number of specified completions)"),
    ("Job", lambda n: indexed(successPolicy={"rules": [{"succeededIndexes": "0-2", "succeededCount": n}]}), 3, 4, "spec.successPolicy.rules[0].succeededCount: …f indexes in the specified succeededIndexes field)"),
    ("Job", lambda n: indexed(successPolicy={"rules": [{"succeededIndexes": f"0-{n}"}]}), 4, 5, "spec.successPolicy.rules[0].succeededIndexes: Invalid value: \"0-5\": error parsing succeededIndexes: too large index: \"5\""),
    ("Job", lambda n: {**indexed(completions=n), "metadata": {"name": "a" * 61}}, 10, 11, "metadata.name: …aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa-10"),
    ("CronJob", lambda n: {**CRON_JOB, "metadata": {"name": "a" * n}}, 52, 53, "metadata.name: …aaaaaaaaaaaaa\": must be no more than 52 characters"),
    ("Pod", lambda n: pod(activeDeadlineSeconds=n), 2**31 - 1, 0, "spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive"),
    ("Pod", lambda n: pod(securityContext={"runAsUser": n}), 2**31 - 1, 2**31, "spec.securityContext.runAsUser: Invalid value: 2147483648: must be between 0 and 2147483647, inclusive"),
    ("Pod", lambda n: pod(securityContext={"fsGroup": n}), 0, -1, "spec.securityContext.fsGroup: Invalid value: -1: must be between 0 and 2147483647, inclusive"),
    ("Pod", lambda n: pod(securityContext={"supplementalGroups": [n]}), 2**31 - 1, 2**31, "spec.securityContext.supplementalGroups[0]: Invalid value: 2147483648: must be between 0 and 2147483647, inclusive"),
    ("Pod", lambda n: pod(hostname="a" * n), 63, 64, "spec.hostname: …aaaaaaaaaaaaa\": must be no more than 63 characters"),
    ("Pod", lambda n: pod(hostnameOverride=domain(n)), 64, 65, "spec.hostnameOverride: Too long: may not be more than 64 bytes"),
    ("Pod", lambda n: pod(serviceAccountName=domain(n)), 253, 254, "spec.serviceAccountName: …aaaaaaaaaaab\": must be no more than 253 characters"),
    ("Pod", lambda n: dns(nameservers=["1.2.3.4"] * n), 3, 4, "spec.dnsConfig.nameservers: …,\"1.2.3.4\"]: must not have more than 3 nameservers"),
    ("Pod", lambda n: dns(searches=["a"] * n), 32, 33, "spec.dnsConfig.searches: …,\"a\",\"a\"]: must not have more than 32 search paths"),
    ("Pod", lambda n: dns(searches=[domain(253)] * 8 + ["a" * (n - 2032)]), 2048, 2049, "spec.dnsConfig.searches: …8 characters (including spaces) in the search list"),
    ("Pod", preferred, 100, 101, "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: …ht: Invalid value: 101: must be in the range 1-100"),
    ("Pod", preferred, 1, 0, "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: …ight: Invalid value: 0: must be in the range 1-100"),
    ("Pod", preferred_pods, 100, 101, "spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: …ht: Invalid value: 101: must be in the range 1-100"),
    ("Pod", preferred_pods, 1, 0, "spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: …ight: Invalid value: 0: must be in the range 1-100"),
    ("Pod", lambda n: spread(maxSkew=n), 1, 0, "spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero"),
    ("Pod", lambda n: spread(minDomains=n), 1, 0, "spec.topologySpreadConstraints[0].minDomains: Invalid value: 0: must be greater than zero"),
    ("Pod", lambda n: probe(initialDelaySeconds=n), 0, -1, "spec.containers[0].livenessProbe.initialDelaySeconds: Invalid value: -1: must be greater than or equal to 0"),
    ("Pod", lambda n: probe("readinessProbe", successThreshold=n), 1, -1, "spec.containers[0].readinessProbe.successThreshold: Invalid value: -1: must be greater than or equal to 0"),
    ("Pod", lambda n: probe(terminationGracePeriodSeconds=n), 1, 0, "spec.containers[0].livenessProbe.terminationGracePeriodSeconds: Invalid value: 0: must be greater than 0"),
    ("Pod", lambda n: container(lifecycle={"preStop": {"sleep": {"seconds": n}}}), 30, 31, "spec.containers[0].lifecycle.preStop.sleep: …e and less than terminationGracePeriodSeconds (30)"),
    ("Pod", lambda n: container(lifecycle={"preStop": {"sleep": {"seconds": n}}}), 1, -1, "spec.containers[0].lifecycle.preStop.sleep: …e and less than terminationGracePeriodSeconds (30)"),
    ("Pod", lambda n: probe(tcpSocket={"port": n}), 65535, 65536, "spec.containers[0].livenessProbe.tcpSocket.port: Invalid value: 65536: must be between 1 and 65535, inclusive"),
    ("Pod", lambda n: probe(tcpSocket={"port": n}), 1, 0, "spec.containers[0].livenessProbe.tcpSocket.port: Invalid value: 0: must be between 1 and 65535, inclusive"),
    ("Pod", lambda n: container(ports=[{"containerPort": n}]), 65535, 65536, "spec.containers[0].ports[0].containerPort: Invalid value: 65536: must be between 1 and 65535, inclusive"),
    ("Pod", lambda n: container(ports=[{"containerPort": n}]), 1, 0, "spec.containers[0].ports[0].containerPort: Required value"),
    ("Pod", lambda n: container(ports=[{"containerPort": 1, "name": "a" * n}]), 15, 16, "spec.containers[0].ports[0].name: Invalid value: \"aaaaaaaaaaaaaaaa\": must be no more than 15 characters"),
    ("Pod", lambda n: taken(cpu=n), "1", "999m", "spec.containers[0].resources.requests: Invalid value: \"1\": must be less than or equal to cpu limit of 999m"),
    ("Pod", lambda n: container(securityContext={"windowsOptions": {"gmsaCredentialSpec": "x" * n}}), 65536, 65537, "spec.containers[0].securityContext.windowsOptions.gmsaCredentialSpec: …xxx\": gmsaCredentialSpec size must be under 64 KiB"),
    ("Pod", lambda n: container(securityContext={"windowsOptions": {"runAsUserName": "x" * n}}), 104, 105, "spec.containers[0].securityContext.windowsOptions.runAsUserName: …User length must not be longer than 104 characters"),
    ("Pod", lambda n: container(securityContext={"windowsOptions": {"runAsUserName": domain(n) + "\\u"}}), 255, 256, "spec.containers[0].securityContext.windowsOptions.runAsUserName: …rName's Domain length must be under 256 characters"),
    ("Pod", lambda n: pod(securityContext={"appArmorProfile": {"type": "Localhost", "localhostProfile": "x" * n}}), 4095, 4096, "spec.securityContext.appArmorProfile.localhostProfile: Too long: may not be more than 4095 bytes"),
    ("Pod", lambda n: pod(securityContext={"sysctls": [{"name": "a" * n, "value": "1"}]}), 253, 254, "spec.securityContext.sysctls[0].name: …]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$"),
    ("Pod", lambda n: volume(secret={"secretName": "s", "defaultMode": n}), 0o777, 0o1000, "spec.volumes[0].secret.defaultMode: Invalid value: 512: must be a number between 0 and 0777 (octal), both inclusive"),
    ("Pod", lambda n: volume(secret={"secretName": "s", "defaultMode": n}), 0, -1, "spec.volumes[0].secret.defaultMode: Invalid value: -1: must be a number between 0 and 0777 (octal), both inclusive"),
    ("Pod", lambda n: volume(gcePersistentDisk={"pdName": "p", "partition": n}), 255, 256, "spec.volumes[0].persistentDisk.partition: Invalid value: 256: must be between 1 and 255, inclusive"),
    ("Pod", lambda n: volume(awsElasticBlockStore={"volumeID": "p", "partition": n}), 255, 256, "spec.volumes[0].awsElasticBlockStore.partition: Invalid value: 256: must be between 1 and 255, inclusive"),
    ("Pod", lambda n: volume(fc={"targetWWNs": ["w"], "lun": n}), 255, 256, "spec.volumes[0].fc.lun: Invalid value: 256: must be between 0 and 255, inclusive"),
    ("Pod", lambda n: volume(iscsi={"targetPortal": "1.2.3.4:1", "iqn": "iqn.2001-04.com.example:x", "lun": n}), 255, 256, "spec.volumes[0].iscsi.lun: Invalid value: 256: must be between 0 and 255, inclusive"),
    ("Pod", lambda n: volume(iscsi={"targetPortal": "p" * (n - 2), "iqn": "iqn.2001-04.com.example:x", "lun": 0, "initiatorName": "iqn.2001-04.com.example:y"}), 64, 65, "spec.volumes[0].name: …64 characters if iscsi.initiatorName is specified."),
    ("Pod", lambda n: volume(quobyte={"registry": "h:1", "volume": "v", "tenant": "x" * n}), 64, 65, "spec.volumes[0].quobyte.tenant: Required value: must be a UUID and may not exceed a length of 64 characters"),
    ("Pod", lambda n: volume(csi={"driver": "a" * n}), 63, 64, "spec.volumes[0].csi.driver: Too long: may not be more than 63 bytes"),
    ("Pod", lambda n: volume(emptyDir={"sizeLimit": n}), "0", "-1", "spec.volumes[0].emptyDir.sizeLimit: Forbidden: SizeLimit field must be a valid resource quantity"),
    ("Pod", lambda n: token(projected={"sources": [{"serviceAccountToken": {"path": "p", "expirationSeconds": n}}]}), 600, 599, "spec.volumes[0].projected.sources[0].serviceAccountToken.expirationSeconds: …9: may not specify a duration less than 10 minutes"),
    ("Pod", lambda n: token(projected={"sources": [{"serviceAccountToken": {"path": "p", "expirationSeconds": n}}]}), 2**32, 2**32 + 1, "spec.volumes[0].projected.sources[0].serviceAccountToken.expirationSeconds: …ay not specify a duration larger than 2^32 seconds"),
    ("Pod", lambda n: {**POD, "metadata": {"annotations": {"controller.kubernetes.io/pod-deletion-cost": str(n)}}}, 2**31 - 1, 2**31, "metadata.annotations[controller.kubernetes.io/pod-deletion-cost]: Invalid value: \"2147483648\": must be a 32bit integer"),
    ("Pod", lambda n: {**POD, "metadata": {"annotations": {"controller.kubernetes.io/pod-deletion-cost": str(n)}}}, -(2**31), -(2**31) - 1, "metadata.annotations[controller.kubernetes.io/pod-deletion-cost]: Invalid value: \"-2147483649\": must be a 32bit integer"),
    ("Deployment", lambda n: {"spec": {"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, **POD}, "progressDeadlineSeconds": n, "minReadySeconds": 9}}, 10, 9, "spec.progressDeadlineSeconds: Invalid value: 9: must be greater than minReadySeconds"),
    ("Deployment", lambda n: {"spec": {"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, **POD}, "strategy": {"rollingUpdate": {"maxUnavailable": n}}}}, "100%", "101%", "spec.strategy.rollingUpdate.maxUnavailable: Invalid value: \"101%\": must not be greater than 100%"),
    ("PodDisruptionBudget", lambda n: {"spec": {"maxUnavailable": n}}, "100%", "101%", "spec.maxUnavailable: Invalid value: \"101%\": must not be greater than 100%"),
    ("HorizontalPodAutoscaler", lambda n: scaler(minReplicas=n), 3, 4, "spec.maxReplicas: Invalid value: 3: must be greater than or equal to `minReplicas`"),
    ("HorizontalPodAutoscaler", lambda n: scaler(minReplicas=n), 1, 0, "spec.minReplicas: Invalid value: 0: must be greater than or equal to 1"),
    ("HorizontalPodAutoscaler", lambda n: scaling(stabilizationWindowSeconds=n), 3600, 3601, "spec.behavior.scaleUp.stabilizationWindowSeconds: Invalid value: 3601: must be less than or equal to 3600"),
    ("HorizontalPodAutoscaler", lambda n: scaling(stabilizationWindowSeconds=n), 0, -1, "spec.behavior.scaleUp.stabilizationWindowSeconds: Invalid value: -1: must be greater than or equal to zero"),
    ("HorizontalPodAutoscaler", lambda n: scaling(tolerance=n), "0", "-1", "spec.behavior.scaleUp.tolerance: Invalid value: \"-1\": must be greater than or equal to 0"),
    ("HorizontalPodAutoscaler", lambda n: policy(periodSeconds=n), 1800, 1801, "spec.behavior.scaleUp.policies[0].periodSeconds: Invalid value: 1801: must be less than or equal to 1800"),
    ("HorizontalPodAutoscaler", lambda n: policy(periodSeconds=n), 1, 0, "spec.behavior.scaleUp.policies[0].periodSeconds: Invalid value: 0: must be greater than zero"),
    ("HorizontalPodAutoscaler", lambda n: policy(value=n), 1, 0, "spec.behavior.scaleUp.policies[0].value: Invalid value: 0: must be greater than zero"),
    ("PriorityClass", lambda n: {"value": n}, 10**9, 10**9 + 1, "value: Forbidden: maximum allowed value of a user defined priority is 1000000000"),
    ("PriorityLevelConfiguration", lambda n: level(queues=n, handSize=1), 10_000_000, 10_000_001, "spec.limited.limitResponse.queuing.queues: Invalid value: 10000001: must not be greater than 10000000"),
    ("PriorityLevelConfiguration", lambda n: level(queues=n, handSize=1), 1, -1, "spec.limited.limitResponse.queuing.queues: Invalid value: -1: must be positive"),
    ("PriorityLevelConfiguration", lambda n: level(queueLengthLimit=n), 1, -1, "spec.limited.limitResponse.queuing.queueLengthLimit: Invalid value: -1: must be positive"),
    ("PriorityLevelConfiguration", lambda n: level(queues=8, handSize=n), 8, 9, "spec.limited.limitResponse.queuing.handSize: Invalid value: 9: should not be greater than queues (8)"),
    ("PriorityLevelConfiguration", lambda n: level(queues=64, handSize=n), 10, 11, "spec.limited.limitResponse.queuing.handSize: …e 64 and handSize 11 should not be greater than 60"),
    ("PriorityLevelConfiguration", lambda n: limited(lendablePercent=n), 100, 101, "spec.limited.lendablePercent: Invalid value: 101: must be between 0 and 100, inclusive"),
    ("PriorityLevelConfiguration", lambda n: limited(lendablePercent=n), 0, -1, "spec.limited.lendablePercent: Invalid value: -1: must be between 0 and 100, inclusive"),
    ("PriorityLevelConfiguration", lambda n: limited(borrowingLimitPercent=n), 0, -1, "spec.limited.borrowingLimitPercent: Invalid value: -1: if specified, must be a non-negative integer"),
    ("PriorityLevelConfiguration", lambda n: limited(nominalConcurrencyShares=n), 0, -1, "spec.limited.nominalConcurrencyShares: Invalid value: -1: must be a non-negative integer"),
    ("FlowSchema", lambda n: merged(SCHEMA, {"spec": {"matchingPrecedence": n}}), 10_000, 10_001, "spec.matchingPrecedence: Invalid value: 10001: must not be greater than 10000"),
    ("FlowSchema", lambda n: merged(SCHEMA, {"spec": {"matchingPrecedence": n}}), 2, 1, "spec.matchingPrecedence: Invalid value: 1: only the schema named 'exempt' may have matchingPrecedence 1"),
    ("APIService", lambda n: merged(SERVICE, {"spec": {"groupPriorityMinimum": n}}), 20_000, 20_001, "spec.groupPriorityMinimum: Invalid value: 20001: must be positive and less than 20000"),
    ("APIService", lambda n: merged(SERVICE, {"spec": {"groupPriorityMinimum": n}}), 1, 0, "spec.groupPriorityMinimum: Invalid value: 0: must be positive and less than 20000"),
    ("APIService", lambda n: merged(SERVICE, {"spec": {"versionPriority": n}}), 1000, 1001, "spec.versionPriority: Invalid value: 1001: must be positive and less than 1000"),
    ("ValidatingWebhookConfiguration", lambda n: hooks({"timeoutSeconds": n}), 30, 31, "webhooks[0].timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30 seconds"),
    ("ValidatingWebhookConfiguration", lambda n: hooks({"timeoutSeconds": n}), 1, 0, "webhooks[0].timeoutSeconds: Invalid value: 0: the timeout value must be between 1 and 30 seconds"),
    ("ValidatingWebhookConfiguration", hook_conditions, 64, 65, "webhooks[0].matchConditions: Too many: 65: must have at most 64 items"),
    ("ValidatingAdmissionPolicy", lambda n: merged(POLICY, {"spec": {"auditAnnotations": [{"key": f"a{i}", "valueExpression": "'x'"} for i in range(n)]}}), 20, 21, "spec.auditAnnotations: …x'\"}]: must not have more than 20 auditAnnotations"),
    ("ValidatingAdmissionPolicy", lambda n: merged(POLICY, {"spec": {"auditAnnotations": [{"key": "a", "valueExpression": f"'{'x' * (n - 2)}'"}]}}), 5120, 5121, "spec.auditAnnotations[0].valueExpression: Required value: must not exceed 5120 bytes in length"),
    ("EndpointSlice", lambda n: endpoints(addresses=addresses(n)), 100, 101, "endpoints[0].addresses: Too many: 101: must have at most 100 items"),
    ("EndpointSlice", lambda n: {"addressType": "IPv4", "endpoints": [{"addresses": ["1.2.3.4"]}] * n}, 1000, 1001, "endpoints: Too many: 1001: must have at most 1000 items"),
    ("EndpointSlice", lambda n: endpoints(hints={"forZones": [{"name": f"z{i}"} for i in range(n)]}), 8, 9, "endpoints[0].hints.forZones: Too many: 9: must have at most 8 items"),
    ("EndpointSlice", lambda n: endpoints(hints={"forNodes": [{"name": f"z{i}"} for i in range(n)]}), 8, 9, "endpoints[0].hints.forNodes: Too many: 9: must have at most 8 items"),
    ("Service", lambda n: service(ports=[{"port": n}]), 65535, 65536, "spec.ports[0].port: Invalid value: 65536: must be between 1 and 65535, inclusive"),
    ("Service", lambda n: service(sessionAffinity="ClientIP", sessionAffinityConfig={"clientIP": {"timeoutSeconds": n}}), 86400, 86401, "spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 86401: must be greater than 0 and less than 86400"),
    ("Service", lambda n: service(sessionAffinity="ClientIP", sessionAffinityConfig={"clientIP": {"timeoutSeconds": n}}), 1, 0, "spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 0: must be greater than 0 and less than 86400"),
    ("Ingress", lambda n: merged(ING, {"spec": {"rules": [{**ING["spec"]["rules"][0], "host": "*." + domain(n - 2)}]}}), 253, 254, "spec.rules[0].host: …aaaaaaaaaaab\": must be no more than 253 characters"),
    ("IngressClass", lambda n: {"spec": {"controller": "a.io/" + "x" * (n - 5)}}, 250, 251, "spec.controller: Too long: may not be more than 250 bytes"),
    ("NetworkPolicy", lambda n: {"spec": {"podSelector": {}, "ingress": [{"ports": [{"port": 80, "endPort": n}]}]}}, 80, 79, "spec.ingress[0].ports[0].endPort: Invalid value: 80: must be greater than or equal to `port`"),
    ("NetworkPolicy", lambda n: {"spec": {"podSelector": {}, "ingress": [{"ports": [{"port": 80, "endPort": n}]}]}}, 65535, 65536, "spec.ingress[0].ports[0].endPort: Invalid value: 65536: must be between 1 and 65535, inclusive"),
    ("Lease", lambda n: {"spec": {"holderIdentity": "x", "leaseDurationSeconds": n}}, 1, 0, "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0"),
    ("LimitRange", lambda n: lim(max={"cpu": "4"}, min={"cpu": "2"}, maxLimitRequestRatio={"cpu": n}), "2", "2001m", "spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: \"2001m\": ratio 2001m is greater than max/min = 2.000000"),
    ("LimitRange", lambda n: lim(maxLimitRequestRatio={"cpu": n}), "1", "999m", "spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: \"999m\": ratio 999m is less than 1"),
    ("Secret", lambda n: {"data": {"a": base64.b64encode(b"x" * n).decode()}}, 2**20, 2**20 + 1, "data: Too long: may not be more than 1048576 bytes"),
    ("ConfigMap", lambda n: {"data": {"a": "x" * n}}, 2**20, 2**20 + 1, "[]: Too long: may not be more than 1048576 bytes"),
    ("CertificateSigningRequest", lambda n: merged(REQUEST, {"spec": {"expirationSeconds": n}}), 600, 599, "spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 600 seconds (10 minutes)"),
    ("CertificateSigningRequest", lambda n: merged(REQUEST, {"spec": {"signerName": f"{domain(n)}/s"}}), 253, 254, "spec.signerName: Too long: may not be more than 253 bytes"),
    ("StorageClass", lambda n: {**CLASS, "parameters": {f"k{i}": "v" for i in range(n)}}, 512, 513, "parameters: Too long: may not be more than 512 bytes"),
    ("StorageClass", lambda n: {**CLASS, "parameters": {"k": "v" * (n - 1)}}, 256 * 1024, 256 * 1024 + 1, "parameters: Too long: may not be more than 262144 bytes"),
    ("CSINode", lambda n: merged(NODE, {"spec": {"drivers": [{"name": "d.example.com", "nodeID": "x" * n}]}}), 256, 257, "spec.drivers[0].nodeID: …xxxxxxxxxxxxxxxxx\": must be 256 characters or less"),
    ("CSINode", lambda n: merged(NODE, {"spec": {"drivers": [{"name": "d.example.com", "nodeID": "x", "allocatable": {"count": n}}]}}), 0, -1, "spec.drivers[0].allocatable.count: Invalid value: -1: must be greater than or equal to 0"),
    ("CSIDriver", lambda n: merged(DRIVER, {"spec": {"nodeAllocatableUpdatePeriodSeconds": n}}), 10, 9, "spec.nodeAllocatableUpdatePeriodSeconds: Invalid value: 9: must be greater than or equal to 10 seconds"),
    ("CSIDriver", lambda n: merged(DRIVER, {"spec": {"tokenRequests": [{"audience": "a", "expirationSeconds": n}]}}), 600, 599, "spec.tokenRequests[0].expirationSeconds: Invalid value: 599: may not specify a duration less than 10 minutes"),
    ("VolumeAttachment", lambda n: {**ATT, "status": {"attached": True, "attachmentMetadata": {"a": "x" * (n - 1)}}}, 256 * 1024, 256 * 1024 + 1, "status.attachmentMetadata: Too long: may not be more than 262144 bytes"),
    ("VolumeAttachment", lambda n: {**ATT, "status": {"attached": True, "attachError": {"message": "x" * n}}}, 1024, 1025, "status.attachError.message: Too long: may not be more than 262144 bytes"),
    ("PersistentVolume", lambda n: merged(VOLUME, {"spec": {"capacity": {"storage": n}}}), "1", "0", "spec.capacity[storage]: Invalid value: \"0\": must be greater than zero"),
    ("PersistentVolumeClaim", lambda n: merged(CLAIM, {"spec": {"resources": {"requests": {"storage": n}}}}), "1", "0", "spec.resources[storage]: Invalid value: \"0\": must be greater than zero"),
    ("ResourceClaim", device_requests, 32, 33, "spec.devices.requests: Too many: 33: must have at most 32 items"),
    ("ResourceClaim", alternatives, 8, 9, "spec.devices.requests[0].firstAvailable: Too many: 9: must have at most 8 items"),
    ("ResourceClaim", selectors, 32, 33, "spec.devices.requests[0].exactly.selectors: Too many: 33: must have at most 32 items"),
    ("ResourceClaim", parameters, 10 * 1024, 10 * 1024 + 1, "spec.devices.config[0].opaque.parameters: Too long: may not be more than 10240 bytes"),
    ("ResourceClaim", lambda n: claim(request(), constraints=[{"matchAttribute": "d.example.com/a"}] * n), 32, 33, "spec.devices.constraints: Too many: 33: must have at most 32 items"),
    ("ResourceClaim", lambda n: claim(request(), constraints=[{"matchAttribute": f"d.example.com/{'a' * n}"}]), 32, 33, "spec.devices.constraints[0].matchAttribute: Too long: may not be more than 32 bytes"),
    ("ResourceClaim", lambda n: claim(request(count=n)), 1, -1, "spec.devices.requests[0].exactly.count: Invalid value: -1: must be greater than zero"),
    ("DeviceClass", lambda n: {"spec": {"selectors": [{"cel": {"expression": f"'{'a' * (n - 8)}' != ''"}}]}}, 10_240, 10_241, "spec.selectors[0].cel.expression: Too long: may not be more than 10240 bytes"),
    ("ResourceSlice", attributes, 32, 33, "spec.devices[0]: Invalid value: 33: the total number of attributes and capacities must not exceed 32"),
    ("ResourceSlice", lambda n: offered(attributes={"a": {"string": "x" * n}}), 64, 65, "spec.devices[0].attributes[a].string: Too long: may not be more than 64 bytes"),
    ("ResourceSlice", lambda n: shared(default="1", validRange={"min": n}), "1", "2", "spec.devices[0].capacity[c].requestPolicy.validRange.min: Invalid value: \"1\": default is less than min: 2"),
    ("ResourceSlice", lambda n: shared(default="1", validRange={"min": "1", "max": n}), "10", "11", "spec.devices[0].capacity[c].requestPolicy.validRange.max: Invalid value: \"11\": max is larger than capacity value: 10"),
    ("ResourceSlice", lambda n: shared(default="2", validRange={"min": "1", "max": n}), "2", "1", "spec.devices[0].capacity[c].requestPolicy.validRange.max: Invalid value: \"2\": default is more than max: 1"),
    ("ResourceSlice", lambda n: shared(default="1", validRange={"min": "1", "step": n}), "9", "10", "spec.devices[0].capacity[c].requestPolicy.validRange.step: …10\": one step 11 is larger than capacity value: 10"),
    ("ResourceSlice", lambda n: shared(default="1", validValues=["1", n]), "10", "11", "spec.devices[0].capacity[c].requestPolicy.validValues[1]: Invalid value: \"11\": option is larger than capacity value: 10"),
    ("ResourceSlice", lambda n: shared(default="1", validValues=[str(i) for i in range(1, n + 1)]), 10, 11, "spec.devices[0].capacity[c].requestPolicy.validValues: Too many: 11: must have at most 10 items"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "build", "last", "first", "expected"), LIMITS)
def test_the_limits_of_fields(kind, build, last, first, expected):
    assert problems(kind, build(last)) == []
    begin, _, end = expected.partition("…")
    found = problems(kind, build(first))[0]
    assert found.startswith(begin)
    assert found.endswith(end)
    assert len(found) == len(expected) or end


#: Kinds whose limited fields cannot change, or are not those of the request.
NOT_CHANGED = ("CronJob", "PriorityClass", "CertificateSigningRequest", "VolumeAttachment", "ResourceClaim")


@pytest.mark.parametrize(
    ("kind", "build", "last", "first", "expected"), [row for row in LIMITS if row[0] not in NOT_CHANGED]
)
def test_an_update_has_the_limits_of_a_new_object(kind, build, last, first, expected):
    stored, sent = as_new(kind, build(last)), complete(kind, build(first))
    kept = {key: stored["metadata"][key] for key in ("uid", "creationTimestamp")}
    sent = {**sent, "metadata": {**sent["metadata"], **kept}}
    if "status" in stored:
        sent["status"] = stored["status"]
    found = texts(strategy(kind).validate_update(strategy(kind).prepare_update(sent, stored), stored))
    begin, _, end = expected.partition("…")
    assert any(one.startswith(begin) and one.endswith(end) for one in found), found
