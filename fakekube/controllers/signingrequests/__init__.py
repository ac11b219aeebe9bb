"""Controllers of CertificateSigningRequests (`pkg/controller/certificates`)."""
