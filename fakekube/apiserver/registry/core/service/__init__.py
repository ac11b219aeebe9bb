"""Services (registry/core/service)."""
