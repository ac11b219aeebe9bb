"""TODO discovery"""
