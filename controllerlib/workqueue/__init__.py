"""Work queues and rate limiters (client-go: util/workqueue; controller-runtime: pkg/controller/priorityqueue)."""
