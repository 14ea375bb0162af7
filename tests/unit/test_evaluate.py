import dataclasses
import json
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner
from instant_recall.api.messages import PushRequest, PushResponse
from instant_recall.api.service import Service
from instant_recall.events.errors import RecallError
from instant_recall.events.types import AssetRecorded, OwnershipCorrected, ReaderGranted, SessionClosed, TurnRecorded
from instant_recall.ops.cli import main
from instant_recall.ops.evaluation import evaluate
from instant_recall.ops.evaluation.evaluate import Answer, judge
from instant_recall.ops.evaluation.playback import request_of, timeline
from instant_recall.ops.evaluation.worlds import BadWorld, Case, millis, read_world
from instant_recall.ops.figures import percentiles

TINY = Path(__file__).parent / "tiny_world"
FIGURES = {"cases", "expecting", "hit1", "hit5", "must_not", "pushed_mean", "false_push_rate"}


def case(**fields: Any) -> Case:
    plain = Case(id="q", at=datetime(2026, 5, 1, tzinfo=UTC), request="anything", kind="topic")
    return msgspec.structs.replace(plain, **fields)


def answer(of: Case, *pushed: str) -> Answer:
    return Answer(case=of, pushed=pushed, scores=(0.5,) * len(pushed), tokens=40 * len(pushed), took_ms=1.0)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], dict[str, list[str]]]:
    """The result of a run over the tiny world, and what was pushed by case."""
    out = tmp_path_factory.mktemp("run") / "cases.jsonl"
    result = evaluate.run(TINY, cases_out=out)
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert all(set(line) == {"id", "kind", "pushed", "scores"} for line in lines)
    assert all(len(line["pushed"]) == len(line["scores"]) <= 5 for line in lines)
    return result, {line["id"]: line["pushed"] for line in lines}


def test_the_result_has_the_agreed_form(run: tuple[dict[str, Any], dict[str, list[str]]]) -> None:
    result, pushed = run

    assert set(result) == {"cases", "kinds", "pointers_mean", "tokens_mean", "latency_ms"}
    assert result["cases"] == len(pushed) == 12
    assert set(result["latency_ms"]) == {"p50", "p95", "p99"}
    assert sum(figures["cases"] for kind, figures in result["kinds"].items() if "use/" not in kind) == 12
    assert all(set(figures) == FIGURES for figures in result["kinds"].values())
    json.dumps(result)


def test_nothing_forbidden_is_pushed_and_named_things_and_newest_versions_come_first(
    run: tuple[dict[str, Any], dict[str, list[str]]],
) -> None:
    result, pushed = run

    assert [kind for kind, figures in result["kinds"].items() if figures["must_not"] and kind != "near-name"] == []
    assert pushed["q-03"][:1] == ["a-magpie"]
    assert pushed["q-02"][:1] == ["a-fees-2026"]


def test_a_correction_is_found_twenty_seconds_later(run: tuple[dict[str, Any], dict[str, list[str]]]) -> None:
    assert "a-copperplate" in run[1]["q-05"]


def test_sessions_come_back_under_the_ids_of_the_world() -> None:
    world = read_world(TINY)
    asked = case(request="how did we arrange everybody in the church", at=datetime(2026, 6, 3, tzinfo=UTC))

    (answered,) = evaluate.ask(dataclasses.replace(world, cases=(asked,)), bar=0.0)

    assert "s-002" in answered.pushed


def test_without_a_bar_more_is_pushed(run: tuple[dict[str, Any], dict[str, list[str]]]) -> None:
    with_bar = run[0]
    without = evaluate.run(TINY, bar=0.0)

    assert without["kinds"]["topic"]["pushed_mean"] > with_bar["kinds"]["topic"]["pushed_mean"] - 0.01
    assert without["tokens_mean"] > with_bar["tokens_mean"]


def test_each_case_is_asked_at_its_moment_by_its_reader_and_the_product_never_sees_the_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[tuple[PushRequest, int | None, float | None]] = []
    real = Service.push

    def push(self: Service, request: PushRequest, *, now: int, bar: float, names: bool, links: bool) -> PushResponse:
        assert names
        assert links
        seen.append((request, now, bar))
        return real(self, request, now=now, bar=bar)

    monkeypatch.setattr(Service, "push", push)
    evaluate.run(TINY, bar=0.25)

    cases = read_world(TINY).cases
    assert [now for _, now, _ in seen] == [millis(case.at) for case in cases]
    assert [request.reader for request, _, _ in seen] == [case.reader for case in cases]
    assert {bar for _, _, bar in seen} == {0.25}
    for request, one in zip((request for request, _, _ in seen), cases, strict=True):
        assert request == PushRequest(
            request=one.request, reader=one.reader, recent=(one.context,) if one.context else ()
        )


def test_what_happens_after_a_case_is_unknown_to_it(tmp_path: Path) -> None:
    world = Path(shutil.copytree(TINY, tmp_path / "world"))
    early = {"id": "q", "at": "2026-01-12T09:00:00+00:00", "request": "is Magpie recording", "kind": "named"}
    (world / "cases.jsonl").write_text(json.dumps(early) + "\n")

    evaluate.run(world, bar=0.0, cases_out=tmp_path / "out.jsonl")

    assert "a-magpie" not in json.loads((tmp_path / "out.jsonl").read_text())["pushed"]


