"""Explores a client that is a process: its command is run again and again, each time with one fault."""
