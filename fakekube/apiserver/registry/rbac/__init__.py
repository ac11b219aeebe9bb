"""TODO rbac"""
