"""Server-side apply: ownership of fields, and merging of applied configurations (structured-merge-diff)."""
