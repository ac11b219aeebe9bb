"""Which zero values Go's structs encode and which they omit, as far as OpenAPI does not specify it.

By default an optional number or boolean is a pointer, so that zero is kept; an optional string is not, so that an empty
one is omitted; an optional struct is a pointer; a required field is always encoded. The tables list the fields that
differ (`TYPE.FIELD`, kubernetes `staging/src/k8s.io/api/*/types.go`).
"""

from __future__ import annotations


def _fields(table: dict[str, str]) -> frozenset[str]:
    return frozenset(f"{type}.{field}" for type, fields in table.items() for field in fields.split())


#: Optional numbers and booleans that are not pointers: zero and false are omitted.
PLAIN = _fields(
    {
        "meta.v1.ObjectMeta": "generation",
        "meta.v1.ListMeta": "",
        "meta.v1.Condition": "observedGeneration",
        "core.v1.PodSpec": "hostNetwork hostPID hostIPC",
        "core.v1.Container": "stdin stdinOnce tty",
        "core.v1.EphemeralContainer": "stdin stdinOnce tty",
        "core.v1.ContainerPort": "hostPort",
        "core.v1.VolumeMount": "readOnly",
        "core.v1.Probe": "initialDelaySeconds timeoutSeconds periodSeconds successThreshold failureThreshold",
        "core.v1.AWSElasticBlockStoreVolumeSource": "partition readOnly",
        "core.v1.GCEPersistentDiskVolumeSource": "partition readOnly",
        "core.v1.AzureFileVolumeSource": "readOnly",
        "core.v1.AzureFilePersistentVolumeSource": "readOnly",
        "core.v1.CephFSVolumeSource": "readOnly",
        "core.v1.CephFSPersistentVolumeSource": "readOnly",
        "core.v1.CinderVolumeSource": "readOnly",
        "core.v1.CinderPersistentVolumeSource": "readOnly",
        "core.v1.CSIPersistentVolumeSource": "readOnly",
        "core.v1.FCVolumeSource": "readOnly",
        "core.v1.FlexVolumeSource": "readOnly",
        "core.v1.FlexPersistentVolumeSource": "readOnly",
        "core.v1.GlusterfsVolumeSource": "readOnly",
        "core.v1.GlusterfsPersistentVolumeSource": "readOnly",
        "core.v1.ISCSIVolumeSource": "readOnly chapAuthDiscovery chapAuthSession",
        "core.v1.ISCSIPersistentVolumeSource": "readOnly chapAuthDiscovery chapAuthSession",
        "core.v1.NFSVolumeSource": "readOnly",
        "core.v1.PersistentVolumeClaimVolumeSource": "readOnly",
        "core.v1.PortworxVolumeSource": "readOnly",
        "core.v1.QuobyteVolumeSource": "readOnly",
        "core.v1.RBDVolumeSource": "readOnly",
        "core.v1.RBDPersistentVolumeSource": "readOnly",
        "core.v1.ScaleIOVolumeSource": "readOnly sslEnabled",
        "core.v1.ScaleIOPersistentVolumeSource": "readOnly sslEnabled",
        "core.v1.StorageOSVolumeSource": "readOnly",
        "core.v1.StorageOSPersistentVolumeSource": "readOnly",
        "core.v1.PodStatus": "observedGeneration",
        "core.v1.PodCondition": "observedGeneration",
        "core.v1.ServicePort": "nodePort",
        "core.v1.ServiceSpec": "publishNotReadyAddresses healthCheckNodePort",
        "core.v1.NodeSpec": "unschedulable",
        "core.v1.ReplicationControllerSpec": "minReadySeconds",
        "core.v1.ReplicationControllerStatus": (
            "fullyLabeledReplicas readyReplicas availableReplicas observedGeneration"
        ),
        "core.v1.Event": "count",
        "core.v1.EventSeries": "count",
        "core.v1.ContainerStateTerminated": "signal",
        "core.v1.PodLogOptions": "follow previous timestamps",
        "core.v1.VolumeMountStatus": "readOnly",
        "apps.v1.DeploymentSpec": "minReadySeconds paused",
        "apps.v1.DeploymentStatus": (
            "observedGeneration replicas updatedReplicas readyReplicas availableReplicas unavailableReplicas"
        ),
        "apps.v1.ReplicaSetSpec": "minReadySeconds",
        "apps.v1.ReplicaSetStatus": "fullyLabeledReplicas readyReplicas availableReplicas observedGeneration",
        "apps.v1.DaemonSetSpec": "minReadySeconds",
        "apps.v1.DaemonSetStatus": "observedGeneration updatedNumberScheduled numberAvailable numberUnavailable",
        "apps.v1.StatefulSetSpec": "minReadySeconds",
        "apps.v1.StatefulSetStatus": "observedGeneration readyReplicas currentReplicas updatedReplicas",
        "apps.v1.StatefulSetOrdinals": "",
        "batch.v1.JobStatus": "active succeeded failed",
        "policy.v1.PodDisruptionBudgetStatus": "observedGeneration",
        "autoscaling.v1.ScaleSpec": "replicas",
        "autoscaling.v2.HorizontalPodAutoscalerStatus": "currentReplicas",
        "networking.v1.ServiceBackendPort": "number",
        "scheduling.v1.PriorityClass": "globalDefault",
        "events.v1.Event": "deprecatedCount",
        "authorization.v1.SubjectAccessReviewStatus": "denied",
        "authorization.v1.SubjectRulesReviewStatus": "",
        "authentication.v1.TokenReviewStatus": "authenticated",
        "apiextensions.v1.CustomResourceDefinitionSpec": "preserveUnknownFields",
        "apiextensions.v1.CustomResourceDefinitionVersion": "deprecated",
        "apiextensions.v1.CustomResourceColumnDefinition": "priority",
        "apiextensions.v1.CustomResourceDefinitionStatus": "observedGeneration",
        "apiextensions.v1.CustomResourceDefinitionCondition": "observedGeneration",
        "apiextensions.v1.JSONSchemaProps": (
            "exclusiveMaximum exclusiveMinimum uniqueItems nullable x-kubernetes-embedded-resource "
            "x-kubernetes-int-or-string"
        ),
        "apiregistration.v1.APIServiceSpec": "insecureSkipTLSVerify",
        "admissionregistration.v1.ValidatingAdmissionPolicyStatus": "observedGeneration",
        "core.v1.ContainerImage": "sizeBytes",
        "flowcontrol.v1.ResourcePolicyRule": "clusterScope",
        "resource.v1.DeviceSubRequest": "count",
        "resource.v1.ExactDeviceRequest": "count",
    }
)

