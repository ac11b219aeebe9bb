"""TODO flowcontrol"""
