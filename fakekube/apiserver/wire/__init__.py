"""Requests on the wire: parsing, codecs, Status errors, selectors, options, content negotiation and warnings."""
