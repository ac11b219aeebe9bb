"""The control API of a server: the desks of a test, over HTTP (`/_fakekube/v1`)."""
