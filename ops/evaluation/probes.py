"""Probes: requests made from a world by machine, for the two rules that may never be broken.

A named thing comes first, however it is inflected, hyphenated or embedded; and nothing hidden is told, to no reader and
on no route. What is right is worked out here from the world's rows alone: the product's own eligibility is on trial.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import msgspec

from ...api.key_messages import KeysRequest
from ...api.messages import OpenRequest, PushRequest, SearchRequest, StatusRequest, WhyRequest
from ...events.errors import NotFound
from ...projections.language.scripts import is_pair
from ...projections.meaning.encoders import load_encoders
from ...projections.policy.eligibility import OWNER_NAME
from .playback import Playback
from .probe_world import Kind, Things, with_a_reader_of_every_scope
from .statistics import upper_bound
from .suite_result import ProbeFailure, ProbeTally
from .worlds import Asset, World, millis

NAMED_PROBES: Final = 300
"""Named requests for each of push and search, and for each kind of reader."""
ACCESS_PROBES: Final = 300
"""Requests for hidden things, for each route that answers about items."""
ROUTES: Final = {
    "named": ("push", "search"),
    "access": ("push", "search", "open", "why", "keys", "status"),
}
KINDS: Final[tuple[Kind, ...]] = ("owner", "sub_agent", "tool")
_OWNERS_TOO: Final = frozenset({"push", "search", "open"})
"""Routes on which even the owner is not told of what is muted, quarantined or over. The others say to them why."""
_NOWHERE: Final = "nowhere/nothing"
"""What never existed."""
_TRIES: Final = 40
"""Draws for each probe, before a world counts as having too few of its kind."""
_EVERYTHING: Final = 1_000_000
_LONGEST: Final = 6
"""Words of the longest name that somebody is expected to say whole."""

_CARRIERS: Final = (
    "{name}",
    "use {name} for this",
    "can you run {name} again",
    "what does {name} do exactly",
    "please open {name} for me",
    "take the {kind} {name}",
    "is {name} still the right {kind} for it",
    "before we start, have a look at {name} and tell me what it says",
    "long day, half of it is forgotten already. anyway: take {name}, and then we go on with the rest of the list",
    "starte bitte {name} und sag mir danach, was dabei herausgekommen ist",
    "abre {name} y dime qué ha pasado con las facturas de la oficina",
    "lance {name} pour moi, puis raconte-moi ce qui s'est passé",
    "запусти {name} ещё раз, пожалуйста",
    "用{name}来做这件事",
    "これは{name}を使ってください",
)
_PLAIN_ENDING: Final = re.compile(r"[a-z]$", re.IGNORECASE)


@dataclass(frozen=True)
class Probe:
    """One generated request."""

    id: str
    rule: str
    route: str
    at: datetime
    reader: str
    request: str
    """What is typed; for `open` the address."""
    item: str
    """What is named, or hidden."""
    right: frozenset[str] = frozenset()
    """What may stand first: the named thing, and any other of that very name."""
    readers: str = ""
    """The kind of its reader, where each kind has probes of its own."""


def named_probes(things: Things, count: int, seed: int) -> Iterator[Probe]:
    """Requests that name a thing which their reader may see, `count` for each kind and route, every name in turn."""
    for kind in KINDS:
        rng = random.Random(f"named/{kind}/{seed}")  # noqa: S311 - a repeatable draw, no secret
        names = [(asset, name) for asset in things.assets for name in (asset.name, *asset.aliases) if _sayable(name)]
        readers = [reader for reader in things.readers if things.kind(reader) == kind]
        rng.shuffle(names)
        made = 0
        for draw in range(count * _TRIES if names and readers else 0):
            asset, name = names[draw % len(names)]
            reader, at = rng.choice(readers), things.moment(rng, asset.id)
            if made < count and things.sees(reader, asset.id, at):
                request = _embedded(rng, things, asset, _inflected(rng, name))
                right = things.called(name, reader, at)
                for route in ROUTES["named"]:
                    yield Probe(f"named-{kind}-{made}", "named", route, at, reader, request, asset.id, right, kind)
                made += 1


def access_probes(things: Things, count: int, seed: int) -> Iterator[Probe]:
    """Requests for a thing that is hidden from their reader at that moment, `count` for each route."""
    rng = random.Random(f"access/{seed}")  # noqa: S311 - a repeatable draw, no secret
    items, ended = list(things.items), [item for item in things.items if things.hidden_from_owner(item)]
    for route in ROUTES["access"]:
        made = 0
        for draw in range(count * _TRIES if items else 0):
            # What somebody may not see is common, what even the owner is not shown is rare: each is asked for.
            own = bool(ended) and draw % 3 == 0 and route in _OWNERS_TOO
            item = rng.choice(ended if own else items)
            reader = "owner" if own else rng.choice(things.readers[route not in _OWNERS_TOO :])
            at = things.moment(rng, item)
            asked = rng.choice(things.addresses(item) if route in {"open", "keys"} else things.wordings(item))
            if made < count and not things.tells(reader, item, at, asked):
                yield Probe(f"access-{made}", "access", route, at, reader, asked, item)
                made += 1


def run_probes(
    world: World,
    seed: int = 0,
    *,
    named: int = NAMED_PROBES,
    access: int = ACCESS_PROBES,
    on_probe: Callable[[int, int], None] | None = None,
) -> list[ProbeTally]:
    """Make the probes of a world and put them to the full product; one tally for each rule and route.

    Args:
        world: what happened; its cases are not used.
        seed: the same probes for the same seed.
        named: how many named requests for each route and kind of reader.
        access: how many requests for hidden things for each route.
        on_probe: told (probes done, probes in all) after each.
    """
    world = with_a_reader_of_every_scope(world)
    things = Things(world)
    probes = [*named_probes(things, named, seed), *access_probes(things, access, seed)]
    failures: dict[tuple[str, str, str], list[ProbeFailure]] = {}
    playback = Playback(world, load_encoders())
    try:
        for done, probe in enumerate(sorted(probes, key=lambda one: one.at), 1):
            playback.feed_until(millis(probe.at))
            wrong = _put(playback, things, probe)
            if wrong is not None:
                failures.setdefault((probe.rule, probe.route, probe.readers), []).append(_failure(probe, wrong))
            if on_probe is not None:
                on_probe(done, len(probes))
    finally:
        playback.close()
    return [
        _tally(rule, route, kind, probes, failures.get((rule, route, kind), []))
        for rule, routes in ROUTES.items()
        for route in routes
        for kind in (KINDS if rule == "named" else ("",))
    ]


def _put(playback: Playback, things: Things, probe: Probe) -> tuple[str, ...] | None:
    """What was wrongly told, or stood first in place of the named thing; None when the answer keeps the rule."""
    if probe.route in _PUT:
        return _PUT[probe.route](playback, things, probe)
    told = tuple(map(playback.world_id, _told(playback, probe)))
    if probe.rule == "named":
        return None if told[:1] and told[0] in probe.right else told[:1]
    hidden = tuple(item for item in told if not things.tells(probe.reader, item, probe.at, probe.request))
    return hidden or None


def _told(playback: Playback, probe: Probe) -> list[str]:
    service, at = playback.service, millis(probe.at)
    if probe.route == "push":
        # Without the bar: what is hidden must not even be ranked.
        bar = 0.0 if probe.rule == "access" else None
        pushed = service.push(PushRequest(request=probe.request, reader=probe.reader), now=at, bar=bar)
        return [pointer.item for pointer in pushed.pointers]
    request = SearchRequest(query=probe.request, reader=probe.reader, limit=_EVERYTHING)
    return [found.item for found in service.search(request, now=at).found]


def _open(playback: Playback, things: Things, probe: Probe) -> tuple[str, ...] | None:
    """Opening a hidden thing fails in the words in which opening nothing at all does; the owner is told the rule."""
    service, at = playback.service, millis(probe.at)
    try:
        opened = service.open(OpenRequest(address=probe.request, reader=probe.reader), now=at)
    except NotFound as refused:
        try:
            service.open(OpenRequest(address=_NOWHERE, reader=probe.reader), now=at)
        except NotFound as nothing:
            return None if _alike(probe, refused, nothing) else (str(refused),)
        return (_NOWHERE,)
    item = playback.world_id(opened.item)
    # Several things can share an address: what the reader may see there may be opened.
    return None if things.tells(probe.reader, item, probe.at, probe.request) else (item,)


def _alike(probe: Probe, refused: NotFound, nothing: NotFound) -> bool:
    """Whether nothing is told of a hidden thing. Only the owner is told which rule hides it."""
    return probe.reader == OWNER_NAME or str(refused) == str(nothing)


def _why(playback: Playback, _things: Things, probe: Probe) -> tuple[str, ...] | None:
    """Why a hidden thing is not pushed is told in the words in which it is told of nothing at all."""
    about = {
        item: playback.service.why(
            WhyRequest(request=probe.request, item=item, reader=probe.reader), now=millis(probe.at)
        )
        for item in (playback.product_id(probe.item), _NOWHERE)
    }
    hidden, nothing = (msgspec.structs.replace(answer, item="") for answer in about.values())
    return None if hidden == nothing else (probe.item, hidden.words)


def _keys(playback: Playback, things: Things, probe: Probe) -> tuple[str, ...] | None:
    """The keys of a hidden thing are asked for with the answer of `open`."""
    try:
        found = playback.service.keys(KeysRequest(item=probe.request, reader=probe.reader))
    except NotFound as refused:
        try:
            playback.service.keys(KeysRequest(item=_NOWHERE, reader=probe.reader))
        except NotFound as nothing:
            return None if _alike(probe, refused, nothing) else (str(refused),)
        return (_NOWHERE,)
    item = playback.world_id(found.item)
    return None if things.tells(probe.reader, item, probe.at, probe.request) else (item,)


def _status(playback: Playback, things: Things, probe: Probe) -> tuple[str, ...] | None:
    """Counted is what the reader may see, and nothing else."""
    counted = sum(playback.service.status(StatusRequest(reader=probe.reader)).items.values())
    seen = sum(things.sees(probe.reader, item, probe.at) for item in things.items)
    return None if counted == seen else (f"{counted} items instead of {seen}",)


_PUT: Final = {"open": _open, "why": _why, "keys": _keys, "status": _status}
"""Routes that answer otherwise than with a list of things."""


def _sayable(name: str) -> bool:
    letters = re.sub(r"\W", "", name)
    return len(re.findall(r"\w+", name)) <= _LONGEST and len(letters) >= (2 if is_pair(letters) else 3)


def _inflected(rng: random.Random, name: str) -> str:
    """The name in one of the ways in which people write it: hyphens, then ending, then case."""
    joined = [name.replace(" ", "-"), name.replace("-", " "), re.sub(r"[\s-]", "", name)]
    name = rng.choice([name, name, *joined])
    if _PLAIN_ENDING.search(name):
        name += rng.choice(["", "", "'s", "\u2019s", _plural(name)])
    return rng.choice([name, name.lower(), name.upper(), name.title(), name.capitalize()])


def _plural(name: str) -> str:
    """What makes it plural; nothing for a name that sounds plural already."""
    return "" if name.lower().endswith(("s", "x", "z", "ch", "sh", "y")) else "s"


def _embedded(rng: random.Random, things: Things, asset: Asset, name: str) -> str:
    """The name in a sentence that names nothing else."""
    carriers = [
        carrier for carrier in _CARRIERS if not things.names_something(carrier.format(name="", kind=asset.kind))
    ]
    return rng.choice(carriers or _CARRIERS[:1]).format(name=name, kind=asset.kind)


def _failure(probe: Probe, wrong: Sequence[str]) -> ProbeFailure:
    return ProbeFailure(
        id=probe.id,
        at=probe.at.astimezone(UTC).isoformat(),
        reader=probe.reader,
        request=probe.request,
        item=probe.item,
        got=tuple(wrong),
    )


def _tally(rule: str, route: str, readers: str, probes: Sequence[Probe], failures: list[ProbeFailure]) -> ProbeTally:
    count = sum((probe.rule, probe.route, probe.readers) == (rule, route, readers) for probe in probes)
    return ProbeTally(
        rule=rule,
        route=route,
        readers=readers,
        probes=count,
        bound=round(upper_bound(len(failures), count), 4),
        failures=tuple(failures),
    )