def test_rows_become_events_in_the_order_in_which_they_happened() -> None:
    drafts = timeline(read_world(TINY))
    events = [made.event for made in drafts]

    assert [made.occurred_at for made in drafts] == sorted(made.occurred_at for made in drafts)
    assert events[0] == ReaderGranted(
        reader="sub:treasurer", scopes=("money",), reason="fees and payments, nothing else"
    )
    stored = next(event for event in events if isinstance(event, AssetRecorded))
    assert stored.item == "a-copperplate"
    assert stored.request == "I want to be able to search the founder's letters"
    assert next(made.audience for made in drafts if made.event.subjects() == ("a-ledger",)) == ("owner", "money")
    turns = [event for event in events if isinstance(event, TurnRecorded) and event.session == "s-001"]
    assert [(turn.turn, turn.role, turn.project) for turn in turns] == [
        (1, "owner", "spring concert"),
        (2, "agent", "spring concert"),
    ]
    closed = next(event for event in events if isinstance(event, SessionClosed))
    assert (closed.used, closed.helped) == (("a-magpie", "n-001"), ("a-magpie",))
    assert [event.item for event in events if isinstance(event, OwnershipCorrected)] == [
        "a-copperplate",
        "session:s-002",
    ]


def test_the_line_before_a_request_is_its_recent_chat() -> None:
    assert request_of(case(context="before")).recent == ("before",)
    assert request_of(case()).recent == ()


def test_hits_are_counted_where_something_is_expected_and_false_pushes_where_nothing_is() -> None:
    asked = case(expect=("a", "b"), must_not=("z",))
    silent = case(expect=(), must_not=("z",))

    figures = judge(
        [
            answer(asked, "b"),
            answer(asked, "x", "a"),
            answer(asked),
            answer(asked, "x", "z"),
            answer(silent, "x", "z"),
            answer(silent),
        ]
    )["kinds"]["topic"]

    assert figures == {
        "cases": 6,
        "expecting": 4,
        "hit1": 1,
        "hit5": 2,
        "must_not": 2,
        "pushed_mean": round(7 / 6, 4),
        "false_push_rate": 0.5,
    }


def test_a_kind_in_which_every_case_expects_something_has_no_false_push_rate() -> None:
    assert judge([answer(case(expect=("a",)), "a")])["kinds"]["topic"]["false_push_rate"] is None


def test_use_cases_are_also_counted_by_whether_they_could_be_learnt() -> None:
    learnable, cold, untold = (
        case(kind="use", expect=("a",), why=why) for why in ("learnable(c-1): x", "cold(world)", "")
    )

    kinds = judge([answer(learnable, "a"), answer(cold), answer(untold, "a")])["kinds"]

    assert [(kind, figures["cases"], figures["hit1"]) for kind, figures in kinds.items()] == [
        ("use", 3, 2),
        ("use/learnable", 1, 1),
        ("use/cold", 1, 0),
    ]


def test_a_bad_world_is_refused_before_anything_is_run_or_written(tmp_path: Path) -> None:
    world = Path(shutil.copytree(TINY, tmp_path / "world"))
    (world / "policy.jsonl").unlink()
    asked: list[int] = []

    with pytest.raises(BadWorld):
        evaluate.run(world, cases_out=tmp_path / "out.jsonl", on_case=lambda done, _total: asked.append(done))

    assert asked == []
    assert not (tmp_path / "out.jsonl").exists()


def test_the_command_names_each_problem_on_a_line_of_its_own_and_exits_with_2(tmp_path: Path) -> None:
    world = Path(shutil.copytree(TINY, tmp_path / "world"))
    (world / "policy.jsonl").unlink()
    (world / "notes.jsonl").write_text("no json\n")

    told = CliRunner().invoke(main, ["eval", "--world", str(world)])
    as_json = CliRunner().invoke(main, ["eval", "--world", str(world), "--json"])

    assert (told.exit_code, as_json.exit_code) == (2, 2)
    assert [line.split(": ")[0] for line in told.stderr.splitlines()] == ["notes.jsonl:1", "policy.jsonl:0"]
    assert told.stdout == ""
    assert json.loads(as_json.stdout)["error"] == "bad_world"


def test_the_command_prints_one_json_object_and_writes_one_line_per_case(tmp_path: Path) -> None:
    out = tmp_path / "cases.jsonl"

    told = CliRunner().invoke(main, ["eval", "--world", str(TINY), "--no-bar", "--json", "--cases", str(out)])

    assert told.exit_code == 0
    assert json.loads(told.stdout)["cases"] == len(out.read_text().splitlines()) == 12


def test_a_place_where_nothing_can_be_written_is_told_before_the_run(tmp_path: Path) -> None:
    asked: list[int] = []

    with pytest.raises(RecallError, match=r"nowhere.*cannot be written"):
        evaluate.run(TINY, cases_out=tmp_path / "nowhere" / "o.jsonl", on_case=lambda done, _total: asked.append(done))

    assert asked == []


def test_progress_is_told_after_every_case() -> None:
    told: list[tuple[int, int]] = []

    evaluate.run(TINY, on_case=lambda done, total: told.append((done, total)))

    assert told == [(number, 12) for number in range(1, 13)]


def test_percentiles_are_values_that_were_measured() -> None:
    assert percentiles([float(n) for n in range(1, 101)]) == {"p50": 50.0, "p95": 95.0, "p99": 99.0}
    assert percentiles([3.0]) == {"p50": 3.0, "p95": 3.0, "p99": 3.0}
    assert percentiles([], (50, 99)) == {"p50": 0.0, "p99": 0.0}
