"""The programs of a storage driver, which make, attach and expand volumes that exist only as API objects."""
