"""The functions of CEL by topic; `functions` contains all of them."""
