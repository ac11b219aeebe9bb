"""What findings say beside what was found: the place in the code under test, and the reason."""
