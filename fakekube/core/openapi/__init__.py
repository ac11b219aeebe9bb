"""OpenAPI documents, made of the schemas of built-in kinds and of definitions (kube-openapi)."""

from fakekube.core.openapi.serving import answer

__all__ = ["answer"]
