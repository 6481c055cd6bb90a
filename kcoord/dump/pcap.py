"""Captures in the classic format of libpcap: packets, and the TCP segments in them.

Magic numbers tell byte order and unit of time; link layers are Ethernet, loopback (BSD's and OpenBSD's), Linux cooked
(v1 and v2) and raw IP. What is no TCP over IPv4 or IPv6 is passed over, and so is what cannot be put together here:
fragments of IP.

No library is used: dpkt, the usual one, had its last release in 2022, has no types and does not put TCP together, and
whoever only serves would have to install it; what is needed of it is this file. `pcapng`, which Wireshark writes, is
recognised and not read: `editcap -F pcap` turns it into this format.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import ip_address
from typing import BinaryIO, Final

from kcoord.dump.frames import BadInput

PCAPNG: Final = b"\x0a\x0d\x0d\x0a"
MAGICS: Final = {
    b"\xd4\xc3\xb2\xa1": ("<", 1_000),
    b"\xa1\xb2\xc3\xd4": (">", 1_000),
    b"\x4d\x3c\xb2\xa1": ("<", 1_000_000),
    b"\xa1\xb2\x3c\x4d": (">", 1_000_000),
}
"""First bytes of a capture: byte order, and how many units of its finer time make a millisecond."""
_FILE_HEADER: Final = 24
_PACKET_HEADER: Final = 16
_LARGEST_PACKET: Final = 1 << 20
"""In bytes. libpcap cuts packets at 262144; more than this is garbage."""

_NULL, _ETHERNET, _RAW, _LOOP, _COOKED, _COOKED_2 = 0, 1, 101, 108, 113, 276
_IPV4, _IPV6 = 228, 229
_LINKS: Final = frozenset({_NULL, _ETHERNET, _RAW, _LOOP, _COOKED, _COOKED_2, _IPV4, _IPV6})
"""Numbers of link layers (tcpdump.org, LINKTYPE_*)."""
_VLAN_TYPES: Final = frozenset({0x8100, 0x88A8, 0x9100})
_IP_TYPES: Final = frozenset({0x0800, 0x86DD})
_TCP: Final = 6
_SHORT_EXTENSIONS: Final = frozenset({0, 43, 60, 135, 139, 140})
"""Headers of IPv6 that say their length in units of 8 bytes, without the first."""
_AUTHENTICATION: Final = 51
FIN, SYN, RST = 0x01, 0x02, 0x04
ACK: Final = 0x10


@dataclass(frozen=True, slots=True)
class Segment:
    """A TCP segment: from where to where, its number, its flags, its bytes, and when it was captured (ms)."""

    time_ms: float
    source: tuple[str, int]
    target: tuple[str, int]
    sequence: int
    flags: int
    payload: bytes
    missing: int = 0
    """Bytes at its end that were sent, and not captured."""


def segments(file: BinaryIO, name: str) -> Iterator[Segment]:
    """Read the TCP segments of a capture, one after the other.

    Raises BadInput if it is none, is of a link layer that is not known here, or ends in the middle of a packet; what
    comes before that has been yielded then.
    """
    header = file.read(_FILE_HEADER)
    form = MAGICS.get(header[:4])
    if form is None or len(header) < _FILE_HEADER:
        raise BadInput(f"{name} is not a capture of libpcap")
    order, units = form
    link = int(struct.unpack(order + "I", header[20:])[0]) & 0xFFFF
    if link not in _LINKS:
        raise BadInput(f"{name} is a capture of link layer {link}, of which nothing is known here")
    number = 0
    while packet_header := file.read(_PACKET_HEADER):
        number += 1
        if len(packet_header) < _PACKET_HEADER:
            raise BadInput(f"{name} ends in the middle of packet {number}")
        seconds, fraction, size, _ = struct.unpack(order + "IIII", packet_header)
        if size > _LARGEST_PACKET:
            raise BadInput(f"{name} says that packet {number} has {size} bytes; that cannot be")
        packet = file.read(size)
        if len(packet) < size:
            raise BadInput(f"{name} ends in the middle of packet {number}")
        try:
            segment = _segment(seconds * 1000 + fraction / units, link, packet)
        except (struct.error, IndexError):
            continue  # cut off in its headers
        if segment is not None:
            yield segment


def _segment(time_ms: float, link: int, packet: bytes) -> Segment | None:
    """Look for a TCP segment in a packet. Raises struct.error and IndexError where the packet is too short."""
    start = _network_layer(link, packet)
    if start is None:
        return None
    version = packet[start] >> 4
    if version == 4:
        return _in_ipv4(time_ms, packet, start)
    return _in_ipv6(time_ms, packet, start) if version == 6 else None


def _network_layer(link: int, packet: bytes) -> int | None:
    """Return where the IP header begins, if there is one."""
    if link in (_RAW, _IPV4, _IPV6):
        return 0
    if link in (_NULL, _LOOP):
        return 4  # the address family, whose numbers differ; the version in the IP header does not
    start, type_at = {_ETHERNET: (14, 12), _COOKED: (16, 14), _COOKED_2: (20, 0)}[link]
    (kind,) = struct.unpack_from(">H", packet, type_at)
    while kind in _VLAN_TYPES:
        (kind,) = struct.unpack_from(">H", packet, start + 2)
        start += 4
    return start if kind in _IP_TYPES else None


def _in_ipv4(time_ms: float, packet: bytes, start: int) -> Segment | None:
    length, _, fragment = struct.unpack_from(">HHH", packet, start + 2)
    if packet[start + 9] != _TCP or fragment & 0x3FFF:
        return None
    size = (packet[start] & 0x0F) * 4
    # A packet that the network card is to cut up has no length of its own yet.
    end = start + length if length else len(packet)
    return _tcp(time_ms, packet, start + size, end, packet[start + 12 : start + 16], packet[start + 16 : start + 20])


def _in_ipv6(time_ms: float, packet: bytes, start: int) -> Segment | None:
    (length,) = struct.unpack_from(">H", packet, start + 4)
    end = start + 40 + length if length else len(packet)
    following, position = packet[start + 6], start + 40
    while following in _SHORT_EXTENSIONS or following == _AUTHENTICATION:
        units = packet[position + 1]
        size = (units + 2) * 4 if following == _AUTHENTICATION else (units + 1) * 8
        following, position = packet[position], position + size
    if following != _TCP:  # a fragment, for one
        return None
    return _tcp(time_ms, packet, position, end, packet[start + 8 : start + 24], packet[start + 24 : start + 40])


def _tcp(time_ms: float, packet: bytes, start: int, end: int, source: bytes, target: bytes) -> Segment | None:
    source_port, target_port, sequence = struct.unpack_from(">HHI", packet, start)
    size = (packet[start + 12] >> 4) * 4
    flags = packet[start + 13]
    if size < 20 or start + size > end:
        return None
    return Segment(
        time_ms,
        (str(ip_address(source)), source_port),
        (str(ip_address(target)), target_port),
        sequence,
        flags,
        packet[start + size : end],
        max(end - max(len(packet), start + size), 0),
    )
