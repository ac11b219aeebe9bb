"""Connections to the servers of a bubble: in-memory pipes, and sockets whose bytes are counted."""
