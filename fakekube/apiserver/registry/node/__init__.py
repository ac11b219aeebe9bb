"""TODO node"""
