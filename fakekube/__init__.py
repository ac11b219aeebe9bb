"""A Kubernetes API server for tests: it answers as kube-apiserver answers, owns time, and knows why."""
