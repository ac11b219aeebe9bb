"""What runs beside a test: operators with their managers, tasks and threads, and what is observed of them."""
