"""The coordinator itself, pure: a request and the time go in; records, replies and notes come out."""
