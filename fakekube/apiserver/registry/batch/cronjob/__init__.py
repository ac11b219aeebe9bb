"""TODO batch/cronjob"""
