"""TODO batch/job"""
