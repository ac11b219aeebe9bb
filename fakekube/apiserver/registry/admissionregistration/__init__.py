"""admissionregistration.k8s.io: webhooks and admission policies."""
