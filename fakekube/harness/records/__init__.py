"""How records are kept, joined by cause, and shown: bounded sequences, versions of objects, chains of causes, pages."""
