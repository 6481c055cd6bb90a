"""Releases of Apache Kafka that the server may be like, from 0.11 on: data, and how it is asked for.

ranges      what each advertises of the APIs that are served
behaviours  what its coordinator does otherwise
release     both, by its name
masks       single APIs of which less is offered
"""
