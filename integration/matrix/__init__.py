"""How clients take errors of the group's requests: each error once on each request, and what became of the client."""
