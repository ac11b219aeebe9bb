"""TODO core/persistentvolume"""
