"""How clients reach the server of a cluster, and the server reaches webhooks: addresses, users, configuration."""
