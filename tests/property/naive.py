"""A naive model of what is known and who may see it: dictionaries, one rule of the design after the other.

It shares the event types with the product and nothing else: no state, no eligibility, no index. It is slow and obvious.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from instant_recall.events import types as ev
from instant_recall.events.types import Millis

Audience = tuple[str, ...]

NAMED_KINDS = ("skill", "tool", "machine", "decision", "approach", "document")
KINDS = (*NAMED_KINDS, "note", "session")
FEWEST_WORDS_OF_A_TURN = 4


def words(text: str) -> list[str]:
    """The words of a text. The tests use none that share a stem, and no stop words."""
    return re.findall(r"[a-z]+", text.lower())


@dataclass
class Key:
    """A situation in which a thing helps, or does not."""

    id: str
    phrase: str
    negative: bool
    audience: Audience
    learned: bool
    """It did not come with the record of the thing, so a new record does not take it away."""
    origin: str = ""
    """`use_when`, `session` or `rejected`, where that makes a difference."""
    said_in: str = ""
    """The session from which it was learned."""


@dataclass
class Thing:
    """One thing the owner has, or has at least named."""

    kind: str
    recorded: bool = False
    audience: Audience = ("owner",)
    by_hand: bool = False
    """The owner said by hand who may see it."""
    names: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    turns: dict[int, tuple[str, str]] = field(default_factory=dict)
    project: str = ""
    keys: list[Key] = field(default_factory=list)
    valid_from: Millis | None = None
    valid_until: Millis | None = None
    replaced_by: str = ""
    replacements: list[tuple[str, Millis, bool]] = field(default_factory=list)
    """What took its place, when, and whether the owner said so of the thing itself; since it was recorded or closed."""
    until_before: Millis | None = None
    """What `valid_until` was before."""
    muted: bool = False
    quarantined: bool = False
    forgotten: bool = False
    edition: int = 0
    """Counts how often it said something new; what was shown is shown again only when this moves."""


class Naive:
    """What an owner has, by id, and which readers were let in to what."""

    def __init__(self) -> None:
        self.things: dict[str, Thing] = {}
        self.readers: dict[str, Audience] = {}
        self.shown: dict[tuple[str, str], dict[str, int]] = {}
        self.topics: dict[str, tuple[str, str]] = {}
        """Muted phrases by the id of their event, each with the session in which alone it is muted."""
        self.muted_in: set[tuple[str, str]] = set()
        """Sessions with what is muted there alone."""
        self._editions = 0

    # --- what the tests ask --------------------------------------------------------------------------------------

    def visible(self, reader: str, now: Millis, session: str = "") -> set[str]:
        """Ids of the things that a reader may be told of at a moment, in a session or outside of any."""
        seen = {item for item, thing in self.things.items() if self._sees(reader, thing, now)}
        return {item for item in seen if not self._muted(item, reader, session)}

    def _muted(self, item: str, reader: str, session: str = "") -> bool:
        phrases = [set(words(phrase)) for phrase, where in self.topics.values() if where in ("", session)]
        pieces = self._pieces(item, reader)
        about = any(phrase <= piece for phrase in phrases for piece in pieces)
        return about or (session, item) in self.muted_in

    def _pieces(self, item: str, reader: str) -> list[set[str]]:
        """The words of each piece of a thing that a reader may see: what it is, each part of its text, each key."""
        thing = self.things[item]
        turns = [text for _, text in thing.turns.values() if len(text.split()) >= FEWEST_WORDS_OF_A_TURN]
        keys = [key.phrase for key in thing.keys if self._meets(reader, key.audience)]
        if thing.kind == "session":
            head, parts = [thing.project, *thing.texts], turns
        else:
            purpose, description, text = thing.texts or ["", "", ""]
            head, parts = [*thing.names, purpose, description], [text]
            if text and not description:
                head, parts = [*head, text], []
        return [set(words(piece)) for piece in (" ".join(head), *parts, *keys)]

    def keys(self, item: str, reader: str) -> set[tuple[str, bool]]:
        """Phrase and sign of the keys of a thing that a reader may see."""
        return {(key.phrase, key.negative) for key in self.things[item].keys if self._meets(reader, key.audience)}

    def find(self, request: str, reader: str, now: Millis) -> set[str]:
        """Every visible thing of which some text that the reader may see shares a word with the request."""
        asked = set(words(request))
        return {item for item in self.visible(reader, now) if asked & self._words_of(item, reader)}

    def named(self, request: str, reader: str, now: Millis) -> set[str]:
        """Every visible thing whose name or alias is a word of the request; notes and sessions have no such name."""
        asked = set(words(request))
        return {
            item
            for item in self.visible(reader, now)
            if self.things[item].kind in NAMED_KINDS and asked.intersection(self.things[item].names)
        }

    def fresh(self, session: str, reader: str) -> set[str]:
        """Ids of the things that may be news to a reader in a session."""
        shown = self.shown.get((session, reader), {})
        return {
            item
            for item, thing in self.things.items()
            if shown.get(item) != thing.edition or (thing.replacements and reader != "owner")
        }

    def old_named(self, request: str, reader: str, now: Millis) -> set[str]:
        """Every replaced thing, not hidden otherwise, whose name is a word of the request and no visible thing's name.

        Of several versions with one name only the youngest is named; this has all of them.
        """
        asked = set(words(request)) - {name for item in self.visible(reader, now) for name in self._names(item)}
        seen = {i: self._as_seen(reader, thing) for i, thing in self.things.items()}
        old = {i for i, thing in seen.items() if thing.replaced_by and self._over(thing, now)}
        held = {i for i in old if self._sees(reader, replace(seen[i], valid_until=None, replacements=[]), now)}
        return {i for i in held if asked & self._names(i) and not self._muted(i, reader)}

    def _names(self, item: str) -> set[str]:
        return set(self.things[item].names) if self.things[item].kind in NAMED_KINDS else set()

    def _over(self, thing: Thing, now: Millis) -> bool:
        return thing.valid_until is not None and thing.valid_until <= now

    def _as_seen(self, reader: str, thing: Thing) -> Thing:
        """To a reader only that has replaced a thing of which they may know; the rest of its history never was."""
        if reader == "owner" or not thing.replacements:
            return thing
        counting = [(by, at) for by, at, told in thing.replacements if told or self._knows(reader, by)]
        known = [by for by, _ in counting if self._knows(reader, by)]
        until = counting[-1][1] if counting else thing.until_before
        return replace(thing, valid_until=until, replaced_by=known[-1] if known else "")

    def _knows(self, reader: str, item: str) -> bool:
        thing = self.things.get(item, Thing("note"))
        return self._sees(reader, replace(thing, valid_from=None, valid_until=None, replacements=[]), 0)

    def _sees(self, reader: str, thing: Thing, now: Millis) -> bool:
        thing = self._as_seen(reader, thing)
        if not thing.recorded or thing.forgotten or thing.muted or thing.quarantined:
            return False
        begun = thing.valid_from is None or thing.valid_from <= now
        return begun and not self._over(thing, now) and self._meets(reader, thing.audience)

    def _meets(self, reader: str, audience: Audience) -> bool:
        return reader == "owner" or bool(set(audience) & set(self.readers.get(reader, ())))

    def _words_of(self, item: str, reader: str) -> set[str]:
        thing = self.things[item]
        said = [*thing.texts, *thing.names] if thing.kind != "session" else [thing.project, *thing.texts]
        said += [text for _, text in thing.turns.values() if len(text.split()) >= FEWEST_WORDS_OF_A_TURN]
        said += [key.phrase for key in thing.keys if not key.negative and self._meets(reader, key.audience)]
        return {word for text in said for word in words(text)}

    # --- what happened -------------------------------------------------------------------------------------------

    def take(self, event: ev.Event, event_id: str, occurred_at: Millis, stored_at: Millis, audience: Audience) -> None:
        """Take one event in that was not there before."""
        reported = min(occurred_at, stored_at)
        match event:
            case ev.AssetRecorded() | ev.NoteRecorded():
                self._record(event, event_id, audience)
                if event.supersedes and event.supersedes != event.item and not self.things[event.item].forgotten:
                    self._replace(event.supersedes, event.item, max(reported, event.valid_from or 0), told=False)
            case ev.TurnRecorded():
                self._turn(event, audience)
            case ev.SessionClosed():
                self._close_session(event, event_id, audience)
            case ev.KeyAdded(item=item, phrase=phrase, negative=negative):
                self._learn(item, Key(f"{event_id}/0", phrase, negative, audience, learned=True))
            case ev.KeyRemoved(item=item, key=gone):
                if item in self.things:
                    self.things[item].keys = [key for key in self.things[item].keys if key.id != gone]
            case ev.OwnershipCorrected(item=item):
                for n, phrase in enumerate(p for p in (event.request, event.said) if p):
                    self._learn(item, Key(f"{event_id}/{n}", phrase, False, audience, learned=True))
            case ev.PointerRejected(item=item, request=request):
                self._learn(item, Key(f"{event_id}/0", request, True, audience, learned=True, origin="rejected"))
            case ev.ItemSuperseded(item=item):
                self._replace(item, event.by, reported, told=True)
                if event.by and event.by != item and not self.things[item].forgotten:
                    self._thing(event.by)
            case ev.ItemClosed(item=item, closed_at=closed_at):
                self._end(item, reported if closed_at is None else closed_at)
                self.things[item].replaced_by, self.things[item].replacements = "", []
            case ev.ItemMuted(item=item, session=session) if session:
                self.muted_in.add((session, item))
            case ev.ItemUnmuted(item=item, session=session) if session:
                self.muted_in.discard((session, item))
            case ev.ItemMuted(item=item):
                self._thing(item).muted = True
            case ev.ItemUnmuted(item=item):
                self._thing(item).muted = False
                self.muted_in = {(session, muted) for session, muted in self.muted_in if muted != item}
            case ev.TopicMuted(phrase=phrase, session=session):
                self.topics[event_id] = phrase, session
            case ev.TopicUnmuted(mute=mute):
                self.topics.pop(mute, None)
            case ev.AudienceChanged(item=item, audience=labels):
                self._say_by_hand(item, labels or ("owner",))
            case ev.ItemQuarantined(item=item) | ev.ItemReleased(item=item):
                self._thing(item).quarantined = isinstance(event, ev.ItemQuarantined)
            case ev.ReaderGranted(reader=reader, scopes=scopes):
                self.readers[reader] = scopes
            case ev.ReaderRevoked(reader=reader):
                self.readers.pop(reader, None)
            case ev.ItemForgotten(item=item):
                self.things[item] = Thing(self._thing(item).kind, forgotten=True)
                for thing in self.things.values():
                    thing.keys = [key for key in thing.keys if f"session:{key.said_in}" != item]
            case ev.PushServed(session=session, items=items, reader=reader):
                if session and items:
                    seen = self.shown.setdefault((session, reader), {})
                    seen.update({item: self.things[item].edition for item in items})
            case ev.ContextReset(session=session):
                self.shown = {place: seen for place, seen in self.shown.items() if place[0] != session}

    def _thing(self, item: str) -> Thing:
        kind = item.partition(":")[0]
        return self.things.setdefault(item, Thing(kind if kind in KINDS else "note"))

    def _end(self, item: str, at: Millis) -> None:
        self._thing(item).valid_until = at

    def _replace(self, item: str, by: str | None, at: Millis, *, told: bool) -> None:
        if not self._thing(item).replacements:
            self.things[item].until_before = self.things[item].valid_until
        self.things[item].replacements.append((by or "", at, told))
        self._end(item, at)
        self.things[item].replaced_by = by or self.things[item].replaced_by
        self._says_something_new(self.things[item])

    def _says_something_new(self, thing: Thing) -> None:
        self._editions += 1
        thing.edition = self._editions

    def _record(self, event: ev.AssetRecorded | ev.NoteRecorded, event_id: str, audience: Audience) -> None:
        thing = self._thing(event.item)
        if thing.forgotten:
            return
        kind, names, texts = "note", [event.name], ["", "", event.text]
        if isinstance(event, ev.AssetRecorded):
            kind, names = event.kind, [event.name, *event.aliases]
            texts = [event.purpose, event.description, event.text]
        if (thing.names, thing.texts) != (names, texts) or thing.replacements:
            self._says_something_new(thing)
        told, audience = audience, thing.audience if thing.by_hand else audience
        thing.kind, thing.recorded, thing.audience, thing.names, thing.texts = kind, True, audience, names, texts
        thing.valid_from, thing.valid_until, thing.replaced_by = event.valid_from, event.valid_until, ""
        thing.replacements = []
        given = [(phrase, audience, "use_when") for phrase in event.use_when]
        given += [(event.request, told, "")] if event.request else []
        own = [
            Key(f"{event_id}/{n}", phrase, False, labels, learned=False, origin=origin)
            for n, (phrase, labels, origin) in enumerate(given)
        ]
        thing.keys = own + [key for key in thing.keys if key.learned]

    def _say_by_hand(self, item: str, audience: Audience) -> None:
        thing = self._thing(item)
        if thing.forgotten:
            return
        thing.audience, thing.by_hand = audience, True
        for key in thing.keys:
            key.audience = audience if key.origin == "use_when" else key.audience
        self._narrow_what_was_learned_in(item)

    def _narrow_what_was_learned_in(self, item: str) -> None:
        for key in (key for thing in self.things.values() for key in thing.keys):
            if f"session:{key.said_in}" == item:
                key.audience = self._both(key.audience, self.things[item].audience)

    def _both(self, one: Audience, other: Audience) -> Audience:
        both = tuple(label for label in one if label in other)
        return one if one == other else both or ("owner",)

    def _session(self, session: str, project: str, audience: Audience, *, said_before: bool = False) -> Thing:
        thing = self._thing(f"session:{session}")
        if thing.by_hand and said_before:
            audience = thing.audience
        elif thing.recorded or thing.by_hand:  # what is said later for more eyes must not open what was said before
            audience = self._both(thing.audience, audience)
        thing.audience, thing.recorded, thing.kind = audience, True, "session"
        thing.project = project or thing.project
        self._narrow_what_was_learned_in(f"session:{session}")
        return thing

    def _turn(self, event: ev.TurnRecorded, audience: Audience) -> None:
        if self._thing(f"session:{event.session}").forgotten:
            return
        known = self._thing(f"session:{event.session}").turns.get(event.turn)
        said_before = known == (event.role, event.text)
        thing = self._session(event.session, event.project, audience, said_before=said_before)
        if not thing.edition:
            self._says_something_new(thing)
        thing.turns.pop(event.turn, None)
        thing.turns[event.turn] = (event.role, event.text)

    def _close_session(self, event: ev.SessionClosed, event_id: str, audience: Audience) -> None:
        known = self._thing(f"session:{event.session}")
        asked = [
            text
            for role, text in known.turns.values()
            if role == "owner" and len(text.split()) >= FEWEST_WORDS_OF_A_TURN
        ]
        if not known.forgotten:
            thing = self._session(event.session, event.project, audience)
            thing.texts = [event.outcome]
            self._says_something_new(thing)
            audience = thing.audience
        for item in event.helped:
            for n, phrase in enumerate(asked):
                key = Key(f"{event_id}/{n}", phrase, False, audience, learned=True, origin="session")
                key.said_in = event.session
                if not any(self._asked_before(known, key) for known in self._thing(item).keys):
                    self._learn(item, key)

    def _asked_before(self, known: Key, key: Key) -> bool:
        """Whether sessions asked for much the same already: three of five words, of both together, are in both."""
        if known.origin != "session" or known.audience != key.audience:
            return False
        one, other = set(words(known.phrase)), set(words(key.phrase))
        return len(one & other) >= 0.6 * len(one | other)

    def _learn(self, item: str, key: Key) -> None:
        thing = self._thing(item)
        if not key.negative and key.origin != "session":  # what was asked for after all is not rejected any more
            thing.keys = [k for k in thing.keys if k.origin != "rejected" or k.phrase != key.phrase]
        same = [k for k in thing.keys if (k.phrase, k.negative, k.audience) == (key.phrase, key.negative, key.audience)]
        if not thing.forgotten and not same:
            thing.keys.append(key)