#: Optional strings that are pointers: an empty one is kept.
POINTER_STRINGS = _fields(
    {
        "core.v1.PodSpec": "runtimeClassName hostnameOverride preemptionPolicy",
        "core.v1.PersistentVolumeClaimSpec": "storageClassName volumeAttributesClassName dataSourceRef volumeMode",
        "core.v1.PersistentVolumeSpec": "volumeAttributesClassName volumeMode",
        "core.v1.ServiceSpec": "trafficDistribution loadBalancerClass internalTrafficPolicy ipFamilyPolicy",
        "core.v1.ServicePort": "appProtocol",
        "core.v1.EndpointPort": "appProtocol",
        "core.v1.TypedLocalObjectReference": "apiGroup",
        "core.v1.TypedObjectReference": "apiGroup namespace",
        "core.v1.HTTPHeader": "",
        "coordination.v1.LeaseSpec": "holderIdentity preferredHolder strategy",
        "networking.v1.IngressSpec": "ingressClassName",
        "networking.v1.IngressClassParametersReference": "apiGroup scope namespace",
        "networking.v1.HTTPIngressPath": "pathType",
        "discovery.v1.EndpointPort": "name protocol appProtocol",
        "discovery.v1.Endpoint": "hostname nodeName zone",
        "storage.v1.VolumeAttachmentSource": "persistentVolumeName",
        "admissionregistration.v1.ServiceReference": "path",
        "admissionregistration.v1.WebhookClientConfig": "url",
        "apiextensions.v1.ServiceReference": "path",
        "apiextensions.v1.WebhookClientConfig": "url",
        "apiextensions.v1.CustomResourceSubresourceScale": "labelSelectorPath",
        "apiextensions.v1.CustomResourceDefinitionVersion": "deprecationWarning",
        "apiextensions.v1.ValidationRule": "reason",
        "apiextensions.v1.JSONSchemaProps": (
            "$ref x-kubernetes-list-type x-kubernetes-map-type x-kubernetes-preserve-unknown-fields"
        ),
        "admissionregistration.v1.MatchResources": "matchPolicy",
        "admissionregistration.v1.MutatingAdmissionPolicySpec": "failurePolicy",
        "admissionregistration.v1.MutatingWebhook": "failurePolicy matchPolicy reinvocationPolicy",
        "admissionregistration.v1.ParamRef": "parameterNotFoundAction",
        "admissionregistration.v1.RuleWithOperations": "scope",
        "admissionregistration.v1.NamedRuleWithOperations": "scope",
        "admissionregistration.v1.ValidatingAdmissionPolicySpec": "failurePolicy",
        "admissionregistration.v1.ValidatingWebhook": "failurePolicy matchPolicy",
        "admissionregistration.v1.Validation": "reason",
        "autoscaling.v2.HPAScalingRules": "selectPolicy",
        "batch.v1.CronJobSpec": "timeZone",
        "batch.v1.JobSpec": "completionMode managedBy podReplacementPolicy",
        "batch.v1.JobStatus": "failedIndexes",
        "batch.v1.PodFailurePolicyOnExitCodesRequirement": "containerName",
        "batch.v1.SuccessPolicyRule": "succeededIndexes",
        "core.v1.AppArmorProfile": "localhostProfile",
        "core.v1.AzureDiskVolumeSource": "cachingMode fsType kind",
        "core.v1.CSIVolumeSource": "fsType",
        "core.v1.ClusterTrustBundleProjection": "name signerName",
        "core.v1.Container": "restartPolicy",
        "core.v1.ContainerStatus": "stopSignal",
        "core.v1.EphemeralContainer": "restartPolicy",
        "core.v1.EndpointAddress": "nodeName",
        "core.v1.GlusterfsPersistentVolumeSource": "endpointsNamespace",
        "core.v1.HostPathVolumeSource": "type",
        "core.v1.ISCSIPersistentVolumeSource": "initiatorName",
        "core.v1.ISCSIVolumeSource": "initiatorName",
        "core.v1.Lifecycle": "stopSignal",
        "core.v1.LoadBalancerIngress": "ipMode",
        "core.v1.LocalVolumeSource": "fsType",
        "core.v1.PersistentVolumeClaimStatus": "currentVolumeAttributesClassName",
        "core.v1.PodDNSConfigOption": "value",
        "core.v1.PodResourceClaim": "resourceClaimName resourceClaimTemplateName",
        "core.v1.PodResourceClaimStatus": "resourceClaimName",
        "core.v1.ResourceHealth": "message",
        "core.v1.VolumeMountStatus": "recursiveReadOnly",
        "core.v1.PodSecurityContext": "fsGroupChangePolicy seLinuxChangePolicy supplementalGroupsPolicy",
        "core.v1.PortStatus": "error",
        "core.v1.SeccompProfile": "localhostProfile",
        "core.v1.SecurityContext": "procMount",
        "core.v1.TopologySpreadConstraint": "nodeAffinityPolicy nodeTaintsPolicy",
        "core.v1.VolumeMount": "mountPropagation recursiveReadOnly",
        "core.v1.WindowsSecurityContextOptions": "gmsaCredentialSpec gmsaCredentialSpecName runAsUserName",
        "networking.v1.IngressPortStatus": "error",
        "networking.v1.NetworkPolicyPort": "protocol",
        "policy.v1.PodDisruptionBudgetSpec": "unhealthyPodEvictionPolicy",
        "resource.v1.AllocatedDeviceStatus": "shareID",
        "resource.v1.DeviceRequestAllocationResult": "shareID",
        "resource.v1.NodeAllocatableResourceMapping": "capacityKey",
        "resource.v1.Device": "nodeName",
        "resource.v1.DeviceAttribute": "string version",
        "resource.v1.DeviceClassSpec": "extendedResourceName",
        "resource.v1.DeviceConstraint": "distinctAttribute matchAttribute",
        "resource.v1.ResourceSliceSpec": "nodeName",
        "scheduling.v1.PriorityClass": "preemptionPolicy",
        "storage.v1.CSIDriverSpec": "fsGroupPolicy",
        "storage.v1.StorageClass": "reclaimPolicy volumeBindingMode",
    }
)

