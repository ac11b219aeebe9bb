"""What an exploration has found, and what it shows and keeps of that."""
