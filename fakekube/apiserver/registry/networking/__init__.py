"""TODO networking"""