#: Optional structs that are not pointers: they are always encoded.
PLAIN_STRUCTS = _fields(
    {
        "core.v1.Container": "resources",
        "core.v1.EphemeralContainer": "resources",
        "core.v1.PersistentVolumeClaimSpec": "resources",
        "core.v1.ServiceStatus": "loadBalancer",
        "networking.v1.IngressStatus": "loadBalancer",
        "networking.v1.NetworkPolicySpec": "podSelector",
        "apps.v1.DeploymentSpec": "strategy",
        "apps.v1.DaemonSetSpec": "updateStrategy",
        "apps.v1.StatefulSetSpec": "updateStrategy",
        "core.v1.PodTemplateSpec": "metadata spec",
        "core.v1.PersistentVolumeClaim": "metadata",
        "core.v1.PersistentVolumeClaimTemplate": "metadata",
        "batch.v1.JobTemplateSpec": "metadata spec",
        "core.v1.NodeStatus": "daemonEndpoints nodeInfo",
        "core.v1.NodeDaemonEndpoints": "kubeletEndpoint",
        "core.v1.ContainerStatus": "state lastState",
        "core.v1.Event": "source",
        "events.v1.Event": "regarding deprecatedSource",
        "apiextensions.v1.CustomResourceDefinitionStatus": "acceptedNames",
        "resource.v1.ResourceClaimSpec": "devices",
        "resource.v1.ResourceClaimTemplateSpec": "metadata",
        "apps.v1.ReplicaSetSpec": "template",
        "authentication.v1.SelfSubjectReviewStatus": "userInfo",
        "authentication.v1.TokenReviewStatus": "user",
        "core.v1.PodTemplate": "template",
        "discovery.v1.Endpoint": "conditions",
        "flowcontrol.v1.LimitedPriorityLevelConfiguration": "limitResponse",
        "networking.v1.IngressServiceBackend": "port",
        "resource.v1.AllocationResult": "devices",
    }
)

