"""Server-side apply: who owns which field, and what an apply makes of an object (structured-merge-diff)."""
