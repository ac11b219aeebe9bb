"""Authentication and authorization: users, service accounts, RBAC, impersonation, access reviews."""
