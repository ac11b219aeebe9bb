"""TODO scheduling"""
