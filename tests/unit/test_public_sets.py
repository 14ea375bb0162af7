import json
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from instant_recall.ops.cli import main
from instant_recall.ops.evaluation.baselines import BASELINES
from instant_recall.ops.evaluation.playback import timeline
from instant_recall.ops.evaluation.public_chats import read_locomo, read_longmemeval
from instant_recall.ops.evaluation.public_sets import KEYS_OF_A_THING, PublicSet, read_set, sample
from instant_recall.ops.evaluation.rankings import Ranking, gate, judge_rankings, rank_set
from instant_recall.ops.evaluation.worlds import BadWorld, Case
from instant_recall.projections.meaning.encoders import load_encoders

THINGS: list[dict[str, Any]] = [
    {"id": "gravel", "group": "me", "kind": "asset", "name": "gravel", "description": "Sorts small stones by size."},
    {"id": "loom", "group": "me", "kind": "device", "name": "loom", "description": "Weaves cloth.", "text": "Oil it."},
    {"id": "pebble", "group": "them", "kind": "asset", "name": "pebble", "description": "Sorts small stones by age."},
    {"id": "idle", "group": "nobody", "kind": "asset", "name": "idle", "description": "Sorts small stones, too."},
]
QUERIES: list[dict[str, Any]] = [
    {"id": "1", "group": "me", "text": "sort small stones by size", "relevant": ["gravel"], "category": "fits"},
    {"id": "2", "group": "them", "text": "sort small stones by age", "relevant": ["pebble"], "category": "fits"},
    {"id": "3", "group": "me", "text": "who won the chess final?", "relevant": [], "category": "far", "lang": "de"},
]
TURNS: list[dict[str, Any]] = [
    {"id": f"D1:{n}", "group": "me", "kind": "turn", "text": text, "meta": {"session": "S1", "speaker": who}}
    for n, (who, text) in enumerate(
        [
            ("Ana", "Ana: good morning to you all"),
            ("Ben", "Ben: the ferry to the island leaves at seven"),
            ("Ana", "Ana: I planted tomatoes behind the shed"),
        ],
        1,
    )
]


