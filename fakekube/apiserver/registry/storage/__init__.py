"""TODO storage"""
