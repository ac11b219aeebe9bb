"""Assertions on what has happened in a cluster, and predicates that are checked at each change."""
