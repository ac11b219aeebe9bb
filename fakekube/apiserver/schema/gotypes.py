"""Named Go types of fields, as far as they differ from the types of their values: errors about JSON name them.

Facts about `k8s.io/api` that OpenAPI does not specify: TYPE -> `STRUCT.FIELD`, and the structs that others embed.
"""

from __future__ import annotations

from collections.abc import Mapping

from fakekube.apiserver.features import since

_FIELDS: Mapping[str, str] = {
    "[]types.UID": "UncountedTerminatedPods.failed UncountedTerminatedPods.succeeded",
    "[]v1.Capability": "Capabilities.add Capabilities.drop",
    "[]v1.FinalizerName": "NamespaceSpec.finalizers",
    "[]v1.IPFamily": "ServiceSpec.ipFamilies",
    "[]v1.JSON": "JSONSchemaProps.enum",
    "[]v1.KeyUsage": "CertificateSigningRequestSpec.usages",
    "[]v1.OperationType": "RuleWithOperations.operations",
    "[]v1.PersistentVolumeAccessMode": (
        "PersistentVolumeClaimSpec.accessModes PersistentVolumeClaimStatus.accessModes PersistentVolumeSpec.accessModes"
    ),
    "[]v1.PolicyType": "NetworkPolicySpec.policyTypes",
    "[]v1.ResourceQuotaScope": "ResourceQuotaSpec.scopes",
    "[]v1.UniqueVolumeName": "NodeStatus.volumesInUse",
    "[]v1.ValidationAction": "ValidatingAdmissionPolicyBindingSpec.validationActions",
    "[]v1.VolumeLifecycleMode": "CSIDriverSpec.volumeLifecycleModes",
    "map[string]v1.ExtraValue": "CertificateSigningRequestSpec.extra SubjectAccessReviewSpec.extra UserInfo.extra",
    "map[v1.QualifiedName]resource.Quantity": (
        "CapacityRequirements.requests DeviceRequestAllocationResult.consumedCapacity"
    ),
    "map[v1.QualifiedName]v1.DeviceAttribute": "Device.attributes",
    "map[v1.QualifiedName]v1.DeviceCapacity": "Device.capacity",
    "map[v1.ResourceName]resource.Quantity": "NodeAllocatableResourceClaimStatus.resources",
    "map[v1.ResourceName]v1.ClaimResourceStatus": "PersistentVolumeClaimStatus.allocatedResourceStatuses",
    "map[v1.ResourceName]v1.NodeAllocatableResourceMapping": "Device.nodeAllocatableResourceMappings",
    "types.UID": (
        "BoundObjectReference.uid ConfigMapNodeConfigSource.uid DeviceRequestAllocationResult.shareID "
        "ObjectMeta.uid ObjectReference.uid OwnerReference.uid Preconditions.uid "
        "ResourceClaimConsumerReference.uid StatusDetails.uid"
    ),
    "v1.APIServiceConditionType": "APIServiceCondition.type",
    "v1.AddressType": "EndpointSlice.addressType",
    "v1.AllocationConfigSource": "DeviceAllocationConfiguration.source",
    "v1.AppArmorProfileType": "AppArmorProfile.type",
    "v1.AzureDataDiskCachingMode": "AzureDiskVolumeSource.cachingMode",
    "v1.AzureDataDiskKind": "AzureDiskVolumeSource.kind",
    "v1.CauseType": "StatusCause.reason",
    "v1.CompletionMode": "JobSpec.completionMode",
    "v1.ComponentConditionType": "ComponentCondition.type",
    "v1.ConcurrencyPolicy": "CronJobSpec.concurrencyPolicy",
    "v1.ConditionStatus": (
        "APIServiceCondition.status CertificateSigningRequestCondition.status ComponentCondition.status "
        "Condition.status CustomResourceDefinitionCondition.status DaemonSetCondition.status "
        "DeploymentCondition.status FlowSchemaCondition.status HorizontalPodAutoscalerCondition.status "
        "JobCondition.status NamespaceCondition.status NodeCondition.status "
        "PersistentVolumeClaimCondition.status PodCondition.status "
        "PodFailurePolicyOnPodConditionsPattern.status PriorityLevelConfigurationCondition.status "
        "ReplicaSetCondition.status ReplicationControllerCondition.status StatefulSetCondition.status"
    ),
    "v1.ContainerRestartPolicy": "Container.restartPolicy",
    "v1.ContainerRestartRuleAction": "ContainerRestartRule.action",
    "v1.ContainerRestartRuleOnExitCodesOperator": "ContainerRestartRuleOnExitCodes.operator",
    "v1.ConversionStrategyType": "CustomResourceConversion.strategy",
    "v1.CoordinatedLeaseStrategy": "LeaseSpec.strategy",
    "v1.CustomResourceDefinitionConditionType": "CustomResourceDefinitionCondition.type",
    "v1.DNSPolicy": "PodSpec.dnsPolicy",
    "v1.DaemonSetConditionType": "DaemonSetCondition.type",
    "v1.DaemonSetUpdateStrategyType": "DaemonSetUpdateStrategy.type",
    "v1.DeletionPropagation": "DeleteOptions.propagationPolicy",
    "v1.DeploymentConditionType": "DeploymentCondition.type",
    "v1.DeploymentStrategyType": "DeploymentStrategy.type",
    "v1.DeviceAllocationMode": "DeviceSubRequest.allocationMode ExactDeviceRequest.allocationMode",
    "v1.DeviceTaintEffect": "DeviceTaint.effect DeviceToleration.effect",
    "v1.DeviceTolerationOperator": "DeviceToleration.operator",
    "v1.FSGroupPolicy": "CSIDriverSpec.fsGroupPolicy",
    "v1.FailurePolicyType": (
        "MutatingAdmissionPolicySpec.failurePolicy MutatingWebhook.failurePolicy "
        "ValidatingAdmissionPolicySpec.failurePolicy ValidatingWebhook.failurePolicy"
    ),
    "v1.FieldSelectorOperator": "FieldSelectorRequirement.operator",
    "v1.FieldValueErrorReason": "ValidationRule.reason",
    "v1.FieldsV1": "ManagedFieldsEntry.fieldsV1",
    "v1.FlowDistinguisherMethodType": "FlowDistinguisherMethod.type",
    "v1.FlowSchemaConditionType": "FlowSchemaCondition.type",
    "v1.FullyQualifiedName": "DeviceConstraint.distinctAttribute DeviceConstraint.matchAttribute",
    "v1.HostPathType": "HostPathVolumeSource.type",
    "v1.IPFamilyPolicy": "ServiceSpec.ipFamilyPolicy",
    "v1.JSONSchemaDefinitions": "JSONSchemaProps.definitions",
    "v1.JSONSchemaDependencies": "JSONSchemaProps.dependencies",
    "v1.JSONSchemaURL": "JSONSchemaProps.$schema",
    "v1.JobConditionType": "JobCondition.type",
    "v1.LabelSelectorOperator": "LabelSelectorRequirement.operator",
    "v1.LimitResponseType": "LimitResponse.type",
    "v1.LimitType": "LimitRangeItem.type",
    "v1.LoadBalancerIPMode": "LoadBalancerIngress.ipMode",
    "v1.ManagedFieldsOperationType": "ManagedFieldsEntry.operation",
    "v1.MatchPolicyType": "MatchResources.matchPolicy MutatingWebhook.matchPolicy ValidatingWebhook.matchPolicy",
    "v1.MountPropagationMode": "VolumeMount.mountPropagation",
    "v1.NamespaceConditionType": "NamespaceCondition.type",
    "v1.NamespacePhase": "NamespaceStatus.phase",
    "v1.NodeAddressType": "NodeAddress.type",
    "v1.NodeConditionType": "NodeCondition.type",
    "v1.NodeInclusionPolicy": "TopologySpreadConstraint.nodeAffinityPolicy TopologySpreadConstraint.nodeTaintsPolicy",
    "v1.NodePhase": "NodeStatus.phase",
    "v1.NodeSelectorOperator": "NodeSelectorRequirement.operator",
    "v1.OSName": "PodOS.name",
    "v1.ParameterNotFoundActionType": "ParamRef.parameterNotFoundAction",
    "v1.PatchType": "Mutation.patchType",
    "v1.PathType": "HTTPIngressPath.pathType",
    "v1.PersistentVolumeClaimConditionType": "PersistentVolumeClaimCondition.type",
    "v1.PersistentVolumeClaimModifyVolumeStatus": "ModifyVolumeStatus.status",
    "v1.PersistentVolumeClaimPhase": "PersistentVolumeClaimStatus.phase",
    "v1.PersistentVolumeClaimRetentionPolicyType": (
        "StatefulSetPersistentVolumeClaimRetentionPolicy.whenDeleted "
        "StatefulSetPersistentVolumeClaimRetentionPolicy.whenScaled"
    ),
    "v1.PersistentVolumeMode": "PersistentVolumeClaimSpec.volumeMode PersistentVolumeSpec.volumeMode",
    "v1.PersistentVolumePhase": "PersistentVolumeStatus.phase",
    "v1.PersistentVolumeReclaimPolicy": "PersistentVolumeSpec.persistentVolumeReclaimPolicy StorageClass.reclaimPolicy",
    "v1.PodConditionType": (
        "PodCondition.type PodFailurePolicyOnPodConditionsPattern.type PodReadinessGate.conditionType"
    ),
    "v1.PodFSGroupChangePolicy": "PodSecurityContext.fsGroupChangePolicy",
    "v1.PodFailurePolicyAction": "PodFailurePolicyRule.action",
    "v1.PodFailurePolicyOnExitCodesOperator": "PodFailurePolicyOnExitCodesRequirement.operator",
    "v1.PodManagementPolicyType": "StatefulSetSpec.podManagementPolicy",
    "v1.PodPhase": "PodStatus.phase",
    "v1.PodQOSClass": "PodStatus.qosClass",
    "v1.PodReplacementPolicy": "JobSpec.podReplacementPolicy",
    "v1.PodResizeStatus": "PodStatus.resize",
    "v1.PodSELinuxChangePolicy": "PodSecurityContext.seLinuxChangePolicy",
    "v1.PreemptionPolicy": "PodSpec.preemptionPolicy PriorityClass.preemptionPolicy",
    "v1.PriorityLevelConfigurationConditionType": "PriorityLevelConfigurationCondition.type",
    "v1.PriorityLevelEnablement": "PriorityLevelConfigurationSpec.type",
    "v1.ProcMountType": "SecurityContext.procMount",
    "v1.Protocol": (
        "ContainerPort.protocol EndpointPort.protocol IngressPortStatus.protocol NetworkPolicyPort.protocol "
        "PortStatus.protocol ServicePort.protocol"
    ),
    "v1.PullPolicy": "Container.imagePullPolicy ImageVolumeSource.pullPolicy",
    "v1.QualifiedName": "NodeAllocatableResourceMapping.capacityKey",
    "v1.RecursiveReadOnlyMode": "VolumeMount.recursiveReadOnly VolumeMountStatus.recursiveReadOnly",
    "v1.ReinvocationPolicyType": "MutatingAdmissionPolicySpec.reinvocationPolicy MutatingWebhook.reinvocationPolicy",
    "v1.ReplicaSetConditionType": "ReplicaSetCondition.type",
    "v1.ReplicationControllerConditionType": "ReplicationControllerCondition.type",
    "v1.RequestConditionType": "CertificateSigningRequestCondition.type",
    "v1.ResourceHealthStatus": "ResourceHealth.health",
    "v1.ResourceID": "ResourceHealth.resourceID",
    "v1.ResourceList": (
        "ContainerStatus.allocatedResources LimitRangeItem.default LimitRangeItem.defaultRequest "
        "LimitRangeItem.max LimitRangeItem.maxLimitRequestRatio LimitRangeItem.min NodeStatus.allocatable "
        "NodeStatus.capacity Overhead.podFixed PersistentVolumeClaimStatus.allocatedResources "
        "PersistentVolumeClaimStatus.capacity PersistentVolumeSpec.capacity PodSpec.overhead "
        "PodStatus.allocatedResources ResourceQuotaSpec.hard ResourceQuotaStatus.hard "
        "ResourceQuotaStatus.used ResourceRequirements.limits ResourceRequirements.requests "
        "VolumeResourceRequirements.limits VolumeResourceRequirements.requests"
    ),
    "v1.ResourceName": (
        "ContainerResizePolicy.resourceName ContainerResourceMetricSource.name "
        "ContainerResourceMetricStatus.name ResourceMetricSource.name ResourceMetricStatus.name "
        "ResourceStatus.name"
    ),
    "v1.ResourceQuotaScope": "ScopedResourceSelectorRequirement.scopeName",
    "v1.ResourceResizeRestartPolicy": "ContainerResizePolicy.restartPolicy",
    "v1.ResourceScope": "CustomResourceDefinitionSpec.scope",
    "v1.RestartPolicy": "PodSpec.restartPolicy",
    "v1.ScopeSelectorOperator": "ScopedResourceSelectorRequirement.operator",
    "v1.SeccompProfileType": "SeccompProfile.type",
    "v1.SecretType": "Secret.type",
    "v1.ServiceAffinity": "ServiceSpec.sessionAffinity",
    "v1.ServiceExternalTrafficPolicy": "ServiceSpec.externalTrafficPolicy",
    "v1.ServiceInternalTrafficPolicy": "ServiceSpec.internalTrafficPolicy",
    "v1.ServiceType": "ServiceSpec.type",
    "v1.SideEffectClass": "MutatingWebhook.sideEffects ValidatingWebhook.sideEffects",
    "v1.Signal": "ContainerStatus.stopSignal Lifecycle.stopSignal",
    "v1.StatefulSetConditionType": "StatefulSetCondition.type",
    "v1.StatefulSetUpdateStrategyType": "StatefulSetUpdateStrategy.type",
    "v1.StatusReason": "Status.reason Validation.reason",
    "v1.StorageMedium": "EmptyDirVolumeSource.medium",
    "v1.SupplementalGroupsPolicy": "PodSecurityContext.supplementalGroupsPolicy",
    "v1.TaintEffect": "Taint.effect Toleration.effect",
    "v1.TerminationMessagePolicy": "Container.terminationMessagePolicy",
    "v1.TolerationOperator": "Toleration.operator",
    "v1.URIScheme": "HTTPGetAction.scheme",
    "v1.UnhealthyPodEvictionPolicyType": "PodDisruptionBudgetSpec.unhealthyPodEvictionPolicy",
    "v1.UniqueVolumeName": "AttachedVolume.name",
    "v1.UnsatisfiableConstraintAction": "TopologySpreadConstraint.whenUnsatisfiable",
    "v1.ValidationRules": "JSONSchemaProps.x-kubernetes-validations",
    "v1.Verbs": "APIResource.verbs",
    "v1.VolumeBindingMode": "StorageClass.volumeBindingMode",
    "v2.HPAScalingPolicyType": "HPAScalingPolicy.type",
    "v2.HorizontalPodAutoscalerConditionType": "HorizontalPodAutoscalerCondition.type",
    "v2.MetricSourceType": "MetricSpec.type MetricStatus.type",
    "v2.MetricTargetType": "MetricTarget.type",
    "v2.ScalingPolicySelect": "HPAScalingRules.selectPolicy",
}

