"""TODO certificates/certificatesigningrequest"""
