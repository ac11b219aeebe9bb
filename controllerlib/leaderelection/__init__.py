"""Leader election on Leases (client-go: tools/leaderelection)."""
