"""The rules of kube-apiserver: synchronous and pure; nothing here waits, reads a clock or draws random numbers."""
