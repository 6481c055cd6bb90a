#!/usr/bin/env python3
"""Another broker to compare with: Apache Kafka itself, franz-go's kfake, or librdkafka's mock cluster.

    python scripts/reference.py kafka --port 9092 --topic t:3 --override group.initial.rebalance.delay.ms=0

See scripts/reference/command.py, and scripts/reference/__init__.py for its use in tests.
"""

import sys

from reference.command import main

if __name__ == "__main__":
    sys.exit(main())
