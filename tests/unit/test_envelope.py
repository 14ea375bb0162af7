from __future__ import annotations

import uuid

from instant_recall.events.envelope import OWNER_ONLY, Actor, Source, draft, new_event_id
from instant_recall.events.types import EVENT_TYPES, ItemUnmuted

EVENT = ItemUnmuted(item="note:a")


def test_an_event_id_is_a_uuid_of_version_7_that_holds_its_time() -> None:
    made = uuid.UUID(new_event_id(1_767_225_600_123))

    assert (made.version, made.variant) == (7, uuid.RFC_4122)
    assert made.int >> 80 == 1_767_225_600_123


def test_event_ids_differ_and_sort_by_time() -> None:
    same_moment = {new_event_id(5) for _ in range(1_000)}

    assert len(same_moment) == 1_000
    assert max(same_moment) < new_event_id(6)


def test_a_draft_says_owner_and_now_unless_told_otherwise() -> None:
    before = draft(EVENT)

    assert (before.actor, before.source, before.audience) == (Actor(kind="owner"), Source(), OWNER_ONLY)
    assert before.occurred_at <= draft(EVENT).occurred_at
    assert before.event_id != draft(EVENT).event_id


def test_the_first_moment_is_a_time_like_any_other() -> None:
    assert draft(EVENT, occurred_at=0).occurred_at == 0


def test_everything_that_may_be_forgotten_has_a_default_to_read_as() -> None:
    for cls in EVENT_TYPES.values():
        defaults = dict(zip(reversed(cls.__struct_fields__), reversed(cls.__struct_defaults__), strict=False))
        assert set(cls.forgettable) <= set(cls.__struct_fields__), cls
        assert [defaults[name] for name in cls.forgettable if defaults[name] not in ("", ())] == [], cls
