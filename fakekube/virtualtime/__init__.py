"""Virtual time: one clock and one loop that a test owns, and the rule by which time may move."""