#: Types besides conditions whose times are not pointers: a time that is not set is encoded as null.
PLAIN_TIMES = frozenset(
    {"ContainerStateRunning", "ContainerStateTerminated", "Event", "EventSeries", "VolumeError", "TokenRequestStatus"}
)


def has_plain_times(type: str) -> bool:
    """Whether the times of a type are not pointers."""
    struct = type.rpartition(".")[2]
    return struct.endswith("Condition") or struct in PLAIN_TIMES


#: Defaults of key fields of lists, which server-side apply uses (`+default` in the types). Other required key fields
#: default to the zero value of their type.
KEY_DEFAULTS = {
    "core.v1.ContainerPort.protocol": "TCP",
    "core.v1.ServicePort.protocol": "TCP",
    "core.v1.LocalObjectReference.name": "",
}


#: Maps and lists that admission or field management distinguish from absent ones even if they are empty; they are
#: decoded as null.
EMPTY_COUNTS = frozenset(
    {"core.v1.PodSpec.overhead", "meta.v1.ObjectMeta.managedFields", "autoscaling.v2.HPAScalingRules.policies"}
)


#: Optional fields without omitempty, and required fields that are pointers: their zero value is encoded (null for a nil
#: pointer or list).
ALWAYS: dict[str, object] = {
    "admissionregistration.v1.MutatingWebhook.sideEffects": None,
    "admissionregistration.v1.ValidatingWebhook.sideEffects": None,
    "apps.v1.DaemonSetSpec.selector": None,
    "apps.v1.DeploymentSpec.selector": None,
    "apps.v1.ReplicaSetSpec.selector": None,
    "apps.v1.StatefulSetSpec.selector": None,
    "apps.v1.StatefulSetOrdinals.start": 0,
    "apps.v1.StatefulSetSpec.serviceName": "",
    "apps.v1.StatefulSetStatus.availableReplicas": 0,
    "core.v1.Event.reportingComponent": "",
    "core.v1.Event.reportingInstance": "",
    "apiextensions.v1.CustomResourceDefinitionStatus.conditions": None,
    "apiextensions.v1.CustomResourceDefinitionStatus.storedVersions": None,
    "rbac.v1.Role.rules": None,
    "rbac.v1.ClusterRole.rules": None,
    "autoscaling.v2.HorizontalPodAutoscalerStatus.currentMetrics": None,
    "core.v1.AzureFilePersistentVolumeSource.secretNamespace": None,
    "core.v1.ContainerImage.names": None,
    "core.v1.NodeRuntimeHandler.name": "",
    "core.v1.ProjectedVolumeSource.sources": None,
    "core.v1.ScaleIOPersistentVolumeSource.secretRef": None,
    "core.v1.ScaleIOVolumeSource.secretRef": None,
    "core.v1.TypedLocalObjectReference.apiGroup": None,
    "core.v1.TypedObjectReference.apiGroup": None,
    "discovery.v1.EndpointSlice.endpoints": None,
    "discovery.v1.EndpointSlice.ports": None,
    "flowcontrol.v1.LimitedPriorityLevelConfiguration.nominalConcurrencyShares": None,
    "flowcontrol.v1.QueuingConfiguration.handSize": 0,
    "flowcontrol.v1.QueuingConfiguration.queueLengthLimit": 0,
    "flowcontrol.v1.QueuingConfiguration.queues": 0,
    "flowcontrol.v1.ResourcePolicyRule.namespaces": None,
    "networking.v1.HTTPIngressPath.pathType": None,
    "networking.v1.IngressClassParametersReference.scope": None,
    "policy.v1.PodDisruptionBudgetStatus.currentHealthy": 0,
    "policy.v1.PodDisruptionBudgetStatus.desiredHealthy": 0,
    "policy.v1.PodDisruptionBudgetStatus.disruptionsAllowed": 0,
    "policy.v1.PodDisruptionBudgetStatus.expectedPods": 0,
    "resource.v1.AllocatedDeviceStatus.conditions": None,
    "resource.v1.CapacityRequestPolicy.default": None,
    "resource.v1.DeviceClaim.requests": None,
    "scheduling.v1.PriorityClass.value": 0,
    "storage.v1.CSINodeDriver.topologyKeys": None,
}


