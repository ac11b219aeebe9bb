"""TODO generic/table"""
