"""Connections of a bubble: in-memory pipes and counted sockets."""
