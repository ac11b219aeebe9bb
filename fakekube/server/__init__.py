"""Runs the API server: clock, waiting, watch streams, HTTP, the direct transport, webhook calls."""
