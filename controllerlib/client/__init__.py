"""Clients for API servers: reading, writing, credentials, discovery (controller-runtime: pkg/client)."""
