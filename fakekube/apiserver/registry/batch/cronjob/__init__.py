"""CronJobs."""
