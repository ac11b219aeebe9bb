"""TODO custom"""
