"""Under which names this server is called: the only Host headers, and the only origins, that it answers.

A page of another site can make a browser call 127.0.0.1, or a name of its own that leads there; the browser says which
name it used. Names are compared whole and byte for byte, so nothing can begin, end or be spelled like one of ours.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.errors import InputError

__all__ = ["Addresses", "addresses_of", "is_loopback"]

_NAME = re.compile(r"(?:[a-z0-9](?:[a-z0-9.-]{0,252})|\[[0-9a-f:.]{2,45}\])(?::[0-9]{1,5})?")
_HTTP = 80


@dataclass(frozen=True)
class Addresses:
    own: frozenset[str]
    """Where it listens: ADDRESS:PORT."""
    named: frozenset[str] = frozenset()
    """What the operator says it is called from outside, perhaps behind a proxy that speaks TLS."""

    @property
    def hosts(self) -> frozenset[str]:
        return self.own | self.named

    @property
    def origins(self) -> frozenset[str]:
        return frozenset({f"http://{host}" for host in self.hosts} | {f"https://{host}" for host in self.named})

    def is_origin(self, origin: str, host: str) -> bool:
        """Whether a page of this origin is a page of this server, under the very name that the request used."""
        return origin == f"http://{host}" or (host in self.named and origin == f"https://{host}")


def is_loopback(host: str) -> bool:
    """Whether nobody but this machine can reach the address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def addresses_of(host: str, port: int, names: Sequence[str] = ()) -> Addresses:
    """Of a server that listens on an address and a port; `names` are further ones, with or without a port."""
    called = {_shown(host)} if not _is_everywhere(host) else {"127.0.0.1", "[::1]"}
    if is_loopback(host) or _is_everywhere(host):
        called.add("localhost")
    own = {f"{one}:{port}" for one in called} | (called if port == _HTTP else set())
    named: set[str] = set()
    for name in names:
        if not _NAME.fullmatch(name):
            raise InputError(f"a server is known as HOST or HOST:PORT, in lower case, not as {name!r}")
        with_port = bool(re.search(r":[0-9]+$", name)) and not name.endswith("]")
        named |= {name} if with_port else {name, f"{name}:{port}"}
    return Addresses(frozenset(own), frozenset(named))


def _is_everywhere(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False


def _shown(host: str) -> str:
    return f"[{host.lower()}]" if ":" in host else host.lower()
