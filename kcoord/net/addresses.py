"""How addresses look: to the coordinator, which shows them as Java does, and to clients."""

from ipaddress import IPv6Address, ip_address


def plain_host(host: str) -> str:
    """Return a numeric address without detour: an IPv4 client of an IPv6 socket is an IPv4 client."""
    address = ip_address(host)
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return host if mapped is None else str(mapped)


def java_host(host: str) -> str:
    """Return the `client_host` of a member, as Java's `InetAddress.toString` writes a numeric address.

    A slash comes first, because there is no host name in front of it; IPv6 is written out, without `::`.
    """
    plain = plain_host(host)
    address = ip_address(plain)
    if not isinstance(address, IPv6Address):
        return f"/{plain}"
    words = memoryview(address.packed).cast("B")
    groups = ":".join(f"{high << 8 | low:x}" for high, low in zip(words[::2], words[1::2], strict=True))
    return f"/{groups}" if address.scope_id is None else f"/{groups}%{address.scope_id}"
