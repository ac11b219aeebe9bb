"""Informers, work queues and controllers for Kubernetes operators, as client-go and controller-runtime have them."""

from controllerlib.blocking import BlockingClient
from controllerlib.builder import Builder
from controllerlib.cache import Cache
from controllerlib.client import Client, ClientListWatch, Reader
from controllerlib.clock import Chance, Clock, FixedChance, SeededChance, SystemChance, SystemClock
from controllerlib.controller import Controller, ControllerOptions
from controllerlib.core.cacheconfig import ByObject, CacheOptions, Selection
from controllerlib.core.cause import Cause
from controllerlib.core.models import Model, Writable, as_model, as_object
from controllerlib.core.priorityqueue import LOW_PRIORITY
from controllerlib.election import LeaderElection, LeaderElectionOptions
from controllerlib.errors import ApiError
from controllerlib.events import EventRecorder, FakeRecorder
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
    "SystemChance",
    "SystemClock",
    "TerminalError",
    "Transport",
    "WorkQueue",
    "Writable",
    "as_model",
    "as_object",
    "current_run",
    "priority_queue",
    "run",
    "work_queue",
]
