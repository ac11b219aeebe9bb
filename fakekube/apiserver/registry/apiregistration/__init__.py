"""TODO apiregistration"""
