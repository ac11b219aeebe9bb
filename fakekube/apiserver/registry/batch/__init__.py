"""TODO batch"""
