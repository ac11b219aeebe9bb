"""The API server running: clock, waiting, watch streams, HTTP, the direct transport, webhook calls."""
