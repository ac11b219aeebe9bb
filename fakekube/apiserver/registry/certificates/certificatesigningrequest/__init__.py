"""CertificateSigningRequests."""
