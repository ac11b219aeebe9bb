"""The state of a server in a directory (`--data-dir`)."""