#: STRUCT.FIELD -> the Go type of the field.
GO_TYPES: Mapping[str, str] = {field: type for type, fields in _FIELDS.items() for field in fields.split()}

#: Struct -> the struct that it embeds, and its own fields: paths in errors name the embedded struct before all others.
_EMBEDDED: Mapping[str, tuple[str, str]] = {
    "ConfigMapEnvSource": ("LocalObjectReference", "optional"),
    "ConfigMapKeySelector": ("LocalObjectReference", "key optional"),
    "ConfigMapProjection": ("LocalObjectReference", "items optional"),
    "ConfigMapVolumeSource": ("LocalObjectReference", "items defaultMode optional"),
    "DeviceAllocationConfiguration": ("DeviceConfiguration", "source requests"),
    "DeviceClaimConfiguration": ("DeviceConfiguration", "requests"),
    "DeviceClassConfiguration": ("DeviceConfiguration", ""),
    "EphemeralContainer": ("EphemeralContainerCommon", "targetContainerName"),
    "IngressRule": ("IngressRuleValue", "host"),
    "NamedRuleWithOperations": ("RuleWithOperations", "resourceNames"),
    "PersistentVolumeSpec": (
        "PersistentVolumeSource",
        "capacity accessModes claimRef persistentVolumeReclaimPolicy storageClassName mountOptions volumeMode "
        "nodeAffinity volumeAttributesClassName",
    ),
    "Probe": (
        "ProbeHandler",
        "initialDelaySeconds timeoutSeconds periodSeconds successThreshold failureThreshold "
        "terminationGracePeriodSeconds",
    ),
    "RuleWithOperations": ("Rule", "operations"),
    "SecretEnvSource": ("LocalObjectReference", "optional"),
    "SecretKeySelector": ("LocalObjectReference", "key optional"),
    "SecretProjection": ("LocalObjectReference", "items optional"),
    "Volume": ("VolumeSource", "name"),
}

EMBEDDED: Mapping[str, tuple[str, frozenset[str]]] = {
    struct: (embedded, frozenset(own.split())) for struct, (embedded, own) in _EMBEDDED.items()
}


def in_path(struct: str, field: str) -> str:
    """The field in the path of an error: after the names of the embedded structs that have it, from 1.35 on."""
    names: list[str] = []
    if not since(35):
        return field
    while struct in EMBEDDED and field not in EMBEDDED[struct][1]:
        struct = EMBEDDED[struct][0]
        names.append(struct)
    return ".".join([*names, field])
