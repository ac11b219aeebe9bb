"""storage.k8s.io: StorageClasses and CSI drivers."""
