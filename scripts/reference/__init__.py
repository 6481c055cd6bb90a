"""Brokers to compare with, started and stopped by scripts/reference.py; here for tests and other scripts.

    with reference("kafka", overrides={"group.initial.rebalance.delay.ms": 0}) as bootstrap:
        ...

They are real: Apache Kafka and kfake are built from Maven Central and Go modules by the lock files beside this file,
librdkafka's mock cluster comes with the Python package confluent-kafka.
"""

from .context import Reference, Unusable, reference, started, why_not

__all__ = ["Reference", "Unusable", "reference", "started", "why_not"]
