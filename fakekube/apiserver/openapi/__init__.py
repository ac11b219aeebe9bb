"""OpenAPI documents, made of the schemas of built-in kinds and of definitions (kube-openapi)."""

from fakekube.apiserver.openapi.serving import answer

__all__ = ["answer"]
