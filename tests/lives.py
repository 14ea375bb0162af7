"""An owner's two weeks with the product, for tests of what is learned from them."""

from __future__ import annotations

from instant_recall.api.messages import OpenRequest, PushRequest
from instant_recall.api.service import Service
from instant_recall.events.envelope import EventDraft, draft
from instant_recall.events.memory_log import MemoryEventLog
from instant_recall.events.position import START
from instant_recall.projections.learning.outcomes import DAY_MS
from instant_recall.tests.small_world import encoder, note

FIRST = 1_790_000_000_000
DAYS = 14
LAST = FIRST + DAYS * DAY_MS

THINGS = [
    ("harbour light", "The harbour light is switched on by the relay in the hut"),
    ("seal count", "Seals are counted from photos, twice, blind"),
    ("kiln", "The kiln is fired to 1,200 degrees on Thursdays"),
    ("boat licence", "The boat licence is renewed in March at the port office"),
    ("chart room", "The key to the chart room hangs behind the desk"),
    ("bee hives", "Bee hives are opened only above fifteen degrees"),
]


class Life:
    """An owner who asks, opens some of what is pushed, and never what is about the weather."""

    def __init__(self) -> None:
        self.now = FIRST - DAY_MS
        self.log = MemoryEventLog(clock=lambda: self.now)
        self.service = Service(self.log, encoder(), clock=lambda: self.now)
        drafts = [note(name, text) for name, text in THINGS]
        drafts += [note(f"weather {n}", f"Weather report number {n}: wind, rain and fog") for n in range(6)]
        self.log.append([draft(one, occurred_at=self.now) for one in drafts])

    def events(self, until: int) -> list[EventDraft]:
        """All that happened, moved by whole days to end at or just before `until`."""
        later = (until - LAST) // DAY_MS * DAY_MS
        return [
            EventDraft(
                event=one.event, event_id=one.event_id, occurred_at=one.occurred_at + later, actor=one.actor,
                source=one.source, audience=one.audience,
            )
            for one in self.log.read(START, 10_000)
        ]  # fmt: skip

    def lives(self, reader: str = "owner") -> Life:
        """Let the two weeks pass."""
        for day in range(DAYS):
            for n, (name, text) in enumerate(THINGS):
                self.now = FIRST + day * DAY_MS + n * 1_000
                session = f"{day}-{n}"
                words = text.split()
                self._ask(" ".join(words[day % 3 :]), session, reader)
                self.service.open(OpenRequest(address=f"note:{name}", session=session, reader=reader))
                self._ask(f"how strong is the wind going to be on day {day} at {n}", session, reader)
        self.now = LAST
        return self

    def _ask(self, request: str, session: str, reader: str) -> None:
        self.service.push(PushRequest(request=request, session=session, reader=reader))
