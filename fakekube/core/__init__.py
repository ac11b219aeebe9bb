"""The rules of the API server: synchronous and pure; nothing here waits, asks the time or draws by chance."""
