"""TODO certificates"""
