"""Informers, work queues and controllers for Kubernetes operators, as client-go and controller-runtime have them."""

from controllerlib.blocking import BlockingClient
from controllerlib.builder import Builder
from controllerlib.cache import Cache
from controllerlib.client import Client, ClientListWatch, Reader
from controllerlib.clock import Chance, Clock, FixedChance, SeededChance, SystemChance, SystemClock
from controllerlib.controller import Controller, ControllerOptions
from controllerlib.core.cacheconfig import ByObject, CacheOptions, Selection
from controllerlib.core.cause import Cause
from controllerlib.core.finalizers import add_finalizer, contains_finalizer, remove_finalizer
from controllerlib.core.models import Model, Writable, as_model, as_object
from controllerlib.core.owner import (
    AlreadyOwned,
    has_controller_reference,
    has_owner_reference,
    remove_controller_reference,
    remove_owner_reference,
    set_controller_reference,
    set_owner_reference,
)
from controllerlib.core.priorityqueue import LOW_PRIORITY
from controllerlib.createorupdate import OperationResult, create_or_patch, create_or_update
from controllerlib.election import LeaderElection, LeaderElectionOptions
from controllerlib.errors import ApiError
from controllerlib.events import EventRecorder, FakeRecorder
from controllerlib.factory import SharedInformerFactory
from controllerlib.handler import (
    EnqueueRequestForObject,
    EnqueueRequestForOwner,
    EnqueueRequestsFromMapFunc,
    EventHandler,
    RequestQueue,
)
from controllerlib.manager import LeaderElectionLost, Manager
from controllerlib.observer import Call, InformerEvent, Observer
from controllerlib.reconcile import Outcome, Request, Result, Run, TerminalError, current_run
from controllerlib.reconciler import Reconciler
from controllerlib.sharedinformer import SharedInformer
from controllerlib.signals import run
from controllerlib.transport import Transport
from controllerlib.workqueue import Gate, WorkQueue, priority_queue, work_queue

__all__ = [
    "LOW_PRIORITY",
    "AlreadyOwned",
    "ApiError",
    "BlockingClient",
    "Builder",
    "ByObject",
    "Cache",
    "CacheOptions",
    "Call",
    "Cause",
    "Chance",
    "Client",
    "ClientListWatch",
    "Clock",
    "Controller",
    "ControllerOptions",
    "EnqueueRequestForObject",
    "EnqueueRequestForOwner",
    "EnqueueRequestsFromMapFunc",
    "EventHandler",
    "EventRecorder",
    "FakeRecorder",
    "FixedChance",
    "Gate",
    "InformerEvent",
    "LeaderElection",
    "LeaderElectionLost",
    "LeaderElectionOptions",
    "Manager",
    "Model",
    "Observer",
    "OperationResult",
    "Outcome",
    "Reader",
    "Reconciler",
    "Request",
    "RequestQueue",
    "Result",
    "Run",
    "SeededChance",
    "Selection",
    "SharedInformer",
    "SharedInformerFactory",
    "SystemChance",
    "SystemClock",
    "TerminalError",
    "Transport",
    "WorkQueue",
    "Writable",
    "add_finalizer",
    "as_model",
    "as_object",
    "contains_finalizer",
    "create_or_patch",
    "create_or_update",
    "current_run",
    "has_controller_reference",
    "has_owner_reference",
    "priority_queue",
    "remove_controller_reference",
    "remove_finalizer",
    "remove_owner_reference",
    "run",
    "set_controller_reference",
    "set_owner_reference",
    "work_queue",
]
