"""CustomResourceDefinitions, and what they make of the objects that they define (`apiextensions-apiserver`)."""
