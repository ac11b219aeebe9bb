"""TODO apiserverinternal"""
