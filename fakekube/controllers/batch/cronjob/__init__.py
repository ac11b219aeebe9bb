"""The controller of CronJobs (`pkg/controller/cronjob`)."""
