"""The rules of the controller stack: synchronous and pure; the shells beside this folder do the waiting."""
