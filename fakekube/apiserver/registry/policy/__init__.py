"""TODO policy"""
