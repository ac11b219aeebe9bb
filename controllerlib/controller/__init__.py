"""Controllers: sources, handlers, predicates, reconcilers (controller-runtime: pkg/controller)."""
