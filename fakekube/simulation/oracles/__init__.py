"""Oracles: what a correct operator never does, whatever a cluster does to it."""
