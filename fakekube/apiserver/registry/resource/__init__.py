"""resource.k8s.io: devices."""
