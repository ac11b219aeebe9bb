"""The server as a process: its address, its log, its time, and the command beside it."""
