"""What the registries of all kinds share (apiserver: pkg/registry/generic)."""
