"""Stores, queues of deltas, reflectors and informers (client-go: tools/cache; controller-runtime: pkg/cache)."""
