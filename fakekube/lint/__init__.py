"""`fakekube lint`: manifests as a server would take them, without a socket and without a cluster."""
