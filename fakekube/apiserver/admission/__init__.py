"""Admission: plugins, policies and webhooks that change or reject a request (`plugin/pkg/admission`)."""
