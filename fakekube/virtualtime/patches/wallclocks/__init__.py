"""What makes the code under test read virtual time from `datetime` and `time`."""
