"""What virtual time needs of other libraries that they do not promise, and the versions with which it was tested."""
