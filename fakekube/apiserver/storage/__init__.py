"""The store with its history, and watches as cursors over it."""
