"""Objects as tables, for people to read: what `kubectl get` prints (`pkg/printers`)."""
