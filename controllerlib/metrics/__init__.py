"""Metrics under the names that client-go and controller-runtime give them."""
