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
from controllerlib.core.predicate import (
    Predicate,
    all_of,
    annotations_changed,
    any_of,
    generation_changed,
    label_selector,
    labels_changed,
    negated,
    of_object,
    resource_version_changed,
)
from controllerlib.core.priorityqueue import LOW_PRIORITY
from controllerlib.createorupdate import OperationResult, create_or_patch, create_or_update
from controllerlib.election import LeaderElection, LeaderElectionOptions
from controllerlib.errors import (
    ApiError,
    has_status_cause,
    is_already_exists,
    is_conflict,
    is_connection_refused,
    is_expired,
    is_internal,
    is_invalid,
    is_not_found,
    is_too_large_resource_version,
    is_too_many_requests,
)
from controllerlib.events import EventRecorder, FakeRecorder
from controllerlib.factory import SharedInformerFactory
from controllerlib.handler import (
    EnqueueRequestForObject,
    EnqueueRequestForOwner,
    EnqueueRequestsFromMapFunc,
    EventHandler,
    HandlerFuncs,
    RequestQueue,
)
from controllerlib.manager import GraceExpired, LeaderElectionLost, Manager
from controllerlib.observer import Call, InformerEvent, Observer
from controllerlib.reconcile import Outcome, Request, Result, Run, TerminalError, current_run
from controllerlib.reconciler import Reconciler, RecoveredPanic
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
    "GraceExpired",
    "HandlerFuncs",
    "InformerEvent",
    "LeaderElection",
    "LeaderElectionLost",
    "LeaderElectionOptions",
    "Manager",
    "Model",
    "Observer",
    "OperationResult",
    "Outcome",
    "Predicate",
    "Reader",
    "Reconciler",
    "RecoveredPanic",
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
    "all_of",
    "annotations_changed",
    "any_of",
    "as_model",
    "as_object",
    "contains_finalizer",
    "create_or_patch",
    "create_or_update",
    "current_run",
    "generation_changed",
    "has_controller_reference",
    "has_owner_reference",
    "has_status_cause",
    "is_already_exists",
    "is_conflict",
    "is_connection_refused",
    "is_expired",
    "is_internal",
    "is_invalid",
    "is_not_found",
    "is_too_large_resource_version",
    "is_too_many_requests",
    "label_selector",
    "labels_changed",
    "negated",
    "of_object",
    "priority_queue",
    "remove_controller_reference",
    "remove_finalizer",
    "remove_owner_reference",
    "resource_version_changed",
    "run",
    "set_controller_reference",
    "set_owner_reference",
    "work_queue",
]
