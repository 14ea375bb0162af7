"""Addresses: which items an address leads to."""

from __future__ import annotations

from collections.abc import Iterator


class Addresses:
    """Item ids by address. Nearly every address is one item's own; one that was renamed leaves it to the next."""

    def __init__(self) -> None:
        self._first: dict[str, str] = {}
        self._others: dict[str, set[str]] = {}

    def add(self, address: str, item: str) -> None:
        """Take in that an item has, or once had, this address. An empty one is none."""
        if address and self._first.setdefault(address, item) != item:
            self._others.setdefault(address, set()).add(item)

    def items(self, address: str) -> Iterator[str]:
        """Ids of the items that have, or once had, this address."""
        if address in self._first:
            yield self._first[address]
            yield from self._others.get(address, ())
