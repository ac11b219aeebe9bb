"""The admission plugins that are enabled (`kubeapiserver/options/plugins.go`, `admission.Validate`)."""

from __future__ import annotations

from collections.abc import Collection

#: The plugins that this server has and that are on by default.
DEFAULT = frozenset({
    "CertificateApproval", "CertificateSigning", "CertificateSubjectRestriction", "DefaultIngressClass",
    "DefaultStorageClass", "DefaultTolerationSeconds", "LimitRanger", "MutatingAdmissionPolicy",
    "MutatingAdmissionWebhook", "NamespaceLifecycle", "PersistentVolumeClaimResize", "PodResizeValidator",
    "PodSecurity", "Priority", "ResourceQuota", "RuntimeClass", "StorageObjectInUseProtection", "TaintNodesByCondition",
    "ValidatingAdmissionPolicy", "ValidatingAdmissionWebhook",
})  # fmt: skip

#: The plugins that this server has and that are off by default. kube-apiserver has ServiceAccount on by default; here
#: nothing creates the account `default` unless a controller runs.
OPTIONAL = frozenset({"NodeRestriction", "ServiceAccount"})

#: kube-apiserver's other plugins.
UNSUPPORTED = frozenset({
    "AlwaysAdmit", "AlwaysDeny", "AlwaysPullImages", "ClusterTrustBundleAttest", "DenyServiceExternalIPs",
    "EventRateLimit", "ExtendedResourceToleration", "ImagePolicyWebhook", "LimitPodHardAntiAffinityTopology",
    "NamespaceAutoProvision", "NamespaceExists", "OwnerReferencesPermissionEnforcement", "PodNodeSelector",
    "PodTolerationRestriction", "PodTopologyLabels",
})  # fmt: skip


def enabled_plugins(enable: Collection[str] = (), disable: Collection[str] = ()) -> frozenset[str]:
    """The default plugins with those of `enable` and without those of `disable`.

    Raises ValueError for a plugin in both, an unknown one, and an enabled one that this server does not have.
    """
    both = sorted(set(enable) & set(disable))
    if both:
        raise ValueError(f"[{' '.join(both)}] in enable-admission-plugins and disable-admission-plugins overlapped")
    for option, names in (("enable", enable), ("disable", disable)):
        for name in names:
            if name not in DEFAULT | OPTIONAL | UNSUPPORTED:
                raise ValueError(f'{option}-admission-plugins plugin "{name}" is unknown')
    for name in enable:
        if name in UNSUPPORTED:
            raise ValueError(f'enable-admission-plugins plugin "{name}" is not supported by this server')
    return (DEFAULT | frozenset(enable)) - frozenset(disable)
