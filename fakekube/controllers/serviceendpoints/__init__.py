"""The controllers that publish the addresses of Services: Endpoints and EndpointSlices."""
