"""networking.k8s.io: Ingresses, NetworkPolicies, ranges of addresses."""
