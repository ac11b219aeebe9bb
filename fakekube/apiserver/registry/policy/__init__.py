"""policy: PodDisruptionBudgets."""
