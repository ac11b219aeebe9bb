"""TODO autoscaling/horizontalpodautoscaler"""
