"""The registry of custom resources (apiextensions-apiserver `pkg/registry/customresource`)."""
