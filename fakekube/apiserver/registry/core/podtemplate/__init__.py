"""TODO core/podtemplate"""
