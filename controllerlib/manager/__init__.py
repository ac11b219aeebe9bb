"""The manager of an operator, and its builder (controller-runtime: pkg/manager, pkg/builder)."""
