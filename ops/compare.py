"""Comparing two states field by field: what a replay found against what the snapshot and the events behind it say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from ..projections.items import Item
from ..projections.past.uses import Use
from ..projections.policy.readers import Grant
from ..projections.state import State

_FIELDS = Item.__struct_fields__


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """One field in which two states differ. The values are told only when asked for: they may be the owner's text."""

    item: str
    """The item's id; `reader:NAME`, `shown:SESSION` or `used:SESSION` for what belongs to no item."""
    field: str
    """Empty: one of the two does not have it at all."""
    replayed: str | None = None
    live: str | None = None


def differences(replayed: State, live: State, *, verbose: bool = False) -> Iterator[Difference]:
    """Every difference, item by item in the order of their ids; none means that the states are equal.

    Args:
        replayed: from the fold of the log.
        live: from the snapshot and the events behind it.
        verbose: tell the values too.
    """
    ours, theirs = _by_id(replayed), _by_id(live)
    for item in sorted(ours.keys() | theirs.keys()):
        one, other = ours.get(item), theirs.get(item)
        if one is None or other is None:
            yield _difference(item, "", _presence(one), _presence(other), verbose=verbose)
        elif one != other:
            for field in _FIELDS:
                pair = getattr(one, field), getattr(other, field)
                if pair[0] != pair[1]:
                    yield _difference(item, field, *pair, verbose=verbose)
    yield from _entries("reader", "grant", _grants(replayed), _grants(live), verbose=verbose)
    yield from _entries("shown", "items", replayed.shown, live.shown, verbose=verbose)
    yield from _entries("used", "items", _uses(replayed), _uses(live), verbose=verbose)
    if list(replayed.shown) != list(live.shown) and replayed.shown == live.shown:
        # The longest untouched session is dropped first, so the order is part of the state.
        yield Difference(item="shown", field="order")


def _by_id(state: State) -> dict[str, Item]:
    return {item.id: item for item in state.all()}


def _grants(state: State) -> dict[str, Grant]:
    """Grants as they may be told: of a token only the beginning of its hash."""
    known = state.readers.grants.items()
    return {name: msgspec.structs.replace(grant, token_hash=grant.token_hash[:8]) for name, grant in known}


def _uses(state: State) -> dict[str, tuple[Use, ...]]:
    """Sessions in which something was used; one whose uses were forgotten is as one that had none."""
    return {session: uses for session, uses in state.uses.all() if uses}


def _presence(item: Item | None) -> str:
    return "missing" if item is None else "there"


def _entries(
    kind: str, field: str, ours: Mapping[str, Any], theirs: Mapping[str, Any], *, verbose: bool
) -> Iterator[Difference]:
    for name in sorted(ours.keys() | theirs.keys()):
        if ours.get(name) != theirs.get(name):
            yield _difference(f"{kind}:{name}", field, ours.get(name), theirs.get(name), verbose=verbose)


def _difference(item: str, field: str, replayed: object, live: object, *, verbose: bool) -> Difference:
    if not verbose:
        return Difference(item=item, field=field)
    return Difference(item=item, field=field, replayed=_told(replayed), live=_told(live))


def _told(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
