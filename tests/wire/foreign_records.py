"""Record batches and codecs of kafka-python and aiokafka, as judges."""

import warnings

with warnings.catch_warnings():  # kafka-python loads its definitions by a function that Python has deprecated
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka import codec as codecs
    from kafka.record import MemoryRecords as KafkaRecords
    from kafka.record.default_records import DefaultRecordBatchBuilder as KafkaBuilder

from aiokafka.record.default_records import DefaultRecordBatch as AioBatch
from aiokafka.record.default_records import DefaultRecordBatchBuilder as AioBuilder

__all__ = ["AioBatch", "AioBuilder", "KafkaBuilder", "KafkaRecords", "codecs"]
