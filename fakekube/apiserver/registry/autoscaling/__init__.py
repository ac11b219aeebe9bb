"""TODO autoscaling"""
