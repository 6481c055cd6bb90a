"""Record batches byte by byte, wrong ones, too: what `wire.records.build` would not write."""

import struct

from crc32c import crc32c

from wire.primitives import write_varint, write_varlong

NOW = 1_700_000_000_000
HOUR = 3_600_000
INT32_MAX = 2**31 - 1


def record(
    delta=0, time=0, key=b"k", value=b"v", headers=b"\0", attributes=b"\0", size=None, key_size=None, value_size=None
):
    """One record; `headers` are the bytes of their count and of themselves."""
    body = attributes + write_varlong(time) + write_varint(delta)
    body += sized(key, key_size) + sized(value, value_size) + headers
    return write_varint(len(body) if size is None else size) + body


def sized(value, size=None):
    if size is None:
        size = -1 if value is None else len(value)
    return write_varint(size) + (value or b"")


def header(name, value):
    return write_varint(1) + sized(name) + sized(value)


def batch(
    count,
    records,
    *,
    last=None,
    time=NOW,
    highest=None,
    attributes=0,
    producer=(-1, -1, -1),
    base_offset=0,
    length=None,
    magic=2,
    epoch=-1,
):
    """A batch that says `count`, whatever is in it; `producer` is id, epoch and sequence."""
    last = count - 1 if last is None else last
    highest = time if highest is None else highest
    length = 49 + len(records) if length is None else length
    front = struct.pack(">qiibIhiqq", base_offset, length, epoch, magic, 0, attributes, last, time, highest)
    return with_crc(front + struct.pack(">qhii", *producer, count) + records)


def good(count=3, **kwargs):
    """A batch of so many records that nobody would refuse."""
    return batch(count, b"".join(record(delta) for delta in range(count)), **kwargs)


def with_crc(data):
    return data[:17] + struct.pack(">I", crc32c(data[21:])) + data[21:]


def put(data, form, position, value, *, crc=True):
    """Change one number of a batch; the checksum follows, unless it shall not."""
    changed = bytearray(data)
    struct.pack_into(">" + form, changed, position, value)
    return with_crc(bytes(changed)) if crc else bytes(changed)
