"""TODO admissionregistration"""
