"""The internal structs of Kubernetes as `gostructs` describes them: those of pods, volumes and claims (`pkg/apis`)."""

from __future__ import annotations

#: Struct -> its fields in order.
INTERNAL = {
    "AWSElasticBlockStoreVolumeSource": 'VolumeID="" FSType=""~fsType Partition=0 ReadOnly=false',
    "Affinity": "NodeAffinity:NodeAffinity PodAffinity:PodAffinity PodAntiAffinity:PodAntiAffinity",
    "AppArmorProfile": 'Type="" LocalhostProfile',
    "AzureDiskVolumeSource": 'DiskName="" DataDiskURI=""~diskURI CachingMode FSType~fsType ReadOnly Kind',
    "AzureFilePersistentVolumeSource": 'SecretName="" ShareName="" ReadOnly=false SecretNamespace',
    "AzureFileVolumeSource": 'SecretName="" ShareName="" ReadOnly=false',
    "CELDeviceSelector": 'Expression=""',
    "CSIPersistentVolumeSource": (
        'Driver="" VolumeHandle="" ReadOnly=false FSType=""~fsType VolumeAttributes '
        "ControllerPublishSecretRef:SecretReference NodeStageSecretRef:SecretReference "
        "NodePublishSecretRef:SecretReference ControllerExpandSecretRef:SecretReference "
        "NodeExpandSecretRef:SecretReference"
    ),
    "CSIVolumeSource": ('Driver="" ReadOnly FSType~fsType VolumeAttributes NodePublishSecretRef:LocalObjectReference'),
    "Capabilities": "Add Drop",
    "CapacityRequirements": "Requests",
    "CephFSPersistentVolumeSource": ('Monitors Path="" User="" SecretFile="" SecretRef:SecretReference ReadOnly=false'),
    "CephFSVolumeSource": 'Monitors Path="" User="" SecretFile="" SecretRef:LocalObjectReference ReadOnly=false',
    "CinderPersistentVolumeSource": 'VolumeID="" FSType=""~fsType ReadOnly=false SecretRef:SecretReference',
    "CinderVolumeSource": 'VolumeID="" FSType=""~fsType ReadOnly=false SecretRef:LocalObjectReference',
    "ClusterTrustBundleProjection": 'Name SignerName LabelSelector:LabelSelector Optional Path=""',
    "ConfigMapEnvSource": "+LocalObjectReference Optional",
    "ConfigMapKeySelector": '+LocalObjectReference Key="" Optional',
    "ConfigMapProjection": "+LocalObjectReference Items:KeyToPath Optional",
    "ConfigMapVolumeSource": "+LocalObjectReference Items:KeyToPath DefaultMode Optional",
    "Container": (
        'Name="" Image="" Command Args WorkingDir="" Ports:ContainerPort EnvFrom:EnvFromSource Env:EnvVar '
        "Resources={}:ResourceRequirements ResizePolicy:ContainerResizePolicy@27 RestartPolicy@28 "
        "RestartPolicyRules:ContainerRestartRule@34 VolumeMounts:VolumeMount VolumeDevices:VolumeDevice "
        'LivenessProbe:Probe ReadinessProbe:Probe StartupProbe:Probe Lifecycle:Lifecycle TerminationMessagePath="" '
        'TerminationMessagePolicy="" ImagePullPolicy="" SecurityContext:SecurityContext Stdin=false '
        "StdinOnce=false TTY=false~tty"
    ),
    "ContainerPort": 'Name="" HostPort=0 ContainerPort=0 Protocol="" HostIP=""',
    "ContainerResizePolicy": 'ResourceName="" RestartPolicy=""',
    "ContainerRestartRule": 'Action="" ExitCodes:ContainerRestartRuleOnExitCodes',
    "ContainerRestartRuleOnExitCodes": 'Operator="" Values',
    "DeviceClaim": "Requests:DeviceRequest Constraints:DeviceConstraint Config:DeviceClaimConfiguration",
    "DeviceClaimConfiguration": "Requests +DeviceConfiguration",
    "DeviceConfiguration": "Opaque:OpaqueDeviceConfiguration",
    "DeviceConstraint": "Requests MatchAttribute DistinctAttribute@34",
    "DeviceRequest": 'Name="" Exactly:ExactDeviceRequest FirstAvailable:DeviceSubRequest',
    "DeviceSelector": "CEL~cel:CELDeviceSelector",
    "DeviceSubRequest": (
        'Name="" DeviceClassName="" Selectors:DeviceSelector AllocationMode="" Count=0 '
        "Tolerations:DeviceToleration Capacity:CapacityRequirements@34"
    ),
    "DeviceToleration": 'Key="" Operator="" Value="" Effect="" TolerationSeconds',
    "DownwardAPIProjection": "Items:DownwardAPIVolumeFile",
    "DownwardAPIVolumeFile": 'Path="" FieldRef:ObjectFieldSelector ResourceFieldRef:ResourceFieldSelector Mode',
    "DownwardAPIVolumeSource": "Items:DownwardAPIVolumeFile DefaultMode",
    "EmptyDirVolumeSource": 'Medium="" SizeLimit',
    "EnvFromSource": 'Prefix="" ConfigMapRef:ConfigMapEnvSource SecretRef:SecretEnvSource',
    "EnvVar": 'Name="" Value="" ValueFrom:EnvVarSource',
    "EnvVarSource": (
        "FieldRef:ObjectFieldSelector ResourceFieldRef:ResourceFieldSelector ConfigMapKeyRef:ConfigMapKeySelector "
        "SecretKeyRef:SecretKeySelector FileKeyRef:FileKeySelector@34"
    ),
    "EphemeralContainer": '+EphemeralContainerCommon TargetContainerName=""',
    "EphemeralContainerCommon": (
        'Name="" Image="" Command Args WorkingDir="" Ports:ContainerPort EnvFrom:EnvFromSource Env:EnvVar '
        "Resources={}:ResourceRequirements ResizePolicy:ContainerResizePolicy@27 RestartPolicy@28 "
        "RestartPolicyRules:ContainerRestartRule@34 VolumeMounts:VolumeMount VolumeDevices:VolumeDevice "
        'LivenessProbe:Probe ReadinessProbe:Probe StartupProbe:Probe Lifecycle:Lifecycle TerminationMessagePath="" '
        'TerminationMessagePolicy="" ImagePullPolicy="" SecurityContext:SecurityContext Stdin=false '
        "StdinOnce=false TTY=false~tty"
    ),
    "EphemeralVolumeSource": "VolumeClaimTemplate:PersistentVolumeClaimTemplate",
    "ExactDeviceRequest": (
        'DeviceClassName="" Selectors:DeviceSelector AllocationMode="" Count=0 AdminAccess '
        "Tolerations:DeviceToleration Capacity:CapacityRequirements@34"
    ),
    "ExecAction": "Command",
    "FCVolumeSource": 'TargetWWNs Lun FSType=""~fsType ReadOnly=false WWIDs~wwids',
    "FileKeySelector": 'VolumeName="" Path="" Key="" Optional',
    "FlexPersistentVolumeSource": 'Driver="" FSType=""~fsType SecretRef:SecretReference ReadOnly=false Options',
    "FlexVolumeSource": 'Driver="" FSType=""~fsType SecretRef:LocalObjectReference ReadOnly=false Options',
    "FlockerVolumeSource": 'DatasetName="" DatasetUUID=""',
    "GCEPersistentDiskVolumeSource": 'PDName=""~pdName FSType=""~fsType Partition=0 ReadOnly=false',
    "GRPCAction": "Port=0 Service",
    "GitRepoVolumeSource": 'Repository="" Revision="" Directory=""',
    "GlusterfsPersistentVolumeSource": 'EndpointsName=""~endpoints Path="" ReadOnly=false EndpointsNamespace',
    "GlusterfsVolumeSource": 'EndpointsName=""~endpoints Path="" ReadOnly=false',
    "HTTPGetAction": 'Path="" Port=0 Host="" Scheme="" HTTPHeaders~httpHeaders:HTTPHeader',
    "HTTPHeader": 'Name="" Value=""',
    "HostAlias": 'IP=""~ip Hostnames',
    "HostPathVolumeSource": 'Path="" Type',
    "ISCSIPersistentVolumeSource": (
        'TargetPortal="" IQN=""~iqn Lun=0 ISCSIInterface=""~iscsiInterface FSType=""~fsType ReadOnly=false Portals '
        "DiscoveryCHAPAuth=false~chapAuthDiscovery SessionCHAPAuth=false~chapAuthSession SecretRef:SecretReference "
        "InitiatorName"
    ),
    "ISCSIVolumeSource": (
        'TargetPortal="" IQN=""~iqn Lun=0 ISCSIInterface=""~iscsiInterface FSType=""~fsType ReadOnly=false Portals '
        "DiscoveryCHAPAuth=false~chapAuthDiscovery SessionCHAPAuth=false~chapAuthSession "
        "SecretRef:LocalObjectReference InitiatorName"
    ),
    "ImageVolumeSource": 'Reference="" PullPolicy=""',
    "KeyToPath": 'Key="" Path="" Mode',
    "Lifecycle": "PostStart:LifecycleHandler PreStop:LifecycleHandler StopSignal@33",
    "LifecycleHandler": (
        "Exec:ExecAction HTTPGet~httpGet:HTTPGetAction TCPSocket~tcpSocket:TCPSocketAction Sleep:SleepAction@29"
    ),
    "LocalObjectReference": 'Name=""',
    "LocalVolumeSource": 'Path="" FSType~fsType',
    "NFSVolumeSource": 'Server="" Path="" ReadOnly=false',
    "NodeAffinity": (
        "RequiredDuringSchedulingIgnoredDuringExecution:NodeSelector "
        "PreferredDuringSchedulingIgnoredDuringExecution:PreferredSchedulingTerm"
    ),
    "NodeSelector": "NodeSelectorTerms:NodeSelectorTerm",
    "NodeSelectorRequirement": 'Key="" Operator="" Values',
    "NodeSelectorTerm": "MatchExpressions:NodeSelectorRequirement MatchFields:NodeSelectorRequirement",
    "ObjectFieldSelector": 'APIVersion=""~apiVersion FieldPath=""',
    "ObjectReference": (
        'Kind="" Namespace="" Name="" UID=""~uid APIVersion=""~apiVersion ResourceVersion="" FieldPath=""'
    ),
    "OpaqueDeviceConfiguration": 'Driver="" Parameters',
    "PersistentVolumeClaimSpec": (
        'AccessModes Selector:LabelSelector Resources={}:VolumeResourceRequirements VolumeName="" StorageClassName '
        "VolumeMode DataSource:TypedLocalObjectReference DataSourceRef:TypedObjectReference "
        "VolumeAttributesClassName@29"
    ),
    "PersistentVolumeClaimTemplate": "+ObjectMeta Spec={}:PersistentVolumeClaimSpec",
    "PersistentVolumeClaimVolumeSource": 'ClaimName="" ReadOnly=false',
    "PersistentVolumeSource": (
        "GCEPersistentDisk~gcePersistentDisk:GCEPersistentDiskVolumeSource "
        "AWSElasticBlockStore~awsElasticBlockStore:AWSElasticBlockStoreVolumeSource HostPath:HostPathVolumeSource "
        "Glusterfs:GlusterfsPersistentVolumeSource NFS~nfs:NFSVolumeSource RBD~rbd:RBDPersistentVolumeSource "
        "Quobyte:QuobyteVolumeSource ISCSI~iscsi:ISCSIPersistentVolumeSource FlexVolume:FlexPersistentVolumeSource "
        "Cinder:CinderPersistentVolumeSource CephFS~cephfs:CephFSPersistentVolumeSource FC~fc:FCVolumeSource "
        "Flocker:FlockerVolumeSource AzureFile:AzureFilePersistentVolumeSource "
        "VsphereVolume:VsphereVirtualDiskVolumeSource AzureDisk:AzureDiskVolumeSource "
        "PhotonPersistentDisk:PhotonPersistentDiskVolumeSource PortworxVolume:PortworxVolumeSource "
        "ScaleIO:ScaleIOPersistentVolumeSource Local:LocalVolumeSource "
        "StorageOS~storageos:StorageOSPersistentVolumeSource CSI~csi:CSIPersistentVolumeSource"
    ),
    "PhotonPersistentDiskVolumeSource": 'PdID="" FSType=""~fsType',
    "PodAffinity": (
        "RequiredDuringSchedulingIgnoredDuringExecution:PodAffinityTerm "
        "PreferredDuringSchedulingIgnoredDuringExecution:WeightedPodAffinityTerm"
    ),
    "PodAffinityTerm": (
        'LabelSelector:LabelSelector Namespaces TopologyKey="" NamespaceSelector:LabelSelector MatchLabelKeys@29 '
        "MismatchLabelKeys@29"
    ),
    "PodAntiAffinity": (
        "RequiredDuringSchedulingIgnoredDuringExecution:PodAffinityTerm "
        "PreferredDuringSchedulingIgnoredDuringExecution:WeightedPodAffinityTerm"
    ),
    "PodCertificateProjection": (
        'SignerName="" KeyType="" MaxExpirationSeconds CredentialBundlePath="" KeyPath="" CertificateChainPath="" '
        "UserAnnotations@35"
    ),
    "PodDNSConfig": "Nameservers Searches Options:PodDNSConfigOption",
    "PodDNSConfigOption": 'Name="" Value',
    "PodOS": 'Name=""',
    "PodReadinessGate": 'ConditionType=""',
    "PodResourceClaim": 'Name="" ResourceClaimName ResourceClaimTemplateName',
    "PodSchedulingGate": 'Name=""',
    "PodSchedulingGroup": "PodGroupName",
    "PodSecurityContext": (
        "HostNetwork=false HostPID=false HostIPC=false ShareProcessNamespace HostUsers "
        "SELinuxOptions~seLinuxOptions:SELinuxOptions WindowsOptions:WindowsSecurityContextOptions RunAsUser "
        "RunAsGroup RunAsNonRoot SupplementalGroups SupplementalGroupsPolicy@31 FSGroup~fsGroup "
        "FSGroupChangePolicy~fsGroupChangePolicy Sysctls:Sysctl SeccompProfile:SeccompProfile "
        "AppArmorProfile:AppArmorProfile@30 SELinuxChangePolicy~seLinuxChangePolicy@32"
    ),
    "PodSpec": (
        "Volumes:Volume InitContainers:Container Containers:Container EphemeralContainers:EphemeralContainer "
        'RestartPolicy="" TerminationGracePeriodSeconds ActiveDeadlineSeconds DNSPolicy=""~dnsPolicy NodeSelector '
        'ServiceAccountName="" AutomountServiceAccountToken NodeName="" SecurityContext:PodSecurityContext '
        'ImagePullSecrets:LocalObjectReference Hostname="" Subdomain="" SetHostnameAsFQDN Affinity:Affinity '
        'SchedulerName="" Tolerations:Toleration HostAliases:HostAlias PriorityClassName="" Priority '
        "PreemptionPolicy DNSConfig~dnsConfig:PodDNSConfig ReadinessGates:PodReadinessGate RuntimeClassName "
        "Overhead EnableServiceLinks TopologySpreadConstraints:TopologySpreadConstraint OS~os:PodOS "
        "SchedulingGates:PodSchedulingGate@26 ResourceClaims:PodResourceClaim@26 Resources:ResourceRequirements@32 "
        "HostnameOverride@34 WorkloadRef@35-35 SchedulingGroup:PodSchedulingGroup@36"
    ),
    "PodTemplateSpec": "+ObjectMeta Spec={}:PodSpec",
    "PortworxVolumeSource": 'VolumeID="" FSType=""~fsType ReadOnly=false',
    "PreferredSchedulingTerm": "Weight=0 Preference={}:NodeSelectorTerm",
    "Probe": (
        "+ProbeHandler InitialDelaySeconds=0 TimeoutSeconds=0 PeriodSeconds=0 SuccessThreshold=0 "
        "FailureThreshold=0 TerminationGracePeriodSeconds"
    ),
    "ProbeHandler": (
        "Exec:ExecAction HTTPGet~httpGet:HTTPGetAction TCPSocket~tcpSocket:TCPSocketAction GRPC~grpc:GRPCAction"
    ),
    "ProjectedVolumeSource": "Sources:VolumeProjection DefaultMode",
    "QuobyteVolumeSource": 'Registry="" Volume="" ReadOnly=false User="" Group="" Tenant=""',
    "RBDPersistentVolumeSource": (
        'CephMonitors~monitors RBDImage=""~image FSType=""~fsType RBDPool=""~pool RadosUser=""~user Keyring="" '
        "SecretRef:SecretReference ReadOnly=false"
    ),
    "RBDVolumeSource": (
        'CephMonitors~monitors RBDImage=""~image FSType=""~fsType RBDPool=""~pool RadosUser=""~user Keyring="" '
        "SecretRef:LocalObjectReference ReadOnly=false"
    ),
    "ResourceClaim": 'Name="" Request=""',
    "ResourceClaimSpec": "Devices={}:DeviceClaim",
    "ResourceClaimTemplateSpec": "+ObjectMeta Spec={}:ResourceClaimSpec",
    "ResourceFieldSelector": 'ContainerName="" Resource="" Divisor="0"',
    "ResourceRequirements": "Limits Requests Claims:ResourceClaim@26",
    "SELinuxOptions": 'User="" Role="" Type="" Level=""',
    "ScaleIOPersistentVolumeSource": (
        'Gateway="" System="" SecretRef:SecretReference SSLEnabled=false~sslEnabled ProtectionDomain="" '
        'StoragePool="" StorageMode="" VolumeName="" FSType=""~fsType ReadOnly=false'
    ),
    "ScaleIOVolumeSource": (
        'Gateway="" System="" SecretRef:LocalObjectReference SSLEnabled=false~sslEnabled ProtectionDomain="" '
        'StoragePool="" StorageMode="" VolumeName="" FSType=""~fsType ReadOnly=false'
    ),
    "SeccompProfile": 'Type="" LocalhostProfile',
    "SecretEnvSource": "+LocalObjectReference Optional",
    "SecretKeySelector": '+LocalObjectReference Key="" Optional',
    "SecretProjection": "+LocalObjectReference Items:KeyToPath Optional",
    "SecretReference": 'Name="" Namespace=""',
    "SecretVolumeSource": 'SecretName="" Items:KeyToPath DefaultMode Optional',
    "SecurityContext": (
        "Capabilities:Capabilities Privileged SELinuxOptions~seLinuxOptions:SELinuxOptions "
        "WindowsOptions:WindowsSecurityContextOptions RunAsUser RunAsGroup RunAsNonRoot ReadOnlyRootFilesystem "
        "AllowPrivilegeEscalation ProcMount SeccompProfile:SeccompProfile AppArmorProfile:AppArmorProfile@30"
    ),
    "ServiceAccountTokenProjection": 'Audience="" ExpirationSeconds=0 Path=""',
    "SleepAction": "Seconds=0",
    "StorageOSPersistentVolumeSource": (
        'VolumeName="" VolumeNamespace="" FSType=""~fsType ReadOnly=false SecretRef:ObjectReference'
    ),
    "StorageOSVolumeSource": (
        'VolumeName="" VolumeNamespace="" FSType=""~fsType ReadOnly=false SecretRef:LocalObjectReference'
    ),
    "Sysctl": 'Name="" Value=""',
    "TCPSocketAction": 'Port=0 Host=""',
    "Toleration": 'Key="" Operator="" Value="" Effect="" TolerationSeconds',
    "TopologySpreadConstraint": (
        'MaxSkew=0 TopologyKey="" WhenUnsatisfiable="" LabelSelector:LabelSelector MinDomains NodeAffinityPolicy '
        "NodeTaintsPolicy MatchLabelKeys"
    ),
    "TypedLocalObjectReference": 'APIGroup~apiGroup Kind="" Name=""',
    "TypedObjectReference": 'APIGroup~apiGroup Kind="" Name="" Namespace',
    "Volume": 'Name="" +VolumeSource',
    "VolumeDevice": 'Name="" DevicePath=""',
    "VolumeMount": (
        'Name="" ReadOnly=false RecursiveReadOnly@30 MountPath="" SubPath="" MountPropagation SubPathExpr=""'
    ),
    "VolumeProjection": (
        "Secret:SecretProjection DownwardAPI:DownwardAPIProjection ConfigMap:ConfigMapProjection "
        "ServiceAccountToken:ServiceAccountTokenProjection ClusterTrustBundle:ClusterTrustBundleProjection@29 "
        "PodCertificate:PodCertificateProjection@34"
    ),
    "VolumeResourceRequirements": "Limits Requests",
    "VolumeSource": (
        "HostPath:HostPathVolumeSource EmptyDir:EmptyDirVolumeSource "
        "GCEPersistentDisk~gcePersistentDisk:GCEPersistentDiskVolumeSource "
        "AWSElasticBlockStore~awsElasticBlockStore:AWSElasticBlockStoreVolumeSource GitRepo:GitRepoVolumeSource "
        "Secret:SecretVolumeSource NFS~nfs:NFSVolumeSource ISCSI~iscsi:ISCSIVolumeSource "
        "Glusterfs:GlusterfsVolumeSource PersistentVolumeClaim:PersistentVolumeClaimVolumeSource "
        "RBD~rbd:RBDVolumeSource Quobyte:QuobyteVolumeSource FlexVolume:FlexVolumeSource Cinder:CinderVolumeSource "
        "CephFS~cephfs:CephFSVolumeSource Flocker:FlockerVolumeSource DownwardAPI:DownwardAPIVolumeSource "
        "FC~fc:FCVolumeSource AzureFile:AzureFileVolumeSource ConfigMap:ConfigMapVolumeSource "
        "VsphereVolume:VsphereVirtualDiskVolumeSource AzureDisk:AzureDiskVolumeSource "
        "PhotonPersistentDisk:PhotonPersistentDiskVolumeSource Projected:ProjectedVolumeSource "
        "PortworxVolume:PortworxVolumeSource ScaleIO:ScaleIOVolumeSource StorageOS~storageos:StorageOSVolumeSource "
        "CSI~csi:CSIVolumeSource Ephemeral:EphemeralVolumeSource Image:ImageVolumeSource@31"
    ),
    "VsphereVirtualDiskVolumeSource": 'VolumePath="" FSType=""~fsType StoragePolicyName="" StoragePolicyID=""',
    "WeightedPodAffinityTerm": "Weight=0 PodAffinityTerm={}:PodAffinityTerm",
    "WindowsSecurityContextOptions": (
        "GMSACredentialSpecName~gmsaCredentialSpecName GMSACredentialSpec~gmsaCredentialSpec RunAsUserName HostProcess"
    ),
}
