"""The controllers of dynamic resource allocation."""
