"""Recording Events of both APIs (client-go: tools/record, tools/events)."""
