"""The kinds that the server stores, one folder each, and what they share."""
