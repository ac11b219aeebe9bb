"""The controller that binds claims to volumes (`pkg/controller/volume/persistentvolume`)."""

from fakekube.controllers.persistentvolumes.volumebinder.volumebindercontroller import add

__all__ = ["add"]