def written(folder: Path, things: Iterable[dict[str, Any]], queries: Iterable[dict[str, Any]]) -> Path:
    for name, rows in (("corpus", things), ("queries", queries)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def ranking(score: float | None, *, fits: bool, pushed: bool | None = None, place: int = 1, why: str = "") -> Ranking:
    """A ranking of six whose right answer, if any, stands at `place`; without a score it found nothing."""
    items = () if score is None else tuple("right" if n == place else f"other-{n}" for n in range(1, 7))
    return Ranking(
        case=Case(
            id="q",
            at=datetime(2026, 1, 1, tzinfo=UTC),
            request="",
            kind="topic" if fits else "none",
            expect=("right",) if fits else (),
            why=why,
        ),
        items=items,
        places=items,
        scores=() if score is None else (score,) * 6,
        took_ms=1.0,
        pushed=pushed,
    )


def test_each_group_is_an_owner_who_is_asked_about_their_own_things_only(tmp_path: Path) -> None:
    found = rank_set(read_set(written(tmp_path, THINGS, QUERIES)), load_encoders())

    assert {one.case.id: one.items[:1] for one in found if one.case.expect} == {"1": ("gravel",), "2": ("pebble",)}
    assert all("pebble" not in one.items for one in found if one.case.id != "2")
    assert {one.case.id: one.case.why for one in found} == {"1": "fits", "2": "fits", "3": "far/de"}


def test_things_become_assets_notes_and_sessions_by_their_kind(tmp_path: Path) -> None:
    things: list[dict[str, Any]] = [
        {"id": "guide", "group": "me", "kind": "guide", "text": "all", "use_when": [f"key {n}" for n in range(50)]},
        {"id": "fact", "group": "me", "kind": "memory", "text": "The shed is locked."},
        {"id": "chat", "group": "me", "kind": "session", "text": "user: is it\nlocked?\nassistant: yes, it is"},
        {"id": "S1", "group": "me", "kind": "session", "text": "user: the turns of this are rows"},
        *TURNS,
    ]
    world = read_set(written(tmp_path, things, QUERIES[2:])).groups[0].world

    assert [(asset.kind, asset.text, len(asset.use_when)) for asset in world.assets] == [
        ("document", "all", KEYS_OF_A_THING)
    ]
    assert [note.text for note in world.notes] == ["The shed is locked."]
    told = {session.id: [(turn.role, turn.text) for turn in session.turns] for session in world.sessions}
    assert told["chat"] == [("owner", "is it\nlocked?"), ("agent", "yes, it is")]
    assert [role for role, _ in told["S1"]] == ["owner", "agent", "owner"]
    events = [type(made.event).__name__ for made in timeline(world)]
    assert {name: events.count(name) for name in set(events)} == {
        "AssetRecorded": 1, "NoteRecorded": 1, "TurnRecorded": 5, "SessionClosed": 2,
    }  # fmt: skip


def test_evidence_is_looked_for_to_the_turn(tmp_path: Path) -> None:
    query = {"id": "1", "group": "me", "text": "when does the ferry to the island leave?", "relevant": ["D1:2"]}
    (found,) = rank_set(read_set(written(tmp_path, TURNS, [query])), load_encoders())

    assert found.case.expect == ("S1",)
    assert found.evidence == ("S1#t2",)
    assert found.places == ("S1#t2",)
    assert judge_rankings([found])["turns@5"] == 1.0


def test_what_only_looks_like_an_answer_is_not_expected(tmp_path: Path) -> None:
    query = {"id": "1", "group": "me", "text": "when?", "relevant": ["D1:2"], "meta": {"answerable": False}}
    (group,) = read_set(written(tmp_path, TURNS, [query])).groups

    assert group.world.cases[0].expect == ()
    assert not any(group.evidence.values())


def test_a_query_of_an_earlier_time_sees_nothing_of_that_moment_or_later(tmp_path: Path) -> None:
    things = [
        {
            "id": f"s{day}",
            "group": "me",
            "kind": "session",
            "text": "user: please fix the failing tests",
            "time": f"2026-01-0{day}",
        }
        for day in (1, 2, 3)
    ]
    query = {
        "id": "1",
        "group": "me",
        "text": "fix the failing tests",
        "relevant": ["s1"],
        "meta": {"before": "2026-01-02"},
    }
    (found,) = rank_set(read_set(written(tmp_path, things, [query])), load_encoders())

    assert found.items == ("s1",)


@pytest.mark.parametrize(
    ("things", "queries", "said"),
    [
        ([], QUERIES[:1], "corpus.jsonl:1: the file is empty"),
        (THINGS, [], "queries.jsonl:1: the file is empty"),
        ([*THINGS, THINGS[0]], QUERIES, "corpus.jsonl:5: the id 'gravel' is there twice in the group 'me'."),
        (THINGS, [*QUERIES, QUERIES[0]], "queries.jsonl:4: the id '1' is there twice."),
        (THINGS, [QUERIES[0] | {"relevant": ["pebble"]}], "queries.jsonl:1: the group 'me' has nothing with the id"),
        ([THINGS[0] | {"kind": "spell"}], QUERIES[:1], "corpus.jsonl:1: Invalid enum value 'spell'"),
        ([THINGS[0] | {"time": "noon"}], QUERIES[:1], "corpus.jsonl:1: the time 'noon' is not ISO 8601."),
        (
            [THINGS[0] | {"time": "2026-01-03"}],
            [QUERIES[0] | {"meta": {"before": "2026-01-03"}}],
            "queries.jsonl:1: the query comes before 'gravel'",
        ),
        (THINGS[:3], [QUERIES[0] | {"meta": {"before": "soon"}}], "queries.jsonl:1: meta.before is not ISO 8601."),
    ],
)
def test_what_is_wrong_with_a_set_is_told_with_file_and_line(
    tmp_path: Path, things: list[dict[str, Any]], queries: list[dict[str, Any]], said: str
) -> None:
    with pytest.raises(BadWorld) as bad:
        read_set(written(tmp_path, things, queries))

    assert any(problem.startswith(said) for problem in bad.value.problems), bad.value.problems


def test_a_folder_without_files_and_one_in_another_encoding_are_told(tmp_path: Path) -> None:
    with pytest.raises(BadWorld, match=r"no corpus.jsonl(.|\n)*queries.jsonl:0: the file is missing: nothing"):
        read_set(tmp_path)
    written(tmp_path, THINGS, [])
    (tmp_path / "queries.jsonl").write_text(json.dumps(QUERIES[0]), encoding="utf-16")
    with pytest.raises(BadWorld, match=r"queries.jsonl:1: the file is UTF-16"):
        read_set(tmp_path)


def test_a_sample_is_the_same_for_the_same_seed_and_leaves_out_who_is_not_asked(tmp_path: Path) -> None:
    queries = [{"id": f"q{n}", "group": ("me", "them")[n % 2], "text": "x"} for n in range(40)]
    whole = read_set(written(tmp_path, THINGS, queries))

    def ids(asked: PublicSet) -> set[str]:
        return {case.id for group in asked.groups for case in group.world.cases}

    assert ids(sample(whole, 9, seed=1)) == ids(sample(whole, 9, seed=1)) != ids(sample(whole, 9, seed=2))
    assert sample(whole, 9).cases == 9
    assert len(sample(whole, 1).groups) == 1
    assert sample(whole, None) is sample(whole, 40) is whole


def test_the_figures_of_a_ranking_are_those_of_the_books() -> None:
    found = [
        ranking(0.9, fits=True, place=1, why="a"),
        ranking(0.8, fits=True, place=4, why="b"),
        ranking(0.7, fits=True, place=6, why="b"),
        ranking(None, fits=True, why="b"),
    ]
    facts = judge_rankings(found)

    assert (facts["hit@1"], facts["hit@5"], facts["mrr@10"]) == (0.25, 0.5, round((1 + 1 / 4 + 1 / 6) / 4, 4))
    assert facts["gate"] is None
    assert facts["false_push_rate"] is None
    assert "turns@5" not in facts
    assert {name: part["cases"] for name, part in facts["categories"].items()} == {"a": 1, "b": 3}


def test_the_gate_is_judged_by_the_best_score_whatever_is_ranked() -> None:
    fits = [ranking(score, fits=True, pushed=score > 0.5) for score in (0.9, 0.8, 0.7, 0.4)]
    others = [ranking(score, fits=False, pushed=bool(score and score > 0.5)) for score in (0.75, 0.4, 0.1, None)]

    # 16 pairs: 0.75 loses to two of four; 0.4 to three, and one tie; 0.1 and nothing to all.
    assert gate([*fits, *others]) == {
        "auroc": round((2 + 3.5 + 4 + 4) / 16, 4),
        "pushed_at_recall": 0.5,
        "pushed_at_bar": 0.25,
        "recall_at_bar": 0.75,
    }
    barless = [without_a_bar(one) for one in (*fits, *others)]
    assert (gate(barless) or {})["pushed_at_bar"] is None


def without_a_bar(one: Ranking) -> Ranking:
    """The same of a make that has no bar."""
    return ranking(one.scores[0] if one.scores else None, fits=bool(one.case.expect))


LOCOMO = {
    "sample_id": "conv-1",
    "conversation": {
        "speaker_a": "Ana",
        "speaker_b": "Ben",
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [
            {"speaker": "Ana", "dia_id": "D1:1", "text": "I sold the old boat today."},
            {"speaker": "Ben", "dia_id": "D1:2", "text": "Look!", "img_url": ["x"], "blip_caption": "a red kite"},
        ],
        "session_2_date_time": "9:05 am on 25 June, 2023",
        "session_2": [{"speaker": "Ben", "dia_id": "D2:1", "text": "My sister moved to Lisbon."}],
        "session_3_date_time": "9:05 am on 26 June, 2023",
    },
    "qa": [
        {"question": "What did Ana sell?", "answer": "boat", "evidence": ["D1:1"], "category": 4},
        {"question": "Kite and Lisbon?", "answer": 2, "evidence": ["D:1:02; D2:1", "D9:9", "D"], "category": 1},
        {"question": "What did Ben sell?", "adversarial_answer": "boat", "evidence": ["D1:1"], "category": 5},
    ],
    "event_summary": {},
}


def test_locomo_as_published_is_one_owner_a_conversation(tmp_path: Path) -> None:
    file = tmp_path / "locomo10.json"
    file.write_text(json.dumps([LOCOMO]))
    (group,) = read_locomo(file).groups

    assert [session.started_at for session in group.world.sessions] == [
        datetime(2023, 5, 8, 13, 56, tzinfo=UTC), datetime(2023, 6, 25, 9, 5, tzinfo=UTC),
    ]  # fmt: skip
    assert [(turn.role, turn.text) for turn in group.world.sessions[0].turns] == [
        ("owner", "Ana: I sold the old boat today."),
        ("agent", "Ben: Look! [shares an image: a red kite]"),
    ]
    asked = [(case.why, case.expect, group.evidence[case.id]) for case in group.world.cases]
    assert asked == [
        ("single-hop", ("conv-1/S1",), ("conv-1/S1#t1",)),
        ("multi-hop", ("conv-1/S1", "conv-1/S2"), ("conv-1/S1#t2", "conv-1/S2#t1")),
        ("adversarial", (), ()),
    ]


LONGMEMEVAL = {
    "question_id": "e47b",
    "question_type": "single-session-user",
    "question": "Which degree did I get?",
    "answer": "Business",
    "question_date": "2023/05/30 (Tue) 23:40",
    "haystack_session_ids": ["s1", "s2", "s1"],
    "haystack_dates": ["2023/05/20 (Sat) 02:21", "2023/05/21 (Sun) 10:00", "2023/05/20 (Sat) 02:21"],
    "haystack_sessions": [
        [
            {"role": "user", "content": "Hello, how are you today?"},
            {"role": "user", "content": "I got a degree in business last year.", "has_answer": True},
            {"role": "assistant", "content": "Congratulations!", "has_answer": False},
        ],
        [{"role": "user", "content": "Which soup is good for a cold?"}],
        [{"role": "user", "content": "Hello, how are you today?"}],
    ],
    "answer_session_ids": ["s1"],
}


def test_longmemeval_as_published_is_one_owner_a_question(tmp_path: Path) -> None:
    file = tmp_path / "longmemeval_s.json"
    file.write_text(json.dumps([LONGMEMEVAL, LONGMEMEVAL | {"question_id": "e47b_abs"}]))
    first, second = read_longmemeval(file).groups

    (case,) = first.world.cases
    assert (case.why, case.expect, first.evidence[case.id]) == ("single-session-user", ("s1",), ("s1#t2",))
    assert [session.id for session in first.world.sessions] == ["s1", "s2"]
    assert case.at > datetime(2023, 5, 30, 23, 40, tzinfo=UTC)
    assert (second.world.cases[0].why, second.world.cases[0].expect) == ("abstention", ())
    found = rank_set(read_longmemeval(file), load_encoders())
    assert found[0].places[0] == "s1#t2"


@pytest.mark.parametrize(
    ("read", "content", "said"),
    [
        (read_locomo, "[{", "JSON is truncated|truncated"),
        (read_locomo, "[]", "there is no question in it"),
        (read_locomo, json.dumps([LOCOMO | {"qa": 3}]), r"\$\[0\].qa"),
        (read_locomo, json.dumps([LOCOMO | {"conversation": {}}]), r"sample 0 \('conv-1'\): it has no session_1"),
        (
            read_locomo,
            json.dumps([LOCOMO | {"conversation": {"session_1": LOCOMO["conversation"]["session_1"]}}]),  # type: ignore[index]
            r"sample 0 \('conv-1'\): a session has no date",
        ),
        (read_longmemeval, json.dumps([LONGMEMEVAL | {"question_date": "soon"}]), r"question 0 \('e47b'\): time data"),
        (read_longmemeval, json.dumps([LONGMEMEVAL | {"haystack_dates": []}]), r"question 0 \('e47b'\)"),
    ],
)
def test_a_published_file_of_another_form_is_told_with_the_place(
    tmp_path: Path, read: Any, content: str, said: str
) -> None:
    file = tmp_path / "file.json"
    file.write_text(content)

    with pytest.raises(BadWorld, match=said):
        read(file)


def run(*arguments: object) -> tuple[int, str]:
    found = CliRunner().invoke(main, ["eval", *map(str, arguments)])
    return found.exit_code, found.output


def test_eval_tells_the_figures_of_a_set_to_programs_and_to_people(tmp_path: Path) -> None:
    written(tmp_path, THINGS, QUERIES)
    code, said = run("--set", tmp_path, "--baselines", "--json")
    facts = json.loads(said)

    assert code == 0
    assert (facts["cases"], facts["of"], facts["owners"]) == (3, 3, 2)
    assert list(facts["makes"]) == ["instant-recall", *BASELINES]
    assert facts["makes"]["instant-recall"]["hit@1"] == 1.0
    assert facts["makes"]["instant-recall"]["gate"]["auroc"] == 1.0
    code, said = run("--set", tmp_path, "--limit", 2, "--verbose")
    assert code == 0
    assert "2 cases of 3, seed 0" in said
    assert "instant-recall" in said


def test_eval_reads_the_published_files(tmp_path: Path) -> None:
    for option, rows in (("--locomo", [LOCOMO]), ("--longmemeval", [LONGMEMEVAL])):
        file = tmp_path / "file.json"
        file.write_text(json.dumps(rows))
        code, said = run(option, file, "--json")
        assert code == 0, said
        assert json.loads(said)["makes"]["instant-recall"]["hit@1"] == 1.0


def test_the_setups_are_compared_on_a_set_as_on_a_world(tmp_path: Path) -> None:
    pytest.importorskip("scipy", reason="scipy is the extra `eval`")
    code, said = run("--set", written(tmp_path, THINGS, QUERIES), "--setups", "S1,S2", "--baselines", "--json")

    assert code == 0, said
    facts = json.loads(said)
    assert list(facts["setups"]) == ["S1", "S2"]
    assert list(facts["baselines"]) == list(BASELINES)
    assert [row["hit1"] for row in facts["setups"]["S2"]].count(True) == 2
    assert not any(row["hit1"] for row in facts["setups"]["S1"])


def test_eval_refuses_a_bad_set_with_a_line_each_and_options_that_do_not_fit(tmp_path: Path) -> None:
    written(tmp_path, THINGS, [QUERIES[0] | {"relevant": ["gone"]}, {"id": 3}])
    code, said = run("--set", tmp_path)
    assert code == 2
    assert said.startswith("queries.jsonl:2:")

    for extra in (("--own",), ("--no-bar",), ("--locomo", __file__), ("--world", tmp_path)):
        code, said = run("--set", tmp_path, *extra)
        assert code == 2, extra
        assert "Error" in said
    assert run("--limit", 3)[0] == 2
