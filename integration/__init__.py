"""Real clients against a real server, over TCP."""

import warnings

with warnings.catch_warnings():
    # kafka-python reads its schemas, as it is imported, with functions that Python 3.11 and 3.12 deprecate.
    warnings.filterwarnings("ignore", "(read|open)_text is deprecated", DeprecationWarning)
    import kafka
    import kafka.coordinator.assignors.sticky.sticky_assignor

__all__ = ["kafka"]
