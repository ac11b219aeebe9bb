"""rbac.authorization.k8s.io: roles and bindings."""
