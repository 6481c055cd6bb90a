"""Captures as tcpdump writes them, made by hand: packets of a conversation over TCP."""

import struct
from ipaddress import ip_address

SYN, ACK, FIN, RST = 0x02, 0x10, 0x01, 0x04
ETHERNET, NULL, RAW, LOOP, COOKED, COOKED_2 = 1, 0, 101, 108, 113, 276
CLIENT, BROKER = ("127.0.0.1", 51234), ("127.0.0.1", 9092)


def tcp(source, target, sequence, payload=b"", flags=ACK, cut=0, options=b""):
    """An IP packet; `cut` bytes at its end are not captured."""
    size = 20 + len(options)
    header = struct.pack(">HHIIBBHHH", source[1], target[1], sequence % 2**32, 0, size // 4 << 4, flags, 512, 0, 0)
    segment = header + options + payload
    addresses = ip_address(source[0]).packed + ip_address(target[0]).packed
    if len(addresses) == 8:
        packet = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(segment), 0, 0, 64, 6, 0) + addresses + segment
    else:
        packet = struct.pack(">IHBB", 6 << 28, len(segment), 6, 64) + addresses + segment
    return packet[: len(packet) - cut]


def in_link(link, packet):
    kind = b"\x08\x00" if packet[0] >> 4 == 4 else b"\x86\xdd"
    return {
        ETHERNET: bytes(12) + kind,
        NULL: b"\2\0\0\0",
        LOOP: b"\0\0\0\2",
        RAW: b"",
        COOKED: bytes(14) + kind,
        COOKED_2: kind + bytes(18),
    }[link] + packet


def capture(packets, *, link=ETHERNET, order="<", nanoseconds=False, start=1_700_000_000):
    """A capture with a packet a millisecond; packets are those of IP."""
    magic = 0xA1B23C4D if nanoseconds else 0xA1B2C3D4
    parts = [struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, 262144, link)]
    for number, packet in enumerate(packets):
        framed = in_link(link, packet)
        fraction = number * (1_000_000 if nanoseconds else 1_000)
        parts.append(struct.pack(order + "IIII", start, fraction, len(framed), len(framed)) + framed)
    return b"".join(parts)


class Talk:
    """Both directions of a connection, with the right numbers; `packets` is what was sent so far."""

    def __init__(self, client=CLIENT, broker=BROKER, *, first=1000, hello=True):
        self.packets = []
        self.client, self.broker = client, broker
        self.next = {client: first, broker: first + 5}
        if hello:
            self.say(client, flags=SYN)
            self.say(broker, flags=SYN | ACK)

    def say(self, source, payload=b"", flags=ACK, **how):
        target = self.broker if source == self.client else self.client
        self.packets.append(tcp(source, target, self.next[source], payload, flags, **how))
        self.next[source] += len(payload) + bool(flags & (SYN | FIN))
        return self.packets[-1]

    def ask(self, payload, **how):
        return self.say(self.client, payload, **how)

    def answer(self, payload, **how):
        return self.say(self.broker, payload, **how)
