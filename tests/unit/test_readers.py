"""Who may ask besides the owner: grants, what is made out of them, and what ends them."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from instant_recall.events import types as ev
from instant_recall.events.envelope import Actor, EventDraft, draft
from instant_recall.events.memory_log import MemoryEventLog
from instant_recall.projections.building import build
from instant_recall.projections.policy.readers import MOST_ABOVE, Grant, Readers
from instant_recall.projections.snapshot import open_base
from instant_recall.projections.snapshot_store import SnapshotStore
from instant_recall.projections.state import State

from tests.small_world import encoder

NOW = 1_767_225_600_000
HOUR = 3_600_000
TOKEN, OTHER = "a" * 64, "b" * 64


def held(**grants: Grant) -> Readers:
    readers = Readers()
    for name, grant in grants.items():
        readers.grant(name, grant)
    return readers


def scopes(readers: Readers, name: str, now: int = NOW) -> set[str]:
    return set(readers.reader(name, now).scopes)


def fold(*drafts: EventDraft | ev.Event) -> State:
    log = MemoryEventLog(clock=lambda: NOW)
    log.append([d if isinstance(d, EventDraft) else draft(d, occurred_at=NOW) for d in drafts])
    state = State()
    for recorded in log.read(state.position):
        state.apply(recorded)
    return state


def test_a_grant_counts_until_it_expires_and_not_a_millisecond_longer() -> None:
    readers = held(scout=Grant(("lab",), expires_at=NOW + HOUR))

    assert scopes(readers, "scout", NOW + HOUR - 1) == {"lab"}
    assert scopes(readers, "scout", NOW + HOUR) == set()
    assert readers.fate("scout", NOW + HOUR) == "expired"
    assert readers.fate("nobody", NOW) == "unknown"


def test_a_child_never_sees_more_than_its_parent_has_now() -> None:
    readers = held(scout=Grant(("lab", "home"), token_hash=TOKEN), child=Grant(("lab", "web"), parent="scout"))

    assert scopes(readers, "child") == {"lab"}
    readers.grant("scout", Grant(("home",), token_hash=TOKEN))
    assert scopes(readers, "child") == set()


def test_a_child_never_lives_longer_than_its_parent() -> None:
    readers = held(scout=Grant(("lab",), expires_at=NOW + HOUR), child=Grant(("lab",), parent="scout"))

    assert readers.grants["child"].expires_at == NOW + HOUR
    assert scopes(readers, "child", NOW + HOUR) == set()
    # Nor does it when the parent is given more time afterwards.
    readers.grant("scout", Grant(("lab",), expires_at=NOW + 9 * HOUR))
    assert scopes(readers, "child", NOW + 2 * HOUR) == set()
    assert scopes(readers, "scout", NOW + 2 * HOUR) == {"lab"}


def test_a_revoke_ends_all_below_and_a_new_grant_of_the_name_does_not_bring_them_back() -> None:
    readers = held(a=Grant(("x",)), b=Grant(("x",), parent="a"), c=Grant(("x",), parent="b", token_hash=TOKEN))
    assert scopes(readers, "c") == {"x"}

    readers.revoke("a")
    assert [readers.fate(name, NOW) for name in "abc"] == ["revoked"] * 3
    readers.grant("a", Grant(("x",)))
    assert [scopes(readers, name) for name in "abc"] == [{"x"}, set(), set()]
    assert readers.with_token(TOKEN) == ""


def test_a_new_token_ends_what_was_made_with_the_earlier_one() -> None:
    readers = held(a=Grant(("x",), token_hash=TOKEN), b=Grant(("x",), parent="a"))

    readers.grant("a", Grant(("x",), token_hash=OTHER))
    assert scopes(readers, "b") == set()
    assert (readers.with_token(TOKEN), readers.with_token(OTHER)) == ("", "a")


@pytest.mark.parametrize(
    ("name", "grant"),
    [
        ("c", Grant(("x",), parent="nobody")),
        ("c", Grant(("x",), parent="c")),
        ("a", Grant(("x",), parent="b")),
        ("c", Grant(("x",), "owner", parent="a")),
        ("c", Grant(("x",), parent="gone")),
    ],
    ids=["no parent", "its own parent", "below itself", "an owner", "a revoked parent"],
)
def test_a_grant_whose_parent_does_not_hold_sees_nothing(name: str, grant: Grant) -> None:
    readers = held(a=Grant(("x",)), b=Grant(("x",), parent="a"), gone=Grant(("x",)))
    readers.revoke("gone")
    readers.grant(name, msgspec.structs.replace(grant, token_hash=TOKEN))

    assert scopes(readers, name) == set()
    assert not readers.reader(name, NOW).is_owner
    assert readers.with_token(TOKEN) == ""


def test_grants_are_not_stacked_without_end() -> None:
    readers = held(r0=Grant(("x",)))
    for n in range(1, 20):
        readers.grant(f"r{n}", Grant(("x",), parent=f"r{n - 1}"))

    assert scopes(readers, f"r{MOST_ABOVE}") == {"x"}
    assert scopes(readers, f"r{MOST_ABOVE + 1}") == set()


def test_a_grant_of_kind_owner_is_the_owner_and_what_is_made_out_of_it_is_not() -> None:
    readers = held(laptop=Grant(kind="owner", token_hash=TOKEN), child=Grant(("lab",), parent="laptop"))

    assert readers.reader("laptop", NOW).is_owner
    assert readers.reader("child", NOW).scopes == {"lab"}
    readers.revoke("laptop")
    assert not readers.reader("laptop", NOW).is_owner
    assert scopes(readers, "laptop") == scopes(readers, "child") == set()


def test_a_token_hash_never_comes_to_mean_somebody_else() -> None:
    readers = held(a=Grant(("x",), token_hash=TOKEN), b=Grant(("y",), token_hash=TOKEN))

    assert readers.with_token(TOKEN) == "a"
    assert Readers(readers.grants).with_token(TOKEN) == "a"
    assert readers.with_token("") == ""


def test_only_the_owner_grants_at_will_and_a_reader_only_out_of_its_own_grant() -> None:
    given = ev.ReaderGranted(reader="scout", scopes=("lab",))

    def by(kind: str, name: str, event: ev.Event) -> EventDraft:
        return draft(event, occurred_at=NOW, actor=msgspec.convert({"kind": kind, "name": name}, Actor))

    for kind in ("agent", "tool", "web", "import"):
        assert scopes(fold(by(kind, "scout", given)).readers, "scout") == set()
    child = ev.ReaderGranted(reader="child", scopes=("lab", "web"), parent="scout")
    assert scopes(fold(given, by("agent", "scout", child)).readers, "child") == {"lab"}
    assert scopes(fold(given, by("agent", "other", child)).readers, "child") == set()
    assert scopes(fold(given, by("web", "scout", child)).readers, "child") == set()
    # Not the grant of somebody who stands elsewhere: it would be taken away from them.
    other = ev.ReaderGranted(reader="other", scopes=("lab", "home"))
    taken = ev.ReaderGranted(reader="other", scopes=("lab",), parent="scout")
    assert scopes(fold(given, other, by("agent", "scout", taken)).readers, "other") == {"lab", "home"}


def test_only_the_owner_revokes_at_will_and_a_reader_only_those_below() -> None:
    made = [
        ev.ReaderGranted(reader="scout", scopes=("lab",)),
        ev.ReaderGranted(reader="other", scopes=("lab",)),
        ev.ReaderGranted(reader="child", scopes=("lab",), parent="scout"),
    ]
    agent = Actor(kind="agent", name="scout")

    def after(name: str, actor: Actor) -> set[str]:
        event = draft(ev.ReaderRevoked(reader=name), occurred_at=NOW, actor=actor)
        return scopes(fold(*made, event).readers, name)

    assert after("other", agent) == {"lab"}
    assert after("child", agent) == set()
    assert after("child", Actor(kind="web", name="scout")) == {"lab"}
    assert after("scout", Actor()) == set()


def test_nobody_is_granted_to_be_the_owner_by_that_name() -> None:
    state = fold(ev.ReaderGranted(reader="owner", token_hash=TOKEN), ev.ReaderRevoked(reader="owner"))

    assert state.readers.with_token(TOKEN) == ""
    assert state.reader("owner", NOW).is_owner


def test_a_writers_fast_clock_does_not_lengthen_a_grant() -> None:
    event = ev.ReaderGranted(reader="scout", scopes=("lab",), expires_at=NOW + HOUR)
    state = fold(draft(event, occurred_at=NOW + 99 * HOUR))

    assert state.reader("scout", NOW + HOUR).scopes == frozenset()


def test_those_below_are_known_also_after_one_moved_elsewhere() -> None:
    readers = held(a=Grant(("x",)), b=Grant(("x",)), c=Grant(("x",), parent="a"), d=Grant(("x",), parent="c"))
    assert sorted(readers.all_below("a")) == sorted(readers.copy().all_below("a")) == ["c", "d"]
    readers.grant("c", Grant(("x",), parent="b"))
    assert (readers.all_below("a"), sorted(readers.all_below("b"))) == ([], ["c", "d"])
    assert readers.top_of("d") == "b"
    readers.revoke("a")
    assert readers.fate("d", NOW) == "active"
    readers.revoke("b")
    assert readers.fate("d", NOW) == "revoked"


def test_of_very_many_grants_those_that_count_no_more_are_let_go_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("instant_recall.projections.policy.readers.MOST_KEPT", 5)
    ended = [ev.ReaderGranted(reader=f"e{n}", scopes=("x",), expires_at=NOW, token_hash=f"{n:064}") for n in range(4)]
    state = fold(*ended, ev.ReaderGranted(reader="a", scopes=("x",)), ev.ReaderRevoked(reader="e0"))
    assert len(state.readers.grants) == 5
    state = fold(*ended, *(ev.ReaderGranted(reader=name, scopes=("x",)) for name in "abc"))

    assert sorted(state.readers.grants) == ["a", "b", "c"]
    assert state.readers.with_token(f"{1:064}") == ""
    assert scopes(state.readers, "a") == {"x"}


def test_readers_come_back_from_a_snapshot_as_they_were(tmp_path: Path) -> None:
    log = MemoryEventLog(clock=lambda: NOW)
    events = [
        ev.ReaderGranted(reader="a", scopes=("x", "y"), kind="tool", expires_at=NOW + HOUR, token_hash=TOKEN),
        ev.ReaderGranted(reader="b", scopes=("x",), parent="a", token_hash=OTHER),
        ev.ReaderGranted(reader="c", scopes=("x",)),
        ev.ReaderRevoked(reader="c"),
    ]
    log.append([draft(event, occurred_at=NOW) for event in events])
    store = SnapshotStore(tmp_path)
    build(log, store, encoder())
    opened = store.latest()
    assert opened is not None
    readers = open_base(opened).state.readers

    assert readers.grants == fold(*events).readers.grants
    assert (readers.with_token(TOKEN), readers.with_token(OTHER)) == ("a", "b")
    # What happens behind the snapshot does not change the snapshot.
    above = State(open_base(opened).state)
    above.readers.revoke("a")
    assert readers.fate("b", NOW) == "active"
