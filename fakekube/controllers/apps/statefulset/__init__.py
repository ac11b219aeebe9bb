"""The controller of StatefulSets: named pods, in order, with claims (`pkg/controller/statefulset`)."""

from fakekube.controllers.apps.statefulset.statefulsetcontroller import add

__all__ = ["add"]
