"""The controllers of core kinds: namespaces, service accounts, endpoints, quotas, nodes."""
