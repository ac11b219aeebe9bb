"""What the server refuses in the kinds it has built in, in its own words (kubernetes `pkg/apis/*/validation`)."""
