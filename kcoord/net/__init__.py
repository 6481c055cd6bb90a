"""Connections: bytes in, requests through, bytes out."""
