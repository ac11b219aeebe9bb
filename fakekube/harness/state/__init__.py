"""The state of a cluster as a whole: snapshots, manifests in and out, golden files, and differences between versions."""
