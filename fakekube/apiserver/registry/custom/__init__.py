"""Custom resources behind the interface of every resource (apiextensions-apiserver `pkg/registry/customresource`)."""
