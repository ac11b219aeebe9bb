"""The controller of Deployments: a ReplicaSet for each template, scaled step by step (`pkg/controller/deployment`)."""

from fakekube.controllers.apps.deployment.deploymentcontroller import add

__all__ = ["add"]
