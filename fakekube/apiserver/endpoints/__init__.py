"""The handlers of API requests: reads, writes, deletions, connections, watches and discovery (`endpoints/handlers`)."""
