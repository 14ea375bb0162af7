"""What may happen to an owner, as hypothesis strategies: few ids, few words, few audiences, so that things meet."""

from __future__ import annotations

from hypothesis import strategies as st
from instant_recall.events import types as ev
from instant_recall.events.envelope import EventDraft, draft, new_event_id
from instant_recall.events.types import Millis

START_OF_TIME: Millis = 1_767_225_600_000
HOUR: Millis = 3_600_000

WORDS = ("camera", "harbour", "invoice", "printer", "battery", "kelp", "recipe", "diver", "budget", "lantern", "violin")
NAMES = ("petrel", "zorblax", "quimby")
REQUESTS = (
    "camera harbour invoice printer, same as last time",
    "ask petrel about battery kelp recipe diver",
    "quimby budget lantern violin",
)
"""Together they hold every word and two of the names, and one of them points back."""

ASSETS = ("skill:one", "skill:two", "machine:three", "document:four")
NOTES = ("note:five", "note:six")
SESSIONS = ("seven", "eight")
ITEMS = (*ASSETS, *NOTES, *(f"session:{session}" for session in SESSIONS))
ADDRESSES = ("", "shared/place.md", "other/place.md")
READERS = ("owner", "sub:narrow", "sub:unknown")
AUDIENCES = (("owner",), ("work",), ("home",), ("home", "work"))

items = st.sampled_from(ITEMS)
audiences = st.sampled_from(AUDIENCES)
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)
maybe_text = st.just("") | texts
moments = st.none() | st.integers(-3, 3).map(lambda hours: START_OF_TIME + hours * HOUR)
topics = st.lists(st.sampled_from((*WORDS, *NAMES)), min_size=2, max_size=2).map(" ".join)
phrases = st.lists(texts, max_size=2).map(tuple)
supersedes = st.none() | st.none() | items
addresses = st.sampled_from(ADDRESSES)

assets = st.builds(
    ev.AssetRecorded,
    item=st.sampled_from(ASSETS),
    kind=st.sampled_from(("skill", "machine", "document")),
    name=st.sampled_from(NAMES),
    aliases=st.just(()) | st.sampled_from(NAMES).map(lambda name: (name,)),
    purpose=maybe_text,
    description=maybe_text,
    text=maybe_text,
    address=addresses,
    use_when=phrases,
    request=maybe_text,
    supersedes=supersedes,
    valid_from=moments,
    valid_until=moments,
)
notes = st.builds(
    ev.NoteRecorded,
    item=st.sampled_from(NOTES),
    name=maybe_text,
    text=texts,
    address=addresses,
    use_when=phrases,
    request=maybe_text,
    supersedes=supersedes,
    valid_from=moments,
    valid_until=moments,
)
turns = st.builds(
    ev.TurnRecorded,
    session=st.sampled_from(SESSIONS),
    turn=st.integers(1, 3),
    role=st.sampled_from(("owner", "agent")),
    text=texts,
    project=maybe_text,
)
closings = st.builds(
    ev.SessionClosed,
    session=st.sampled_from(SESSIONS),
    project=maybe_text,
    used=st.lists(items, max_size=3).map(tuple),
    helped=st.lists(items, max_size=2).map(tuple),
    outcome=maybe_text,
)
decisions = st.one_of(
    st.builds(ev.KeyAdded, item=items, phrase=texts, negative=st.booleans()),
    st.builds(ev.OwnershipCorrected, item=items, request=texts, said=maybe_text),
    st.builds(ev.PointerRejected, item=items, request=texts, session=st.sampled_from(SESSIONS)),
    st.builds(ev.ItemSuperseded, item=items, by=st.none() | items),
    st.builds(ev.ItemClosed, item=items, closed_at=moments),
    st.builds(ev.ItemMuted, item=items, session=st.sampled_from(("", "", SESSIONS[0]))),
    st.builds(ev.ItemUnmuted, item=items, session=st.sampled_from(("", "", SESSIONS[0]))),
    st.builds(ev.TopicMuted, phrase=topics, session=st.sampled_from(("", SESSIONS[0]))),
    st.builds(ev.AudienceChanged, item=items, audience=audiences | st.just(())),
    st.builds(ev.ItemQuarantined, item=items),
    st.builds(ev.ItemReleased, item=items),
    st.builds(ev.ContextReset, session=st.sampled_from(SESSIONS)),
)
accesses = st.one_of(
    st.builds(ev.ItemOpened, item=items, reader=st.just("owner"), session=st.sampled_from(SESSIONS)),
    st.builds(ev.ItemHelped, item=items, session=st.sampled_from(SESSIONS)),
)
grants = st.one_of(
    st.builds(ev.ReaderGranted, reader=st.just("sub:narrow"), scopes=audiences),
    st.builds(ev.ReaderRevoked, reader=st.just("sub:narrow")),
)
events = st.one_of(assets, notes, turns, closings, decisions, accesses, grants)


@st.composite
def writes(draw: st.DrawFn, kinds: st.SearchStrategy[ev.Event] = events) -> list[EventDraft]:
    """One to four events for one append, with clocks that are right, slow or fast."""
    happened = draw(st.lists(kinds, min_size=1, max_size=4))
    return [
        draft(
            event,
            occurred_at=START_OF_TIME + draw(st.sampled_from((0, -HOUR, HOUR))),
            audience=draw(audiences),
            event_id=new_event_id(),
        )
        for event in happened
    ]
