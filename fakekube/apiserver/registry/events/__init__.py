"""events.k8s.io: Events."""
