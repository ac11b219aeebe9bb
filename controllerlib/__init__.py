"""Informers, work queues and controllers for Kubernetes operators, as client-go and controller-runtime have them."""

from controllerlib.cache.cache import Cache
from controllerlib.cache.factory import SharedInformerFactory
from controllerlib.cache.options import ByObject, CacheOptions, Selection
from controllerlib.cache.sharedinformer import SharedInformer
from controllerlib.client.blocking import BlockingClient
from controllerlib.client.client import Client, ClientListWatch, Reader
from controllerlib.client.createorupdate import OperationResult, create_or_patch, create_or_update
from controllerlib.client.errors import (
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
from controllerlib.client.models import Model, Writable, as_model, as_object
from controllerlib.client.transport import Transport
from controllerlib.clock import Chance, Clock, FixedChance, SeededChance, SystemChance, SystemClock
from controllerlib.controller.controller import Controller, ControllerOptions
from controllerlib.controller.finalizers import add_finalizer, contains_finalizer, remove_finalizer
from controllerlib.controller.handler import (
    EnqueueRequestForObject,
    EnqueueRequestForOwner,
    EnqueueRequestsFromMapFunc,
    EventHandler,
    HandlerFuncs,
    RequestQueue,
)
from controllerlib.controller.invocation import Reconciler, RecoveredPanic
from controllerlib.controller.owners import (
    AlreadyOwned,
    has_controller_reference,
    has_owner_reference,
    remove_controller_reference,
    remove_owner_reference,
    set_controller_reference,
    set_owner_reference,
)
from controllerlib.controller.predicate import (
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
from controllerlib.controller.reconcile import Outcome, Request, Result, Run, TerminalError, current_run
from controllerlib.leaderelection.elector import LeaderElection, LeaderElectionOptions
from controllerlib.manager.builder import Builder
from controllerlib.manager.manager import GraceExpired, LeaderElectionLost, Manager
from controllerlib.manager.signals import run
from controllerlib.observer import Call, InformerEvent, Observer
from controllerlib.record.eventsv1 import EventRecorder, FakeRecorder
from controllerlib.workqueue.cause import Cause
from controllerlib.workqueue.prioritystate import LOW_PRIORITY
from controllerlib.workqueue.queue import Gate, WorkQueue, priority_queue, work_queue

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
