"""The controller of DaemonSets: a pod on each node that suits them (`pkg/controller/daemon`)."""

from fakekube.controllers.apps.daemonset.daemonsetcontroller import add

__all__ = ["add"]
