"""Points the configuration of every client library at a cluster, as KUBECONFIG does for a process that starts."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import kubernetes.aio.config.kube_config
import kubernetes.config.kube_config
import kubernetes_asyncio.config.kube_config
import pytest

#: They read KUBECONFIG when they are imported.
READ_AT_IMPORT = (
    "kubernetes.config.kube_config",
    "kubernetes.aio.config.kube_config",
    "kubernetes_asyncio.config.kube_config",
    "patroni.dcs.kubernetes",
)


@contextmanager
def configured(kube) -> Iterator[str]:
    path = str(kube.kubeconfig)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KUBECONFIG", path)
        for name in READ_AT_IMPORT:
            if name in sys.modules:
                patch.setattr(f"{name}.KUBE_CONFIG_DEFAULT_LOCATION", path)
        yield path


def definition(name, kind, version, **more):
    """A CustomResourceDefinition that accepts all fields."""
    plural, _, group = name.partition(".")
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": name},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": kind, "listKind": f"{kind}List", "plural": plural, "singular": kind.lower()},
            "versions": [{"name": version, "served": True, "storage": True, "schema": schema, **more}],
        },
    }
