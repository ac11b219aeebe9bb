"""certificates.k8s.io: certificate signing requests."""
