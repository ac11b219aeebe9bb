"""What the objects of a pod refer to (`pkg/api/pod`, `pkg/api/v1/persistentvolume`, `pkg/api/podutil.HasAPIObjectReference`)."""

import pytest

from fakekube.apiserver.auth import podreferences


def pod(**spec):
    return {"metadata": {"name": "p"}, "spec": spec}


def container(**fields):
    return {"name": "c", **fields}


def volume(**source):
    return {"name": "v", **source}


def environment(kind, reference):
    return [
        container(envFrom=[{f"{kind}Ref": {"name": "all"}}, {}]),
        container(env=[{"name": "a", "valueFrom": {f"{kind}KeyRef": {"name": "one", "key": "k"}}}, {"name": "b"}]),
        container(env=[{"name": "c", "valueFrom": {reference: {"name": "other"}}}]),
    ]


@pytest.mark.parametrize("kind", ["containers", "initContainers", "ephemeralContainers"])
def test_the_environment_of_every_container(kind):
    secrets = pod(**{kind: environment("secret", "configMapKeyRef")})
    maps = pod(**{kind: environment("configMap", "secretKeyRef")})
    assert list(podreferences.secret_names(secrets)) == ["all", "one"]
    assert list(podreferences.config_map_names(maps)) == ["all", "one"]


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ({"secret": {"secretName": "s"}}, ["s"]),
        ({"azureFile": {"secretName": "s"}}, ["s"]),
        ({"projected": {"sources": [{"secret": {"name": "s"}}, {"configMap": {"name": "m"}}, {"secret": {"name": "t"}}]}},
         ["s", "t"]),
        *(({kind: {"secretRef": {"name": "s"}}}, ["s"])
          for kind in ("cephfs", "cinder", "flexVolume", "iscsi", "rbd", "scaleIO", "storageos")),
        ({"glusterfs": {"secretRef": {"name": "s"}}}, []),
        ({"csi": {"driver": "d", "nodePublishSecretRef": {"name": "s"}}}, ["s"]),
        ({"configMap": {"name": "m"}}, []),
        ({"emptyDir": {}}, []),
    ],
)  # fmt: skip
def test_the_secrets_of_a_volume(source, names):
    assert list(podreferences.secret_names(pod(volumes=[volume(**source)]))) == names


def test_the_config_maps_of_volumes():
    sources = [{"configMap": {"name": "b"}}, {"secret": {"name": "s"}}, {"configMap": {}}]
    found = podreferences.config_map_names(
        pod(volumes=[volume(configMap={"name": "a"}), volume(projected={"sources": sources})])
    )
    assert list(found) == ["a", "b"]


def test_pull_secrets():
    assert list(podreferences.secret_names(pod(imagePullSecrets=[{"name": "a"}, {}, {"name": "b"}]))) == ["a", "b"]


def test_claims_by_name_and_of_ephemeral_volumes():
    volumes = [volume(persistentVolumeClaim={"claimName": "c"}), volume(ephemeral={}), volume(emptyDir={})]
    assert list(podreferences.claim_names(pod(volumes=volumes))) == ["c", "p-v"]


def test_resource_claims():
    claims = [
        {"name": "a", "resourceClaimName": "mine"},
        {"name": "b", "resourceClaimTemplateName": "t"},
        {"name": "c", "resourceClaimTemplateName": "t"},
        {"name": "d"},
    ]
    statuses = [{"name": "b", "resourceClaimName": "made"}, {"name": "d", "resourceClaimName": "no"}, {"name": "c"}]
    status = {"resourceClaimStatuses": statuses, "extendedResourceClaimStatus": {"resourceClaimName": "extended"}}
    assert list(podreferences.resource_claim_names({**pod(resourceClaims=claims), "status": status})) == [
        "mine", "made", "extended",
    ]  # fmt: skip
    assert list(podreferences.resource_claim_names(pod())) == []


