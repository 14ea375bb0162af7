"""Keys that sessions taught: what is asked again and again is one key with much support, and there are never many."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from instant_recall.events import types as ev
from instant_recall.events.envelope import draft
from instant_recall.projections.building import build
from instant_recall.projections.evidence import Evidence
from instant_recall.projections.items import UseKey
from instant_recall.projections.learning import session_keys
from instant_recall.projections.meaning.encoder import Encoder, FloatArray
from instant_recall.projections.meaning.encoders import Encoders
from instant_recall.projections.overlay import Overlay
from instant_recall.projections.snapshot import catch_up, latest_base
from instant_recall.projections.snapshot_store import SnapshotStore
from instant_recall.tests.small_world import NOW, World, encoder, skill

LARK = skill("lark", "Feeds paper through the scanner", use_when=("a letter came",))


def session(name: str, *asked: str, helped: tuple[str, ...] = ("skill:lark",)) -> list[ev.Event]:
    turns = [ev.TurnRecorded(session=name, turn=n, role="owner", text=text) for n, text in enumerate(asked, 1)]
    return [*turns, ev.SessionClosed(session=name, helped=helped)]


def learned(world: World, source: str = "session") -> list[UseKey]:
    item = world.overlay.state.get("skill:lark")
    assert item is not None
    return [key for key in item.keys if key.source == source]


def use(world: World, request: str) -> Evidence:
    return next(r.evidence for r in world.ranked(request) if r.evidence.item.id == "skill:lark")


def test_what_was_asked_in_several_sessions_is_one_key_with_that_much_support() -> None:
    world = World()
    for name, text in (
        ("a", "put the letters of the tax office on file"),
        ("b", "please put the letter of the tax office on file"),
        ("c", "the tax office letters, put them on file"),
    ):
        world.happens(LARK, *session(name, text, "thanks, that looks fine now"))
    support = {key.phrase: (key.support, key.session, key.weight) for key in learned(world)}

    assert support == {
        "put the letters of the tax office on file": (3, "c", 1.04),
        "thanks, that looks fine now": (3, "c", 1.04),
    }


def test_a_session_counts_once_however_often_it_says_so_or_is_closed() -> None:
    world = World()
    text = "put the letters of the tax office on file"
    world.happens(LARK, *session("a", text, text + "!", "please, " + text), *session("a", text))

    assert [(key.phrase, key.support) for key in learned(world)] == [(text, 1)]


def test_phrases_for_other_eyes_do_not_count_together() -> None:
    world = World()
    text = "put the letters of the tax office on file"
    world.happens(LARK, *session("a", text))
    world.happens(*session("b", text), audience=("owner", "lab"))

    assert [(key.support, key.audience) for key in learned(world)] == [(1, ("owner",)), (1, ("owner", "lab"))]


def test_a_thousand_sessions_leave_no_more_keys_than_the_bound_and_the_best_supported_stay() -> None:
    world = World()
    world.happens(LARK)
    often = "put the letters of the tax office on file"
    made: list[ev.Event] = []
    for n in range(1_000):
        own = "".join("bdfghjklmn"[int(digit)] for digit in str(n))
        text = often if n < 5 else f"{own}ask {own}want {own}need {own}quay"
        made += session(str(n), text)
    world.log.append([draft(event, occurred_at=NOW + n) for n, event in enumerate(made)])
    for recorded in world.log.read(world.overlay.position, len(made)):
        world.overlay.state.apply(recorded)
    keys = learned(world)

    assert len(keys) == session_keys.MOST
    assert (keys[0].phrase, keys[0].support) == (often, 5)
    assert keys[-1].phrase.endswith("nnnquay")


def test_of_one_long_session_the_beginning_stays() -> None:
    world = World()
    asked = [f"what{n} about{n} this{n} now{n}" for n in range(2 * session_keys.MOST)]
    world.happens(LARK, *session("a", *asked))

    assert [key.phrase for key in learned(world)] == asked[: session_keys.MOST]


def test_rejections_are_bounded_too_and_the_latest_stay() -> None:
    world = World()
    world.happens(LARK)
    for n in range(session_keys.MOST + 3):
        world.happens(ev.PointerRejected(item="skill:lark", request=f"request{n}"), at=NOW + n)

    assert [key.phrase for key in learned(world, "rejected")] == [
        f"request{n}" for n in range(3, session_keys.MOST + 3)
    ]


def test_a_lighter_key_counts_less_in_words_and_in_meaning_and_a_heavier_one_more() -> None:
    request = "a letter came from the bank"
    world = World()
    world.happens(LARK)
    [key] = learned(world, "use_when")
    before = use(world, request)
    light, heavy = (_weighed(key, weight, request) for weight in (0.6, 1.2))

    assert light.use_words == pytest.approx(0.6 * before.use_words)
    assert light.use_meaning == pytest.approx(0.6 * before.use_meaning)
    assert heavy.use_words == pytest.approx(min(1.2 * before.use_words, 1.0))
    assert heavy.use_meaning == pytest.approx(min(1.2 * before.use_meaning, 1.0))
    assert (light.topic_words, light.topic_meaning) == (before.topic_words, before.topic_meaning)


def _weighed(key: UseKey, weight: float, request: str) -> Evidence:
    world = World()
    world.happens(draft(LARK, occurred_at=NOW, event_id=key.key.partition("/")[0]))
    world.happens(ev.KeyWeighed(item="skill:lark", key=key.key, weight=weight, shown=9))
    return use(world, request)


def test_of_two_alike_items_the_one_with_the_lighter_key_ranks_lower() -> None:
    world = World()
    world.happens(LARK, skill("heron", "Feeds paper through the scanner", use_when=("a letter came",)))
    for item in ("skill:lark", "skill:heron"):
        other = {"skill:lark": "skill:heron", "skill:heron": "skill:lark"}[item]
        for each, weight in ((item, 0.7), (other, 1.0)):
            known = world.overlay.state.get(each)
            assert known is not None
            world.happens(ev.KeyWeighed(item=each, key=known.keys[0].key, weight=weight))
        assert world.found("a letter came")[:2] == [other, item]


def test_a_new_record_with_the_same_phrase_keeps_what_was_learned_of_it() -> None:
    world = World()
    world.happens(LARK)
    [key] = learned(world, "use_when")
    world.happens(ev.KeyWeighed(item="skill:lark", key=key.key, weight=0.7, shown=8))
    world.happens(skill("lark", "Another text", use_when=("something new", "a letter came")))

    assert [(k.phrase, k.weight, k.shown) for k in learned(world, "use_when")] == [
        ("something new", 1.0, 0),
        ("a letter came", 0.7, 8),
    ]


def test_weighing_a_key_that_is_not_there_changes_nothing() -> None:
    world = World()
    world.happens(LARK)
    before = world.overlay.state.get("skill:lark")
    world.happens(ev.KeyWeighed(item="skill:lark", key="gone", weight=0.5), ev.KeyWeighed(item="skill:no", key="x"))

    assert world.overlay.state.get("skill:lark") == before
    assert world.overlay.state.get("skill:no") is None


@pytest.mark.parametrize(
    ("weight", "support", "effective"), [(0.1, 1, 0.5), (9.0, 1, 1.3), (1.0, 99, 1.1), (0.8, 6, 0.88)]
)
def test_no_key_weighs_more_or_less_than_the_bounds(weight: float, support: int, effective: float) -> None:
    key = UseKey(key="k", phrase="p", source="session", recorded_at=0, judged=weight, support=support)

    assert session_keys.weighed(key).weight == effective


class Counting:
    """An encoder that counts the texts it is asked for."""

    def __init__(self, counted: Encoder) -> None:
        self.texts: list[str] = []
        self.dim, self.fingerprint, self.is_word = counted.dim, counted.fingerprint, counted.is_word
        self._counted = counted

    def encode(self, texts: Sequence[str]) -> FloatArray:
        self.texts += texts
        return self._counted.encode(texts)


def test_a_weight_that_changes_costs_no_encoding_and_leaves_the_meaning_as_it_was(tmp_path: Path) -> None:
    world, store = World(), SnapshotStore(tmp_path)
    world.happens(LARK)
    before = use(world, "post arrived from the bank").use_meaning
    build(world.log, store, encoder())
    counting = Counting(encoder().precious)
    overlay = Overlay(latest_base(store, encoder()), Encoders(encoder().bulk, counting))
    [key] = learned(world, "use_when")
    for weight in (0.8, 0.6):  # from the snapshot, and then from the overlay
        world.happens(ev.KeyWeighed(item="skill:lark", key=key.key, weight=weight))
        catch_up(overlay, world.log)

    assert counting.texts == []
    world.overlay = overlay
    assert use(world, "post arrived from the bank").use_meaning == pytest.approx(0.6 * before)
