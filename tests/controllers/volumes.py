"""Volumes, claims and classes for tests of the controllers of storage."""


def volume(name="pv", size="1Gi", *, modes=("ReadWriteOnce",), annotations=None, labels=None, **spec):
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, "annotations": annotations or {}, "labels": labels or {}},
        "spec": {
            "accessModes": list(modes),
            "capacity": {"storage": size},
            "storageClassName": "manual",
            **({} if {"csi", "nfs", "hostPath", "local"} & set(spec) else {"hostPath": {"path": "/tmp/data"}}),
            **spec,
        },
    }


def claim(name="data", size="1Gi", *, modes=("ReadWriteOnce",), annotations=None, **spec):
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "default", "annotations": annotations or {}},
        "spec": {
            "accessModes": list(modes),
            "resources": {"requests": {"storage": size}},
            "storageClassName": "manual",
            **spec,
        },
    }


def storage_class(name, provisioner, *, annotations=None, **fields):
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name, "annotations": annotations or {}},
        "provisioner": provisioner,
        **fields,
    }


def pod_with(claim_name, *, name="p", node="n1"):
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            **({"nodeName": node} if node else {}),
            "containers": [{"name": "c", "image": "nginx:1"}],
            "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": claim_name}}],
        },
    }


def get_claim(fakekube, name="data"):
    return fakekube.get("v1", "PersistentVolumeClaim", name)


def get_volume(fakekube, name="pv"):
    return fakekube.get("v1", "PersistentVolume", name)


def events_of(fakekube, name):
    """The Events about an object: its reasons and messages, each once."""
    found = [one for one in fakekube.list("v1", "Event", None) if one["involvedObject"]["name"] == name]
    return [(one["type"], one["reason"], one["message"]) for one in found]


def release(fakekube, made):
    """Create a volume, bind a claim to it, and delete the claim."""
    fakekube.create(made)
    fakekube.create(claim())
    fakekube.settle()
    fakekube.delete("v1", "PersistentVolumeClaim", "data")
    fakekube.settle()


def writes(fakekube):
    """The writes of controllers: verb, resource and name."""
    return [
        (record.verb, record.resource, record.name)
        for record in fakekube.requests()
        if record.verb not in ("get", "list", "watch") and "kube-system" in record.user
    ]
