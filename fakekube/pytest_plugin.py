"""The pytest plugin: imported by every pytest run on the machine, so it imports nothing heavy."""
