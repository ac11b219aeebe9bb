"""The controllers of nodes: their taints, their health, and what becomes of their pods."""
