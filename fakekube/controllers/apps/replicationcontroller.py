"""The controller of ReplicationControllers, which is that of ReplicaSets (`pkg/controller/replication`)."""

from fakekube.controllers.apps.replicaset import REPLICATION_CONTROLLER, ReplicaSetController
from fakekube.controllers.context import ControllerContext


def add(context: ControllerContext) -> None:
    """Add the controller of ReplicationControllers."""
    ReplicaSetController(context, REPLICATION_CONTROLLER).add()
