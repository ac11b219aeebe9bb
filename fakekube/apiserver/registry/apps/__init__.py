"""TODO apps"""
