"""Limits and defaults that Kubernetes' sources declare as constants: their names there, and ours.

Other tests try values on both sides of a limit; most take the limit from the module, and would follow a wrong one.
"""

from importlib import import_module

import pytest

from fakekube.apiserver.cel.sizes import SizeEstimate

KIB = 1024
MIB = 1024 * 1024

#: Name in Kubernetes -> module below `fakekube.apiserver`, name there, value.
CONSTANTS = {
    # requests (apiserver `server/config.go`, `endpoints/handlers/patch.go`, `endpoints/filters/warning.go`)
    "MaxRequestBodyBytes": ("wire.codec", "MAX_BODY", 3 * MIB),
    "JSONPatchMaxCopyBytes": ("patch.json_patch", "MAX_COPIED", 3 * MIB),
    "maxJSONPatchOperations": ("patch.json_patch", "MAX_OPERATIONS", 10_000),
    "truncateAtTotalRunes": ("wire.warning", "TOTAL_LIMIT", 4096),
    "truncateItemRunes": ("wire.warning", "ITEM_LIMIT", 256),
    "TotalAnnotationSizeLimitB": ("schema.objectmeta", "ANNOTATIONS_LIMIT", 256 * KIB),
    "DefaultMaxUpdateManagers": ("apply.managedfields", "MAX_UPDATE_MANAGERS", 10),
    "FieldManagerMaxLength": ("apply.managedfields", "MANAGER_LIMIT", 128),
    # tokens (`registry/core/serviceaccount/storage/token.go`, `apis/authentication/validation`)
    "WarnOnlyBoundTokenExpirationPeriod": ("auth.serviceaccounttoken", "EXTENDED", 3607),
    "ExpirationExtensionSeconds": ("auth.serviceaccounttoken", "EXTENSION", 31_536_000),
    "DefaultLeeway": ("auth.serviceaccounttoken", "LEEWAY", 60),
    "MinTokenAgeSec": ("endpoints.subresources.token", "SHORTEST", 600),
    # admission
    "defaultNamespaceMaxPodsToCheck": ("admission.podsecurity", "PODS_CHECKED", 3000),
    "DefaultTolerationSeconds": ("admission.tolerations", "SECONDS", 300),
    "maxAuditAnnotationValueLength": ("admission.policies", "LONGEST_MESSAGE", 5 * KIB),
    "MaxDisruptedPodSize": ("endpoints.subresources.eviction", "MAX_DISRUPTED", 2000),
    # expressions (`apiserver/pkg/cel/limits.go`, `apis/cel/config.go`)
    "PerCallLimit": ("cel.activation", "CALL_LIMIT", 1_000_000),
    "RuntimeCELCostBudget": ("crd.validationrules", "OBJECT_LIMIT", 10_000_000),
    "StaticEstimatedCostLimit": (
        "registry.apiextensions.customresourcedefinition.celvalidation", "RULE_LIMIT", 10_000_000,
    ),
    "StaticEstimatedCRDCostLimit": (
        "registry.apiextensions.customresourcedefinition.celvalidation", "TOTAL_LIMIT", 100_000_000,
    ),
    "MaxEvaluatedMessageExpressionSizeBytes": ("crd.validationrules", "MESSAGE_LIMIT", 5 * KIB),
    "MaxRequestSizeBytes": ("crd.decltypes", "REQUEST_LIMIT", 3 * MIB),
    "MaxSelectableFields": ("registry.apiextensions.customresourcedefinition.validation", "SELECTABLE_LIMIT", 8),
    # validation of kinds (`pkg/apis/*/validation`)
    "maxReasonLen": ("registry.generic.validation.conditions", "LONGEST_REASON", 1024),
    "maxMessageLen": ("registry.generic.validation.conditions", "LONGEST_MESSAGE", 32_768),
    "maxMatchConditions": ("registry.admissionregistration.matching", "MOST_CONDITIONS", 64),
    "maxAuditAnnotations": ("registry.admissionregistration.validatingadmissionpolicy", "MOST_ANNOTATIONS", 20),
    "maxAuditAnnotationValueExpressionLength": (
        "registry.admissionregistration.validatingadmissionpolicy", "LONGEST_ANNOTATION_VALUE", 5 * KIB,
    ),
    "GroupPriorityMinimum": ("registry.apiregistration.apiservice", "MOST_GROUP_PRIORITY", 20_000),
    "VersionPriority": ("registry.apiregistration.apiservice", "MOST_VERSION_PRIORITY", 1000),
    "MaxPeriodSeconds": ("registry.autoscaling.horizontalpodautoscaler.validation", "LONGEST_PERIOD", 1800),
    "MaxStabilizationWindowSeconds": (
        "registry.autoscaling.horizontalpodautoscaler.validation", "LONGEST_WINDOW", 3600,
    ),
    "maxParallelismForIndexedJob": ("registry.batch.job.validation", "MANY", 100_000),
    "parallelismLimitForHighCompletions": ("registry.batch.job.validation", "FEW", 10_000),
    "maxPodFailurePolicyRules": ("registry.batch.job.validation", "RULES", 20),
    "maxPodFailurePolicyOnExitCodesValues": ("registry.batch.job.validation", "EXIT_CODES", 255),
    "maxPodFailurePolicyOnPodConditionsPatterns": ("registry.batch.job.validation", "PATTERNS", 20),
    "completionsSoftLimit": ("registry.batch.job.warnings", "MANY_COMPLETIONS", 100_000),
    "MaxSecretSize": ("registry.core.configmap", "SIZE_LIMIT", MIB),
    "SysctlMaxLength": ("registry.core.pod.validation.sysctls", "MAX_LENGTH", 253),
    "DefaultClientIPServiceAffinitySeconds": ("registry.core.service.defaults", "AFFINITY_SECONDS", 10_800),
    "MaxClientIPServiceAffinitySeconds": ("registry.core.service.validation", "AFFINITY_LIMIT", 86_400),
    "maxEndpoints": ("registry.discovery.endpointslice", "MAX_ENDPOINTS", 1000),
    "maxAddresses": ("registry.discovery.endpointslice", "MAX_ADDRESSES", 100),
    "maxPorts": ("registry.discovery.endpointslice", "MAX_PORTS", 20_000),
    "maxTopologyLabels": ("registry.discovery.endpointslice", "MAX_TOPOLOGY", 16),
    "maxZoneHints": ("registry.discovery.endpointslice", "MAX_HINTS", 8),
    "FlowSchemaMaxMatchingPrecedence": ("registry.flowcontrol.flowschema", "LAST_PRECEDENCE", 10_000),
    "priorityLevelConfigurationQueuingMaxQueues": (
        "registry.flowcontrol.prioritylevelconfiguration", "MOST_QUEUES", 10_000_000,
    ),
    "MaxHashBits": ("registry.flowcontrol.prioritylevelconfiguration", "MOST_HASH_BITS", 60),
    "maxLenIngressClassController": ("registry.networking.ingressclass", "CONTROLLER_LIMIT", 250),
    "HighestUserDefinablePriority": ("registry.scheduling.priorityclass", "HIGHEST", 1_000_000_000),
    "csiNodeIDMaxLength": ("registry.storage.csinode", "NODE_ID_LIMIT", 256),
    "maxProvisionerParameterLen": ("registry.storage.storageclass", "MAX_PARAMETERS", 512),
    "maxProvisionerParameterSize": ("registry.storage.storageclass", "MAX_PARAMETER_BYTES", 256 * KIB),
    "maxAttachedVolumeMetadataSize": ("registry.storage.volumeattachment", "ATTACHMENT_BYTES", 256 * KIB),
    "maxVolumeErrorMessageSize": ("registry.storage.volumeattachment", "MESSAGE_BYTES", 1024),
    "APIRegistrationGroupPriority": ("registry.apiregistration.autoregister", "MOST_PRIORITY", 20_000),
    "CustomResourcePriority": ("registry.apiregistration.autoregister", "CUSTOM_PRIORITY", (1000, 100)),
    # costs of expressions (`checker.CostEstimator`)
    "UnknownSizeEstimate": ("cel.sizes", "UNKNOWN", SizeEstimate(0, 2**64 - 1)),
    # devices (`pkg/apis/resource/types.go`)
    "CapacityRequestPolicyDiscreteMaxOptions": ("registry.resource.capacity", "MOST_VALUES", 10),
    "CELSelectorExpressionMaxCost": ("registry.resource.deviceexpressions", "COST_LIMIT", 1_000_000),
    "CELSelectorExpressionMaxLength": ("registry.resource.deviceexpressions", "LONGEST_EXPRESSION", 10 * KIB),
    "DeviceRequestsMaxSize": ("registry.resource.devices", "MOST_REQUESTS", 32),
    "DeviceConstraintsMaxSize": ("registry.resource.devices", "MOST_CONSTRAINTS", 32),
    "DeviceConfigMaxSize": ("registry.resource.devices", "MOST_CONFIGS", 32),
    "DeviceSelectorsMaxSize": ("registry.resource.devices", "MOST_SELECTORS", 32),
    "FirstAvailableDeviceRequestMaxSize": ("registry.resource.devices", "MOST_ALTERNATIVES", 8),
    "BindingConditionsMaxSize": ("registry.resource.devices", "MOST_BINDING_CONDITIONS", 4),
    "OpaqueParametersMaxLength": ("registry.resource.devices", "LONGEST_RAW_OBJECT", 10 * KIB),
    "DeviceMaxIDLength": ("registry.resource.devices", "LONGEST_NAME", 32),
    "PoolNameMaxLength": ("registry.resource.devices", "LONGEST_POOL", 253),
    "AllocationResultsMaxSize": ("registry.resource.resourceclaim", "MOST_RESULTS", 32),
    "ResourceClaimReservedForMaxSize": ("registry.resource.resourceclaim", "MOST_CONSUMERS", 256),
    "DeviceAttributeMaxValueLength": ("registry.resource.resourceslice", "LONGEST_VALUE", 64),
    "ResourceSliceMaxDevices": ("registry.resource.resourceslice", "MOST_DEVICES", 128),
    "ResourceSliceMaxDevicesWithAdvancedFeatures": ("registry.resource.resourceslice", "MOST_ADVANCED_DEVICES", 64),
    "ResourceSliceMaxAttributesAndCapacitiesPerDevice": ("registry.resource.resourceslice", "MOST_ATTRIBUTES", 32),
    "ResourceSliceMaxAttributeValuesPerDevice": ("registry.resource.resourceslice", "MOST_VALUES", 48),
    "DeviceTaintsMaxLength": ("registry.resource.resourceslice", "MOST_TAINTS", 16),
    "ResourceSliceMaxCounterSets": ("registry.resource.resourceslice", "MOST_COUNTER_SETS", 8),
    "ResourceSliceMaxCountersPerCounterSet": ("registry.resource.resourceslice", "MOST_COUNTERS", 32),
    "ResourceSliceMaxDeviceCounterConsumptionsPerDevice": ("registry.resource.resourceslice", "MOST_CONSUMPTIONS", 2),
}  # fmt: skip


@pytest.mark.parametrize("constant", CONSTANTS)
def test_a_limit_is_that_of_kubernetes(constant):
    module, name, value = CONSTANTS[constant]
    assert getattr(import_module(f"fakekube.apiserver.{module}"), name) == value


def test_priorities_of_the_system():
    found = import_module("fakekube.apiserver.registry.scheduling.priorityclass").SYSTEM_PRIORITIES
    assert found == {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}


def test_fields_that_go_always_encodes_have_zero_values():
    found = import_module("fakekube.apiserver.schema.omitempty")
    values = [*found.ALWAYS.values(), *(value for _, value in found.ALWAYS_UNTIL.values())]
    assert [value for value in values if value not in (None, "", 0, False, [], {})] == []


def test_fields_that_earlier_versions_always_encode():
    found = import_module("fakekube.apiserver.schema.omitempty").ALWAYS_UNTIL
    lasts = {field.rpartition(".")[2]: last for field, (last, _) in found.items()}
    assert lasts == {
        "creationTimestamp": 33, "onExitCodes": 27, "onPodConditions": 27, "containerName": 27, "devices": 34,
        "adminAccess": 33,
    }  # fmt: skip
