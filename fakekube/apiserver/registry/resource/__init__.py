"""TODO resource"""
