"""Kinds of the group apiextensions.k8s.io, and the custom resources that they define."""
