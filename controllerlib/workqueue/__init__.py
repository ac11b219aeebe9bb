"""Work queues and rate limiters (client-go: util/workqueue; controller-runtime: pkg/controller/priorityqueue)."""

from controllerlib.workqueue.cause import Cause, CauseKind
from controllerlib.workqueue.item import NotProcessing, QueueMetrics, WorkItem
from controllerlib.workqueue.prioritystate import LOW_PRIORITY, PriorityQueueState
from controllerlib.workqueue.queue import Gate, WorkQueue, priority_queue, work_queue
from controllerlib.workqueue.queuestate import FifoStorage, Storage, WorkQueueState
from controllerlib.workqueue.ratelimiters import (
    BucketRateLimiter,
    ItemExponentialFailureRateLimiter,
    ItemFastSlowRateLimiter,
    MaxOfRateLimiter,
    RateLimiter,
    WithMaxWaitRateLimiter,
    default_controller_rate_limiter,
    default_item_based_rate_limiter,
)
from controllerlib.workqueue.tokenbucket import TokenBucket

__all__ = [
    "LOW_PRIORITY",
    "BucketRateLimiter",
    "Cause",
    "CauseKind",
    "FifoStorage",
    "Gate",
    "ItemExponentialFailureRateLimiter",
    "ItemFastSlowRateLimiter",
    "MaxOfRateLimiter",
    "NotProcessing",
    "PriorityQueueState",
    "QueueMetrics",
    "RateLimiter",
    "Storage",
    "TokenBucket",
    "WithMaxWaitRateLimiter",
    "WorkItem",
    "WorkQueue",
    "WorkQueueState",
    "default_controller_rate_limiter",
    "default_item_based_rate_limiter",
    "priority_queue",
    "work_queue",
]