@pytest.mark.parametrize(
    ("spec", "found"),
    [
        ({"azureFile": {"secretName": "s", "secretNamespace": "n"}}, [("n", "s")]),
        ({"azureFile": {"secretName": "s"}}, [("of", "s")]),
        ({"azureFile": {}}, []),
        *(({kind: {"secretRef": {"name": "s", "namespace": "n"}}}, [("n", "s")]) for kind in ("cephfs", "flexVolume", "iscsi", "rbd", "scaleIO")),
        *(({kind: {"secretRef": {"name": "s"}}}, [("of", "s")]) for kind in ("cephfs", "flexVolume", "iscsi", "rbd", "scaleIO")),
        ({"csi": {f"node{step}SecretRef": {"name": step, "namespace": "n"} for step in ("Expand", "Stage", "Publish")}},
         [("n", "Publish"), ("n", "Stage"), ("n", "Expand")]),
        ({"csi": {"nodeStageSecretRef": {"name": "s"}}}, [("", "s")]),
        ({"csi": {"controllerExpandSecretRef": {"name": "s", "namespace": "n"}}}, []),
    ],
)  # fmt: skip
def test_the_secrets_that_a_kubelet_reads_for_a_volume(spec, found):
    assert list(podreferences.volume_secrets({"spec": {"claimRef": {"namespace": "of"}, **spec}})) == found


@pytest.mark.parametrize(
    ("spec", "reference"),
    [
        ({}, ""),
        ({"serviceAccountName": "a"}, "serviceaccounts"),
        ({"imagePullSecrets": [{"name": "s"}]}, "secrets"),
        ({"volumes": [volume(configMap={"name": "m"})]}, "configmaps"),
        ({"resourceClaims": [{"name": "c"}]}, "resourceclaims"),
        ({"volumes": [volume(emptyDir={}), volume(hostPath={})]}, ""),
        ({"volumes": [volume(configMap={})]}, "configmaps (via configmap volumes)"),
        ({"volumes": [volume(secret={})]}, "secrets (via secret volumes)"),
        ({"volumes": [volume(csi={})]}, "csidrivers (via CSI volumes)"),
        ({"volumes": [volume(glusterfs={})]}, "endpoints (via glusterFS volumes)"),
        ({"volumes": [volume(persistentVolumeClaim={})]}, "persistentvolumeclaims"),
        ({"volumes": [volume(emptyDir={}), volume(ephemeral={})]}, "persistentvolumeclaims (via ephemeral volumes)"),
        ({"volumes": [volume(azureFile={})]}, "secrets (via azureFile volumes)"),
        ({"volumes": [volume(projected={"sources": []})]}, ""),
        ({"volumes": [volume(projected={"sources": [{"downwardAPI": {}}]})]}, ""),
        ({"volumes": [volume(projected={"sources": [{"downwardAPI": {}}, {"configMap": {}}]})]},
         "configmaps (via projected volumes)"),
        ({"volumes": [volume(projected={"sources": [{"secret": {}}]})]}, "secrets (via projected volumes)"),
        ({"volumes": [volume(projected={"sources": [{"serviceAccountToken": {}}]})]},
         "serviceaccounts (via projected volumes)"),
        ({"volumes": [volume(projected={"sources": [{"clusterTrustBundle": {}}]})]}, "clustertrustbundles"),
        ({"volumes": [volume(projected={"sources": [{"podCertificate": {}}]})]}, "podcertificates"),
    ],
)  # fmt: skip
def test_what_makes_a_pod_refer_to_other_objects(spec, reference):
    assert podreferences.api_references(pod(**spec)) == reference


def test_an_unknown_projection_is_an_error():
    with pytest.raises(ValueError, match='unknown source for projected volume "v"'):
        podreferences.api_references(pod(volumes=[volume(projected={"sources": [{"other": {}}]})]))


def test_mirror_pods_have_an_annotation():
    assert podreferences.is_mirror({"metadata": {"annotations": {"kubernetes.io/config.mirror": ""}}})
    assert not podreferences.is_mirror({"metadata": {"annotations": {"kubernetes.io/config.source": "api"}}})
    assert not podreferences.is_mirror({"metadata": {}})
