"""storagemigration.k8s.io: migrations of stored objects to another version."""
