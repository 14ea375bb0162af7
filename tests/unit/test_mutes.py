"""What the owner asked not to be told of, by item and by topic, for a session and for good."""

from __future__ import annotations

import pytest
from instant_recall.events import types as ev
from instant_recall.events.envelope import Actor, draft
from instant_recall.projections.language.words import readings
from instant_recall.projections.push import compose
from instant_recall.projections.searcher import Searcher
from instant_recall.tests.small_world import NOW, World, encoder, note, skill

MUTE = "00000000-0000-7000-8000-000000000001"


def muted(phrase: str, session: str = "", mute: str = MUTE) -> object:
    return draft(ev.TopicMuted(phrase=phrase, session=session), event_id=mute)


def searcher(made: World, session: str = "", reader: str = "owner") -> Searcher:
    return Searcher(made.overlay, encoder(), made.overlay.state.reader(reader, NOW), NOW, session=session)


def sees(made: World, item: str, session: str = "", reader: str = "owner") -> bool:
    return searcher(made, session, reader).sees(item)


@pytest.fixture
def made() -> World:
    world = World()
    world.happens(ev.ReaderGranted(reader="sub:lab", scopes=("lab",)))
    world.happens(
        note("papers", "The divorces of the Meiers are filed in the third drawer"),
        note("drawer", "The third drawer sticks"),
        skill("notary", "Draws up papers", use_when=("something about the divorce",)),
        skill("divorce-clock", "Counts the days"),
        skill("lawyer", "Writes letters", aliases=("divorce lawyer",)),
        audience=("lab",),
    )
    return world


def test_a_topic_hides_what_has_its_words_in_any_form_wherever_they_stand(made: World) -> None:
    made.happens(muted("the Divorce"))  # type: ignore[arg-type]

    hidden = ("note:papers", "skill:notary", "skill:divorce-clock", "skill:lawyer")
    assert [item for item in hidden if sees(made, item)] == []
    assert sees(made, "note:drawer")
    assert {searcher(made).refused_by(item) for item in hidden} == {"topic_muted"}


def test_all_words_of_a_topic_have_to_stand_in_one_piece(made: World) -> None:
    made.happens(muted("third drawer"))  # type: ignore[arg-type]
    assert [sees(made, f"note:{name}") for name in ("papers", "drawer")] == [False, False]

    made.happens(muted("Meier drawer", mute=MUTE[:-1] + "2"), ev.TopicUnmuted(mute=MUTE))  # type: ignore[arg-type]
    assert [sees(made, f"note:{name}") for name in ("papers", "drawer")] == [False, True]

    turns = [
        ev.TurnRecorded(session="s1", turn=n, role="owner", text=text)
        for n, text in enumerate(("who was that Meier of last week", "and where is the drawer that sticks"))
    ]
    made.happens(*turns)
    assert sees(made, "session:s1")
    made.happens(ev.TurnRecorded(session="s1", turn=2, role="agent", text="In the drawer of the Meiers, the third"))
    assert not sees(made, "session:s1")


def test_a_topic_hides_at_once_what_comes_later_and_shows_it_when_it_is_undone(made: World) -> None:
    made.happens(muted("divorce"))  # type: ignore[arg-type]
    made.happens(note("court", "The divorce is heard in May"))
    assert not sees(made, "note:court")
    made.happens(note("court", "The hearing is in May"))
    assert sees(made, "note:court")
    made.happens(ev.TopicUnmuted(mute=MUTE))
    assert sees(made, "note:papers")


def test_a_mute_for_a_session_holds_there_and_nowhere_else(made: World) -> None:
    made.happens(muted("divorce", "s1"), ev.ItemMuted(item="note:drawer", session="s1"))  # type: ignore[arg-type]

    for item, rule in (("note:papers", "topic_muted"), ("note:drawer", "muted")):
        assert searcher(made, "s1").refused_by(item) == rule
        assert [sees(made, item, session) for session in ("s1", "s2", "")] == [False, True, True]
    made.happens(ev.ItemUnmuted(item="note:drawer", session="s1"))
    assert sees(made, "note:drawer", "s1")


def test_an_unmute_without_a_session_takes_all_mutes_of_an_item_back(made: World) -> None:
    made.happens(ev.ItemMuted(item="note:drawer"), *(ev.ItemMuted(item="note:drawer", session=s) for s in ("a", "b")))
    made.happens(ev.ItemUnmuted(item="note:drawer", session="a"))
    assert not sees(made, "note:drawer", "a"), "it is muted for good"

    made.happens(ev.ItemUnmuted(item="note:drawer"))
    assert [sees(made, "note:drawer", session) for session in ("", "a", "b")] == [True, True, True]


@pytest.mark.parametrize("reader", ["owner", "sub:lab"])
def test_what_is_muted_is_pushed_by_no_route_to_nobody(made: World, reader: str) -> None:
    made.happens(muted("divorce"))  # type: ignore[arg-type]
    for request in (
        "divorce lawyer",
        "the divorces of the Meiers",
        "open the divorce-clock",
        "something about a divorce",
    ):
        push = compose(searcher(made, reader=reader), request, shown={}, bar=0.0)
        assert {r.evidence.item.id for r, _ in push.pointers} <= {"note:drawer"}, request


def test_a_topic_looks_only_at_what_the_reader_may_see(made: World) -> None:
    made.happens(skill("scanner", "Feeds paper"), audience=("lab",))
    made.happens(ev.KeyAdded(item="skill:scanner", phrase="copies for the alimony"), muted("alimony"))  # type: ignore[arg-type]

    assert not sees(made, "skill:scanner")
    assert sees(made, "skill:scanner", reader="sub:lab"), "nothing that it may see is about it"


def test_a_replaced_name_is_not_told_when_it_is_muted(made: World) -> None:
    made.happens(note("new", "The drawer was mended", supersedes="note:papers"))
    assert searcher(made).peek_name("note:papers") == "papers"
    made.happens(muted("Meier"))  # type: ignore[arg-type]
    assert searcher(made).peek_name("note:papers") == ""


@pytest.mark.parametrize("kind", ["tool", "web", "import"])
def test_nobody_else_mutes(made: World, kind: str) -> None:
    actor = Actor(kind=kind)  # type: ignore[arg-type]
    made.happens(draft(ev.TopicMuted(phrase="drawer"), actor=actor))
    made.happens(draft(ev.ItemMuted(item="note:drawer"), actor=actor))
    made.happens(draft(ev.ItemMuted(item="note:drawer", session="s1"), actor=actor))
    assert sees(made, "note:drawer", "s1")


@pytest.mark.parametrize(
    ("phrase", "text", "hidden"),
    [
        ("die Scheidung", "Die Unterlagen der Scheidungen liegen im dritten Fach und bei der Bank", True),
        ("la séparation", "Les papiers de la separation sont dans le tiroir du bas avec les autres", True),
        ("离婚", "关于离婚的文件在第三个抽屉里", True),
        ("развод", "Бумаги о разводе лежат в третьем ящике", True),
        ("DIVORCE!", "papers of the divorce", True),
        ("divorce", "the diverse papers of the club", False),
        ("plan B", "the plan for the summer", True),
    ],
)
def test_topics_in_other_forms_and_other_languages(phrase: str, text: str, hidden: bool) -> None:
    made = World()
    made.happens(note("a", text), muted(phrase))  # type: ignore[arg-type]
    assert sees(made, "note:a") is not hidden


def test_a_phrase_without_a_word_to_go_by_is_about_nothing(made: World) -> None:
    assert readings("the of", ()) == []
    made.happens(muted("of the"))  # type: ignore[arg-type]
    assert sees(made, "note:drawer")
