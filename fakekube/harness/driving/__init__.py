"""How a test runs the event loop of its cluster: sync and async tests, fixtures, steps that must be awaited."""
