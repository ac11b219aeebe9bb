"""The endpoints of the API: reading, writing, deleting, connecting, watching, discovery."""
