"""Informers, work queues and controllers for Kubernetes operators, as client-go and controller-runtime have them."""
