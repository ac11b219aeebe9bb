"""CustomResourceDefinitions: their strategy and validation (`apiextensions-apiserver`)."""
