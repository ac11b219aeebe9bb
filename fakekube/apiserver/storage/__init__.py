"""The store and its history, and watches, which are cursors over the history."""
