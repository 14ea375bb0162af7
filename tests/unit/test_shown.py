"""What was put in front of a session is remembered for each reader by itself."""

from __future__ import annotations

from instant_recall.projections.shown import SESSIONS_REMEMBERED, Shown, remember, reset, shown_to


def test_what_one_reader_was_shown_is_news_to_another_in_the_same_session() -> None:
    shown: Shown = {}
    remember(shown, "s", "owner", {"note:1": "1-0"})
    remember(shown, "s", "sub:lab", {"note:2": "2-0"})
    remember(shown, "s", "owner", {"note:3": "3-0"})

    assert shown_to(shown, "s", "owner") == {"note:1": "1-0", "note:3": "3-0"}
    assert shown_to(shown, "s", "sub:lab") == {"note:2": "2-0"}
    assert shown_to(shown, "s", "sub:other") == shown_to(shown, "", "owner") == {}


def test_a_context_that_was_reset_holds_nothing_of_anybody() -> None:
    shown: Shown = {}
    for reader in ("owner", "sub:lab"):
        remember(shown, "s", reader, {"note:1": "1-0"})
        remember(shown, "t", reader, {"note:1": "1-0"})
    reset(shown, "s")

    assert [shown_to(shown, session, "sub:lab") for session in ("s", "t")] == [{}, {"note:1": "1-0"}]
    assert [shown_to(shown, session, "owner") for session in ("s", "t")] == [{}, {"note:1": "1-0"}]


def test_the_sessions_of_one_reader_push_none_of_anothers_out() -> None:
    shown: Shown = {}
    remember(shown, "mine", "sub:lab", {"note:1": "1-0"})
    for n in range(SESSIONS_REMEMBERED + 5):
        remember(shown, f"s{n}", "owner", {"note:1": "1-0"})

    assert shown_to(shown, "mine", "sub:lab") == {"note:1": "1-0"}
    assert not any(shown_to(shown, f"s{n}", "owner") for n in range(5))
    assert shown_to(shown, "s5", "owner")
