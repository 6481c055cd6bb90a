"""The Kafka group coordinator alone: a small server that real consumers rebalance against."""

__version__ = "0.1.0"
