"""The world that comes with the package keeps the rules of its format. Whether its answers are right, it cannot say."""

import re
from collections import Counter
from collections.abc import Iterator
from datetime import datetime

import pytest
import Stemmer
from bm25s.stopwords import STOPWORDS_EN
from click.testing import CliRunner
from instant_recall.ops.cli import main
from instant_recall.ops.evaluation import evaluate
from instant_recall.ops.evaluation.worlds import Case, World, own_world, read_world

WORLD = read_world(own_world())
AUDIENCE = (
    {asset.id: asset.audience for asset in WORLD.assets}
    | {note.id: note.audience for note in WORLD.notes}
    | {session.id: session.audience for session in WORLD.sessions}
)
SINCE = (
    {asset.id: asset.stored_at for asset in WORLD.assets}
    | {note.id: note.written_at for note in WORLD.notes}
    | {session.id: session.started_at for session in WORLD.sessions}
)
TEXT = {asset.id: " ".join((asset.name, *asset.aliases, asset.description)) for asset in WORLD.assets} | {
    note.id: f"{note.heading} {note.text}" for note in WORLD.notes
}
CLOSED = {session.id: session.turns[-1].at for session in WORLD.sessions}
HIDDEN = {"mute", "quarantine", "retire", "supersede"}


def of_kind(*kinds: str) -> list[Case]:
    return [case for case in WORLD.cases if case.kind in kinds]


def stems(text: str) -> set[str]:
    words = [word for word in re.findall(r"\w\w+", text.lower()) if word not in STOPWORDS_EN]
    return set(Stemmer.Stemmer("english").stemWords(words))


def hidden_at(item: str, at: datetime) -> bool:
    """Whether a policy line or a newer version keeps an item from everybody at that moment."""
    lines = [line for line in WORLD.policy if line.item == item and line.at <= at]
    newer = [asset for asset in WORLD.assets if asset.supersedes == item and asset.stored_at <= at]
    return bool(newer) or bool(lines and max(lines, key=lambda line: line.at).action in HIDDEN)


def seen_by(item: str, reader: str, at: datetime) -> bool:
    name = reader.removeprefix("sub:")
    scopes = {label for line in WORLD.policy if line.reader == name and line.at <= at for label in line.scope}
    return reader == "owner" or not scopes.isdisjoint(AUDIENCE[item])


def keys_before(item: str, at: datetime) -> Iterator[str]:
    """Where another wording of what an item is for was heard before that moment, its author's phrases aside."""
    for asset in WORLD.assets:
        if asset.id == item and asset.stored_during and asset.stored_at < at:
            yield "stored"
    yield from (row.id for row in WORLD.corrections if row.item == item and row.at < at)
    yield from (row.id for row in WORLD.sessions if item in row.helped and CLOSED[row.id] < at)


def test_it_has_what_its_readme_says() -> None:
    readme = " ".join((own_world() / "README.md").read_text(encoding="utf-8").split())
    counts = Counter(case.kind for case in WORLD.cases)
    assert counts == {
        "use": 44, "none": 20, "topic": 17, "named": 17, "last-time": 15, "no-access": 9, "co-access": 7,
        "fresh-correction": 7, "latest": 7, "near-name": 6, "muted/expired": 6,
    }  # fmt: skip
    assert all(re.search(rf"\b{kind} {count}\b", readme) for kind, count in counts.items())
    kinds = Counter(asset.kind for asset in WORLD.assets)
    assert all(f"{count} {kind}" in readme for kind, count in kinds.items())
    for name in ("assets", "notes", "sessions", "corrections", "cases"):
        assert f"{len(getattr(WORLD, name))} {name}" in readme
    assert f"{len(WORLD.policy)} policy lines" in readme


def test_no_request_stands_there_twice() -> None:
    said = Counter(" ".join(sorted(stems(case.request))) for case in WORLD.cases)
    assert not [words for words, times in said.items() if times > 1]


def test_use_and_co_access_requests_share_no_word_with_what_they_need() -> None:
    shared = {
        (case.id, item): stems(case.request) & stems(TEXT[item])
        for case in of_kind("use", "co-access")
        for item in case.expect
    }
    assert {where: words for where, words in shared.items() if words} == {}


def test_topic_requests_share_a_word_with_what_they_need() -> None:
    assert all(stems(case.request) & stems(TEXT[item]) for case in of_kind("topic") for item in case.expect)


def test_what_is_expected_is_there_and_may_be_seen_and_what_is_forbidden_is_there() -> None:
    for case in WORLD.cases:
        for item in case.expect:
            assert SINCE[item] < case.at, case.id
            assert seen_by(item, case.reader, case.at), case.id
            assert not hidden_at(item, case.at), case.id
        assert all(SINCE[item] < case.at for item in case.must_not), case.id
        assert not set(case.expect) & set(case.must_not), case.id


