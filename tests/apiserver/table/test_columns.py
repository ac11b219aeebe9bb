"""The columns of each kind's table: their types, and which of them only wide tables have."""

from fakekube.apiserver.registry.builtin import PRINTERS

#: Kind -> its columns: `#` integer, `?` boolean, `@` date, else string; `*` wide tables only (`printers.go`).
COLUMNS = {
    "apiservices.apiregistration.k8s.io": "Name, Service, Available, Age",
    "certificatesigningrequests.certificates.k8s.io": "Name, Age, SignerName, Requestor, RequestedDuration, Condition",
    "clusterrolebindings.rbac.authorization.k8s.io": "Name, Role, Age, Users*, Groups*, ServiceAccounts*",
    "clusterroles.rbac.authorization.k8s.io": "Name, Created At@",
    "clustertrustbundles.certificates.k8s.io": "Name, SignerName",
    "componentstatuses": "Name, Status, Message, Error",
    "configmaps": "Name, Data, Age",
    "controllerrevisions.apps": "Name, Controller, Revision, Age",
    "cronjobs.batch": "Name, Schedule, Timezone, Suspend?, Active#, Last Schedule, Age, Containers*, Images*, Selector*",
    "csidrivers.storage.k8s.io": "Name, AttachRequired?, PodInfoOnMount?, StorageCapacity?, TokenRequests, RequiresRepublish?, Modes, Age",
    "csinodes.storage.k8s.io": "Name, Drivers#, Age",
    "csistoragecapacities.storage.k8s.io": "Name, Created At@",
    "daemonsets.apps": "Name, Desired#, Current#, Ready#, Up-to-date#, Available#, Node Selector, Age, Containers*, Images*, Selector*",
    "deployments.apps": "Name, Ready, Up-to-date, Available, Age, Containers*, Images*, Selector*",
    "deviceclasses.resource.k8s.io": "Name, Age",
    "devicetaintrules.resource.k8s.io": "Name, Created At@",
    "endpoints": "Name, Endpoints, Age",
    "endpointslices.discovery.k8s.io": "Name, AddressType, Ports, Endpoints, Age",
    "events": "Last Seen, Type, Reason, Object, Subobject*, Source*, Message, First Seen*, Count*, Name*",
    "events.events.k8s.io": "Last Seen, Type, Reason, Object, Subobject*, Source*, Message, First Seen*, Count*, Name*",
    "flowschemas.flowcontrol.apiserver.k8s.io": "Name, PriorityLevel, MatchingPrecedence, DistinguisherMethod, Age, MissingPL",
    "horizontalpodautoscalers.autoscaling": "Name, Reference, Targets, MinPods, MaxPods, Replicas, Age",
    "ingressclasses.networking.k8s.io": "Name, Controller, Parameters, Age",
    "ingresses.networking.k8s.io": "Name, Class, Hosts, Address, Ports, Age",
    "ipaddresses.networking.k8s.io": "Name, ParentRef",
    "jobs.batch": "Name, Status, Completions, Duration, Age, Containers*, Images*, Selector*",
    "leasecandidates.coordination.k8s.io": "Name, LeaseName, BinaryVersion, EmulationVersion, Age",
    "leases.coordination.k8s.io": "Name, Holder, Age",
    "limitranges": "Name, Created At@",
    "mutatingadmissionpolicies.admissionregistration.k8s.io": "Name, Mutations#, ParamKind, Age",
    "mutatingadmissionpolicybindings.admissionregistration.k8s.io": "Name, PolicyName, ParamRef, Age",
    "mutatingwebhookconfigurations.admissionregistration.k8s.io": "Name, Webhooks#, Age",
    "namespaces": "Name, Status, Age",
    "networkpolicies.networking.k8s.io": "Name, Pod-Selector, Age",
    "nodes": "Name, Status, Roles, Age, Version, Internal-IP*, External-IP*, OS-Image*, Kernel-Version*, Container-Runtime*",
    "persistentvolumeclaims": "Name, Status, Volume, Capacity, Access Modes, StorageClass, VolumeAttributesClass, Age, VolumeMode*",
    "persistentvolumes": "Name, Capacity, Access Modes, Reclaim Policy, Status, Claim, StorageClass, VolumeAttributesClass, Reason, Age, VolumeMode*",
    "podcertificaterequests.certificates.k8s.io": "Name, Created At@",
    "poddisruptionbudgets.policy": "Name, Min Available, Max Unavailable, Allowed Disruptions#, Age",
    "pods": "Name, Ready, Status, Restarts, Age, IP*, Node*, Nominated Node*, Readiness Gates*",
    "podtemplates": "Name, Containers, Images, Pod Labels",
    "priorityclasses.scheduling.k8s.io": "Name, Value#, Global-Default?, Age, PreemptionPolicy",
    "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io": "Name, Type, NominalConcurrencyShares, Queues, HandSize, QueueLengthLimit, Age",
    "replicasets.apps": "Name, Desired#, Current#, Ready#, Age, Containers*, Images*, Selector*",
    "replicationcontrollers": "Name, Desired#, Current#, Ready#, Age, Containers*, Images*, Selector*",
    "resourceclaims.resource.k8s.io": "Name, State, Age",
    "resourceclaimtemplates.resource.k8s.io": "Name, Age",
    "resourcequotas": "Name, Request, Limit, Age",
    "resourceslices.resource.k8s.io": "Name, Node, Driver, Pool, Age",
    "rolebindings.rbac.authorization.k8s.io": "Name, Role, Age, Users*, Groups*, ServiceAccounts*",
    "roles.rbac.authorization.k8s.io": "Name, Created At@",
    "runtimeclasses.node.k8s.io": "Name, Handler, Age",
    "secrets": "Name, Type, Data, Age",
    "serviceaccounts": "Name, Age",
    "servicecidrs.networking.k8s.io": "Name, CIDRs, Age",
    "services": "Name, Type, Cluster-IP, External-IP, Port(s), Age, Selector*",
    "statefulsets.apps": "Name, Ready, Age, Containers*, Images*",
    "storageclasses.storage.k8s.io": "Name, Provisioner, ReclaimPolicy, VolumeBindingMode, AllowVolumeExpansion, Age",
    "storageversionmigrations.storagemigration.k8s.io": "Name, Created At@",
    "storageversions.internal.apiserver.k8s.io": "Name, CommonEncodingVersion, StorageVersions, Age",
    "validatingadmissionpolicies.admissionregistration.k8s.io": "Name, Validations#, ParamKind, Age",
    "validatingadmissionpolicybindings.admissionregistration.k8s.io": "Name, PolicyName, ParamRef, Age",
    "validatingwebhookconfigurations.admissionregistration.k8s.io": "Name, Webhooks#, Age",
    "volumeattachments.storage.k8s.io": "Name, Attacher, PV, Node, Attached?, Age",
    "volumeattributesclasses.storage.k8s.io": "Name, DriverName, Age",
}
TYPES = {"string": "", "integer": "#", "boolean": "?", "date": "@"}


def test_the_columns_of_a_table():
    assert {
        kind: ", ".join(f"{one.name}{TYPES[one.type]}{'*' * one.priority}" for one in printer.columns)
        for kind, printer in PRINTERS.items()
    } == COLUMNS


def test_names_have_a_format():
    formats = {(one.name, one.format) for printer in PRINTERS.values() for one in printer.columns if one.format}
    assert formats == {("Name", "name"), ("Attacher", "name")}