#: The same in the versions up to 1.N: TYPE.FIELD -> N and the zero value.
ALWAYS_UNTIL: dict[str, tuple[int, object]] = {
    "meta.v1.ObjectMeta.creationTimestamp": (33, None),
    "batch.v1.PodFailurePolicyRule.onExitCodes": (27, None),
    "batch.v1.PodFailurePolicyRule.onPodConditions": (27, None),
    "batch.v1.PodFailurePolicyOnExitCodesRequirement.containerName": (27, None),
    "resource.v1.ResourceSliceSpec.devices": (34, None),
    "resource.v1beta1.ResourceSliceSpec.devices": (34, None),
    "resource.v1beta2.ResourceSliceSpec.devices": (34, None),
    "resource.v1beta1.DeviceRequestAllocationResult.adminAccess": (33, None),
    "resource.v1beta2.DeviceRequestAllocationResult.adminAccess": (33, None),
}


def always_in(minor: int, type: str) -> dict[str, object]:
    """The fields of a type that version 1.`minor` encodes though they are not set, beside those of ALWAYS."""
    found = {}
    for where, (last, value) in ALWAYS_UNTIL.items():
        owner, _, field = where.rpartition(".")
        if owner == type and minor <= last:
            found[field] = value
    return found


#: Required fields with omitempty: they are omitted if they are not set.
OMITTED = frozenset(
    {
        "admissionregistration.v1.ValidatingAdmissionPolicyBindingSpec.policyName",
        "admissionregistration.v1.ValidatingAdmissionPolicyBindingSpec.validationActions",
        "core.v1.ContainerRestartRule.action",
        "core.v1.ContainerRestartRuleOnExitCodes.operator",
        "core.v1.ImageVolumeStatus.imageRef",
        "core.v1.PodCertificateProjection.keyType",
        "core.v1.PodCertificateProjection.signerName",
        "networking.v1.IPAddressSpec.parentRef",
        "networking.v1.ParentReference.name",
        "networking.v1.ParentReference.resource",
        "resource.v1.CapacityRequestPolicyRange.min",
        "resource.v1.CounterSet.counters",
        "resource.v1.DeviceCounterConsumption.counters",
        "authentication.v1.TokenReviewSpec.token",
    }
)