def test_every_reader_was_granted_something_before_it_asks() -> None:
    granted = {f"sub:{line.reader}": line.at for line in WORLD.policy if line.action == "grant"}
    asking = [case for case in WORLD.cases if case.reader != "owner"]
    assert {case.reader for case in asking} == set(granted)
    assert all(granted[case.reader] < case.at for case in asking)


def test_what_is_forbidden_is_forbidden_for_the_reason_of_its_kind() -> None:
    for case in of_kind("no-access"):
        assert case.must_not and not any(seen_by(item, case.reader, case.at) for item in case.must_not), case.id
    for case in of_kind("muted/expired", "latest"):
        assert case.must_not and all(hidden_at(item, case.at) for item in case.must_not), case.id
    for case in of_kind("near-name"):
        (item,) = case.must_not
        assert stems(case.request) & stems(item.removeprefix("a-")), case.id


def test_half_of_the_use_cases_can_be_known_from_before_and_the_others_cannot() -> None:
    parts: Counter[str] = Counter()
    phrases = {asset.id: asset.use_when for asset in WORLD.assets}
    for case in of_kind("use"):
        told = re.match(r"(learnable|cold)\((.+?)\): \w", case.why)
        assert told, case.id
        part, key = told.groups()
        parts[part] += 1
        known = {found for item in case.expect for found in keys_before(item, case.at)}
        if part == "learnable":
            assert key in known, case.id
        else:
            assert not known, case.id
            assert bool(phrases[case.expect[0]]) == (key == "use_when"), case.id
    assert parts == {"learnable": 22, "cold": 22}


def test_half_of_the_requests_without_an_answer_look_as_if_they_had_one() -> None:
    cases = of_kind("none")
    assert Counter(case.why.partition(":")[0] for case in cases) == {"near": 10, "far": 10}
    assert not any(case.expect or case.must_not for case in cases)


def test_co_access_pairs_were_opened_together_twice_and_nothing_else_leads_there() -> None:
    phrases = {asset.id: asset.use_when for asset in WORLD.assets}
    for case in of_kind("co-access"):
        (needed,) = case.expect
        named = {asset.id for asset in WORLD.assets if stems(asset.name) <= stems(case.request)}
        together = [s for s in WORLD.sessions if needed in s.used and named & set(s.used) and CLOSED[s.id] < case.at]
        assert len(together) >= 2, case.id
        assert not phrases.get(needed) and not list(keys_before(needed, case.at)), case.id


def test_a_fresh_correction_is_asked_again_within_a_minute_or_later_that_day() -> None:
    gaps = []
    for case in of_kind("fresh-correction"):
        key = case.why.partition(",")[0]
        (correction,) = [row for row in WORLD.corrections if row.id == key]
        assert case.expect == (correction.item,) and case.request != correction.request
        assert case.at.date() == correction.at.date()
        gaps.append((case.at - correction.at).total_seconds())
    assert min(gaps) > 0 and sum(gap <= 60 for gap in gaps) == 6


def test_the_past_is_in_order() -> None:
    for session in WORLD.sessions:
        times = [turn.at for turn in session.turns]
        assert times == sorted(times) and times[0] == session.started_at, session.id
        assert all(SINCE[item] <= times[-1] for item in session.used), session.id
        assert set(session.helped) <= set(session.used), session.id
    pointed = [(row.item, row.at) for row in WORLD.corrections]
    pointed += [(row.item, row.at) for row in WORLD.policy if row.item]
    assert all(SINCE[item] < at for item, at in pointed)
    assert all(40 <= len(note.text.split()) <= 150 for note in WORLD.notes)


def test_it_names_no_address_on_the_net_and_no_login() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in own_world().glob("*.jsonl"))
    assert not re.search(r"https?://|\w@\w|\bwww\.|(password|passphrase|PIN|token|key)\s*[:=]", text)
    machines = [asset for asset in WORLD.assets if asset.kind == "machine"]
    assert all("safe under" in machine.description for machine in machines)


def test_eval_without_a_world_takes_this_one(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[World] = []

    def asked(world: World, **_: object) -> list[evaluate.Answer]:
        taken.append(world)
        return []

    monkeypatch.setattr(evaluate, "ask", asked)
    said = CliRunner().invoke(main, ["eval", "--json"])
    assert said.exit_code == 0, said.output
    assert taken == [WORLD]


def test_its_format_is_described_beside_it() -> None:
    told = (own_world().parent / "FORMAT.md").read_text(encoding="utf-8")
    for kind in {case.kind for case in WORLD.cases}:
        assert f"| {kind} |" in told
    for name in own_world().glob("*.jsonl"):
        assert f"`{name.name}`" in told
