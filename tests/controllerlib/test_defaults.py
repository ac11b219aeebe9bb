"""The defaults are those of client-go and controller-runtime: numbers, delays, limits and switches."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

import pytest

from controllerlib.backoff import REFLECTOR, Backoff, DelayWithReset, KeyedBackoff, no_jitter
from controllerlib.cache import identity, listwatch, processorlistener, reflector, resync
from controllerlib.cache.deltafifo import DeltaFIFO
from controllerlib.cache.expirationstore import MutationDetector
from controllerlib.cache.factory import SharedInformerFactory
from controllerlib.cache.informercontroller import InformerOptions
from controllerlib.cache.listwatch import ClientListWatch, ListWatch, list_pages
from controllerlib.cache.mutationcache import MutationCache
from controllerlib.cache.options import CacheOptions, Selection
from controllerlib.cache.realfifo import RealFIFOOptions
from controllerlib.cache.reflector import ReflectorOptions
from controllerlib.cache.relist import RetryWithDeadline
from controllerlib.cache.sharedinformer import SharedIndexInformer
from controllerlib.client import http, retry
from controllerlib.client.komega import consistently, eventually
from controllerlib.client.listoptions import ListOptions
from controllerlib.controller import source
from controllerlib.controller.controller import DEFAULTS, ControllerOptions
from controllerlib.controller.owners import OwnerKind, set_controller_reference, set_owner_reference
from controllerlib.controller.reconcile import Result
from controllerlib.leaderelection import leaserecord
from controllerlib.leaderelection.elector import LeaderElector, LeaderHealthz
from controllerlib.leaderelection.leaderelection import LeaderElectionOptions
from controllerlib.manager.builder import Builder
from controllerlib.manager.manager import Manager
from controllerlib.metrics.queuemetrics import QUEUE_BUCKETS
from controllerlib.record import broadcaster, eventsv1, series, sink
from controllerlib.record.corev1 import CoreEventBroadcaster
from controllerlib.record.correlator import CorrelatorOptions
from controllerlib.record.eventsv1 import EventBroadcaster
from controllerlib.wait import parallelize, poll, until
from controllerlib.workqueue import LOW_PRIORITY
from controllerlib.workqueue.queue import priority_queue, work_queue
from controllerlib.workqueue.ratelimiters import BucketRateLimiter, ItemExponentialFailureRateLimiter


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param(listwatch.PAGE_SIZE, 500, id="page-size"),
        pytest.param(http.RETRIES, 10, id="retries-by-retry-after"),
        pytest.param(processorlistener.PAUSE_AFTER_FAILURE, 1.0, id="pause-after-a-handler-failed"),
        pytest.param(reflector.INITIAL_EVENTS_END, "k8s.io/initial-events-end", id="end-of-a-streamed-list"),
        pytest.param(resync.MINIMUM_RESYNC, 1.0, id="minimum-resync"),
        pytest.param(source.RETRY, 10.0, id="retry-of-a-kind-that-is-not-served"),
        pytest.param(broadcaster.QUEUED, 1000, id="queued-events"),
        pytest.param(sink.TRIES, 12, id="tries-per-event"),
        pytest.param(sink.PAUSE, 10.0, id="pause-between-tries"),
        pytest.param(eventsv1.WORKERS, 8, id="workers-of-events"),
        pytest.param(series.FINISH, 360.0, id="end-of-a-series"),
        pytest.param(series.REFRESH, 1800.0, id="refresh-of-a-series"),
        pytest.param(leaserecord.JITTER, 1.2, id="jitter-of-an-election"),
        pytest.param(LOW_PRIORITY, -100, id="low-priority"),
        pytest.param(len(identity.LATENCY_BUCKETS), 12, id="buckets-of-informers"),
        pytest.param(QUEUE_BUCKETS, tuple(10.0**power for power in range(-8, 4)), id="buckets-of-queues"),
    ],
)
def test_numbers(found: Any, expected: Any) -> None:
    assert found == expected


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param(REFLECTOR, (0.8, 2.0, 1.0, 38, 30.0), id="reflector"),
        pytest.param(retry.DEFAULT_RETRY, (0.01, 1.0, 0.1, 5, 0.0), id="DefaultRetry"),
        pytest.param(retry.DEFAULT_BACKOFF, (0.01, 5.0, 0.1, 4, 0.0), id="DefaultBackoff"),
        pytest.param(Backoff(1.0), (1.0, 0.0, 0.0, 0, 0.0), id="none"),
    ],
)
def test_backoffs(found: Backoff, expected: Any) -> None:
    assert (found.duration, found.factor, found.jitter, found.steps, found.cap) == expected


#: The value of each field that has one by default.
VALUES: Mapping[Any, Mapping[str, Any]] = {
    ReflectorOptions(): {
        "resync_period": 0.0, "page_size": 0, "min_watch_timeout": 300.0, "internal_error_retry": 0.0,
        "streaming": True, "backoff_reset": 120.0,
    },
    RealFIFOOptions(): {"atomic": True, "unlock_while_processing": True, "bookmarks": True, "batch_size": 1000},
    InformerOptions(): {"reflector": ReflectorOptions(), "batches": True},
    ListOptions(): {
        "resource_version": "", "resource_version_match": "", "label_selector": "", "field_selector": "", "limit": 0,
        "continue_token": "", "timeout_seconds": None, "allow_watch_bookmarks": False, "send_initial_events": None,
    },
    Selection(): dict.fromkeys(("label_selector", "field_selector", "transform", "share", "bookmarks")),
    Result(): {"requeue_after": None, "priority": None, "requeue": False},
    CorrelatorOptions(): {"max_events": 10, "max_interval": 600.0, "burst": 25, "size": 4096},
    LeaderElectionOptions("x", labels=()): {  # type: ignore[arg-type]  # to be a key
        "namespace": "", "identity": "", "lease_duration": 15.0, "renew_deadline": 10.0, "retry_period": 2.0,
        "release_on_cancel": False, "lock": None, "resource_lock": "leases", "watch_dog": None, "new_leader": None,
    },
    DEFAULTS: {
        "max_concurrent_reconciles": 1, "cache_sync_timeout": 120.0, "recover_panic": True,
        "need_leader_election": True, "use_priority_queue": True, "enable_warmup": False,
        "reconciliation_timeout": None, "rate_limiter": None, "skip_name_validation": False,
    },
    ControllerOptions(): dict.fromkeys(
        [field.name for field in fields(ControllerOptions)]
    ),
}  # fmt: skip


@pytest.mark.parametrize("options", VALUES, ids=lambda options: type(options).__name__)
def test_options(options: Any) -> None:
    assert {name: getattr(options, name) for name in VALUES[options]} == VALUES[options]


def test_options_of_a_cache() -> None:
    options = CacheOptions()
    assert (options.sync_period, options.sync_period_jitter, options.min_watch_timeout) == (36_000.0, 0.1, 300.0)
    assert (options.namespaces, options.by_object, options.fail_on_missing_informer) == ({}, {}, False)


def test_one_event_in_five_minutes_and_no_more() -> None:
    assert 0 < CorrelatorOptions().qps - 1 / 300 < 1e-9


def test_limiters() -> None:
    exponential = ItemExponentialFailureRateLimiter[str]()
    assert (exponential.base, exponential.cap) == (0.005, 1000.0)
    bucket = BucketRateLimiter[str]().bucket
    assert (bucket.qps, bucket.burst, bucket.level(0.0)) == (10.0, 100, 100.0)


#: The default value of each argument that has one.
ARGUMENTS: Mapping[Callable[..., Any], Mapping[str, Any]] = {
    ListWatch: {"watch_list_unsupported": False},
    ClientListWatch: {"metadata_only": False, "bookmarks": True, "label_selector": "", "field_selector": ""},
    list_pages: {"page_size": 500},
    DeltaFIFO: {"emit_replaced": False},
    MutationCache: {"size": 100, "ttl": 300.0, "include_adds": False},
    RetryWithDeadline: {"idle": 60.0},
    MutationDetector: {"rotation": 120.0},
    OwnerKind: {"namespaced": True, "only_controller": True},
    SharedIndexInformer: {"resync_period": 0.0, "skip_handler_failures": False},
    SharedInformerFactory: {"default_resync": 0.0, "namespace": None},
    KeyedBackoff: {"jitter": 0.0, "fraction": no_jitter},
    LeaderElector: {
        "lease_duration": 15.0, "renew_deadline": 10.0, "retry_period": 2.0, "release_on_cancel": False,
        "coordinated": False,
    },
    LeaderHealthz: {"tolerance": 20.0},
    Manager: {
        "sync_period": 36_000.0, "sync_period_jitter": 0.1, "handlers_after_sync": False,
        "graceful_shutdown_timeout": 30.0, "skip_handler_failures": False, "metrics_bind_address": "0",
        "health_probe_bind_address": "0", "liveness_endpoint": "/healthz", "readiness_endpoint": "/readyz",
        "user_agent": "controllerlib", "election": None,
    },
    CoreEventBroadcaster: {"pause": 10.0, "capacity": 1000},
    EventBroadcaster: {"pause": 10.0, "capacity": 1000},
    until: {"jitter_factor": 0.0, "sliding": True},
    poll: {"immediate": True},
    parallelize: {"chunk": 1},
    eventually: {"within": 1.0, "every": 0.01},
    consistently: {"duration": 0.1, "every": 0.01},
    work_queue: {"strict": False, "storage": None},
    priority_queue: {"gate": None, "name": ""},
    set_controller_reference: {"block_owner_deletion": True},
    Builder.for_: {"predicates": (), "only_metadata": False},
    Builder.owns: {"predicates": (), "only_metadata": False, "match_every_owner": False},
    Builder.watches: {"predicates": (), "only_metadata": False},
    Builder.with_options: {"options": None},
    set_owner_reference: {"block_owner_deletion": None},
}  # fmt: skip


@pytest.mark.parametrize("made", ARGUMENTS, ids=lambda made: made.__name__)
def test_arguments(made: Callable[..., Any]) -> None:
    parameters = inspect.signature(made).parameters
    assert {name: parameters[name].default for name in ARGUMENTS[made]} == ARGUMENTS[made]


def test_delays_with_a_reset_start_at_the_first() -> None:
    delays = DelayWithReset(REFLECTOR, 120.0, 5.0)
    assert (delays.calls, delays.next(5.0), delays.calls) == (0, 0.8, 1)
    assert [DelayWithReset(REFLECTOR, 0.0, 0.0).next(0.0) for _ in range(2)] == [0.8, 0.8]
