"""Kafka's protocol as data: messages, their bytes, and what rides inside them. No I/O, no clock, no state.

`wire.messages` declares, `wire.codec` reads and writes, `wire.header` and `wire.frame` wrap, `wire.payloads` looks
inside, `wire.structs` shows, `wire.errors` names what can go wrong.
"""
