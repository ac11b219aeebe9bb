"""PersistentVolumeClaims."""
