"""Controllers of roles (`pkg/controller/clusterroleaggregation`)."""
