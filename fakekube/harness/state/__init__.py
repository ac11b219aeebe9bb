"""The state of a cluster: snapshots, manifests in and out, golden files, and differences between versions."""
