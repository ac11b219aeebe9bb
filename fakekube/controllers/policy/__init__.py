"""The controllers of policy/v1: PodDisruptionBudget."""
