"""The objects that a pod or a volume refers to by name (`pkg/api/v1/pod`, `pkg/api/v1/persistentvolume`)."""

from __future__ import annotations

from collections.abc import Iterator

from fakekube.apiserver.resource import Object

MIRROR = "kubernetes.io/config.mirror"

#: Volume source -> its field with a reference to a Secret.
_SECRET_REFERENCES = {
    "cephfs": "secretRef", "cinder": "secretRef", "csi": "nodePublishSecretRef", "flexVolume": "secretRef",
    "iscsi": "secretRef", "rbd": "secretRef", "scaleIO": "secretRef", "storageos": "secretRef",
}  # fmt: skip

#: Source of a PersistentVolume -> its fields with references to Secrets that a kubelet reads.
_KUBELET_SECRETS = {
    **{source: (field,) for source, field in _SECRET_REFERENCES.items()},
    "csi": ("nodePublishSecretRef", "nodeStageSecretRef", "nodeExpandSecretRef"),
}

#: Sources whose references are in the namespace of the claim unless they have one of their own.
_IN_NAMESPACE_OF_CLAIM = frozenset({"cephfs", "flexVolume", "iscsi", "rbd", "scaleIO"})


def is_mirror(pod: Object) -> bool:
    """Whether a kubelet has created the pod to show one of its static pods."""
    return MIRROR in (pod["metadata"].get("annotations") or {})


def containers(pod: Object) -> Iterator[Object]:
    """The containers of every kind."""
    spec = pod.get("spec") or {}
    for kind in ("initContainers", "containers", "ephemeralContainers"):
        yield from spec.get(kind) or ()


def volumes(pod: Object) -> list[Object]:
    return (pod.get("spec") or {}).get("volumes") or []


def secret_names(pod: Object) -> Iterator[str]:
    """The Secrets of pull secrets, environments and volumes (`VisitPodSecretNames`)."""
    return filter(None, _secret_names(pod))


def _secret_names(pod: Object) -> Iterator[str]:
    for reference in (pod.get("spec") or {}).get("imagePullSecrets") or ():
        yield reference.get("name") or ""
    yield from environment_names(pod, "secret")
    for volume in volumes(pod):
        yield (volume.get("azureFile") or {}).get("secretName") or ""
        yield (volume.get("secret") or {}).get("secretName") or ""
        yield from _projected_names(volume, "secret")
        for source, field in _SECRET_REFERENCES.items():
            yield ((volume.get(source) or {}).get(field) or {}).get("name") or ""


def config_map_names(pod: Object) -> Iterator[str]:
    """The ConfigMaps of environments and volumes (`VisitPodConfigmapNames`)."""
    yield from filter(None, environment_names(pod, "configMap"))
    for volume in volumes(pod):
        yield from filter(None, [(volume.get("configMap") or {}).get("name"), *_projected_names(volume, "configMap")])


def environment_names(pod: Object, kind: str) -> Iterator[str]:
    """The names of the objects of a kind (`secret`, `configMap`) from which containers take their environment."""
    for container in containers(pod):
        for source in container.get("envFrom") or ():
            yield (source.get(f"{kind}Ref") or {}).get("name") or ""
        for variable in container.get("env") or ():
            yield ((variable.get("valueFrom") or {}).get(f"{kind}KeyRef") or {}).get("name") or ""


def _projected_names(volume: Object, kind: str) -> Iterator[str]:
    for source in (volume.get("projected") or {}).get("sources") or ():
        yield (source.get(kind) or {}).get("name") or ""


def claim_names(pod: Object) -> Iterator[str]:
    """The PersistentVolumeClaims of volumes; that of an ephemeral volume has a name of the pod's and its own."""
    for volume in volumes(pod):
        if volume.get("persistentVolumeClaim") is not None:
            yield volume["persistentVolumeClaim"].get("claimName") or ""
        elif volume.get("ephemeral") is not None:
            yield f"{pod['metadata']['name']}-{volume['name']}"


def resource_claim_names(pod: Object) -> Iterator[str]:
    """The ResourceClaims that exist for a pod, as its spec or its status names them (`resourceclaim.Name`)."""
    status = pod.get("status") or {}
    generated = {one["name"]: one.get("resourceClaimName") for one in status.get("resourceClaimStatuses") or ()}
    for claim in (pod.get("spec") or {}).get("resourceClaims") or ():
        name = claim.get("resourceClaimName") or (
            generated.get(claim.get("name")) if claim.get("resourceClaimTemplateName") else None
        )
        if name:
            yield name
    extended = (status.get("extendedResourceClaimStatus") or {}).get("resourceClaimName")
    if extended:
        yield extended


def volume_secrets(volume: Object) -> Iterator[tuple[str, str]]:
    """Namespace and name of the Secrets of a PersistentVolume that a kubelet reads (`VisitPVSecretNames`)."""
    spec = volume.get("spec") or {}
    of_claim = (spec.get("claimRef") or {}).get("namespace") or ""
    azure = spec.get("azureFile") or {}
    if azure.get("secretName"):
        yield azure.get("secretNamespace") or of_claim, azure["secretName"]
    for source, fields in _KUBELET_SECRETS.items():
        for field in fields:
            reference = (spec.get(source) or {}).get(field) or {}
            if reference.get("name"):
                default = of_claim if source in _IN_NAMESPACE_OF_CLAIM else ""
                yield reference.get("namespace") or default, reference["name"]


def api_references(pod: Object) -> str:
    """What makes a pod refer to other API objects; "" if nothing does (`HasAPIObjectReference`).

    Raises ValueError for a volume of an unknown kind.
    """
    spec = pod.get("spec") or {}
    if spec.get("serviceAccountName"):
        return "serviceaccounts"
    if any(secret_names(pod)):
        return "secrets"
    if any(config_map_names(pod)):
        return "configmaps"
    if spec.get("resourceClaims"):
        return "resourceclaims"
    return next(filter(None, map(_volume_reference, volumes(pod))), "")


#: Volume source -> the kinds that it refers to ("": none).
_VOLUME_KINDS = {
    "configMap": "configmaps (via configmap volumes)", "secret": "secrets (via secret volumes)",
    "csi": "csidrivers (via CSI volumes)", "glusterfs": "endpoints (via glusterFS volumes)",
    "persistentVolumeClaim": "persistentvolumeclaims", "ephemeral": "persistentvolumeclaims (via ephemeral volumes)",
    "azureFile": "secrets (via azureFile volumes)",
}  # fmt: skip

_PROJECTED_KINDS = {
    "configMap": "configmaps (via projected volumes)", "secret": "secrets (via projected volumes)",
    "serviceAccountToken": "serviceaccounts (via projected volumes)", "clusterTrustBundle": "clustertrustbundles",
    "podCertificate": "podcertificates", "downwardAPI": "",
}  # fmt: skip


def _volume_reference(volume: Object) -> str:
    if volume.get("projected") is None:
        return next((kind for source, kind in _VOLUME_KINDS.items() if volume.get(source) is not None), "")
    for source in volume["projected"].get("sources") or ():
        kinds = [kind for field, kind in _PROJECTED_KINDS.items() if source.get(field) is not None]
        if not kinds:
            raise ValueError(f'unknown source for projected volume "{volume.get("name")}"')
        if kinds[0]:
            return kinds[0]
    return ""
