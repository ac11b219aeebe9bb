"""What is replaced for processes that code under test starts and waits for."""
