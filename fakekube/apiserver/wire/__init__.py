"""Requests and responses on the wire: parsing, codecs, Status errors, negotiation, options, warnings."""
