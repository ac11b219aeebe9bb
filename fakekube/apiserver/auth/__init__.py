"""Authentication and authorization: tokens, service accounts, RBAC and impersonation."""
