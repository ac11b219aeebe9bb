"""OpenAPI documents, generated from the schemas of built-in and custom kinds (kube-openapi)."""

from fakekube.apiserver.openapi.serving import answer, prepared

__all__ = ["answer", "prepared"]
