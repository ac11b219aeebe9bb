"""Informers, work queues and controllers for Kubernetes operators, as client-go and controller-runtime have them.

The names below are what an operator's main file needs. Everything else is in the packages `client`, `cache`,
`workqueue`, `leaderelection`, `record`, `controller`, `manager` and `metrics`, and in the modules `clock`, `random`,
`wait`, `tasks` and `observer`; nothing below these is public.

No assertion here is meant for a test: PYTEST_DONT_REWRITE
"""

from controllerlib.client import ApiError, BlockingClient, Client, create_or_patch, create_or_update
from controllerlib.controller import (
    Controller,
    ControllerOptions,
    Reconciler,
    Request,
    Result,
    TerminalError,
    set_controller_reference,
    set_owner_reference,
)
from controllerlib.leaderelection import LeaderElection, LeaderElectionOptions
from controllerlib.manager import Builder, Manager, run
from controllerlib.record import EventRecorder

__all__ = [
    "ApiError",
    "BlockingClient",
    "Builder",
    "Client",
    "Controller",
    "ControllerOptions",
    "EventRecorder",
    "LeaderElection",
    "LeaderElectionOptions",
    "Manager",
    "Reconciler",
    "Request",
    "Result",
    "TerminalError",
    "create_or_patch",
    "create_or_update",
    "run",
    "set_controller_reference",
    "set_owner_reference",
]
