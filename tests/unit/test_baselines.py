import json
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from instant_recall.events.errors import RecallError
from instant_recall.ops.cli import main
from instant_recall.ops.evaluation.baselines import BASELINES, Document, Fused, K, Meaning, Words, run_baselines
from instant_recall.ops.evaluation.evaluate import Answer, ask
from instant_recall.ops.evaluation.peers import PEERS
from instant_recall.ops.evaluation.worlds import Asset, Case, Correction, Policy, World, read_world
from instant_recall.projections.items import Item
from instant_recall.projections.meaning.encoders import Encoders, load_encoders

TINY = Path(__file__).parent / "tiny_world"


def at(day: int) -> datetime:
    return datetime(2026, 5, day, tzinfo=UTC)


def document(name: str, text: str) -> Document:
    return Document(name, text, Item(id=name, kind="skill"), "", f"[skill] {name}")


def asset(name: str, description: str, **more: Any) -> Asset:
    return Asset(id=name, kind="skill", name=name, description=description, stored_at=at(1), **more)


def case(name: str, day: int, request: str, reader: str = "owner") -> Case:
    return Case(id=name, at=at(day), request=request, kind="topic", reader=reader)


def world(*cases: Case, **rows: Any) -> World:
    nothing: dict[str, Any] = dict.fromkeys(("assets", "notes", "sessions", "corrections", "policy"), ())
    return World(**{**nothing, **rows}, cases=cases)


def pushed(answers: list[Answer]) -> dict[str, tuple[str, ...]]:
    return {answer.case.id: answer.pushed for answer in answers}


@pytest.fixture(scope="module")
def encoder() -> Encoders:
    return load_encoders()


def test_words_find_what_shares_words_and_meaning_what_means_the_same(encoder: Encoders) -> None:
    documents = [document("boat", "A small boat for the lake"), document("stove", "The stove in the kitchen")]
    words, meaning = Words(), Meaning(encoder.bulk)
    for make in (words, meaning):
        make.know(documents)

    assert [found for found, _ in words.best("which boats are on the lakes?", 5)] == ["boat"]
    assert words.best("cooking dinner", 5) == []
    assert meaning.best("cooking dinner", 5)[0][0] == "stove"


def test_ranks_are_fused_by_the_formula() -> None:
    class Fixed:
        def __init__(self, *ids: str) -> None:
            self._ids = ids

        def know(self, documents: object) -> None:
            pass

        def best(self, request: str, count: int) -> list[tuple[str, float]]:
            return [(found, 1.0) for found in self._ids]

    best = Fused(Fixed("a", "b", "c"), Fixed("c", "b")).best("", 2)

    assert [found for found, _ in best] == ["c", "b"]
    assert [score for _, score in best] == pytest.approx([1 / (K + 3) + 1 / (K + 1), 2 / (K + 2)])


def test_makes_that_know_nothing_or_are_asked_nothing_find_nothing(encoder: Encoders) -> None:
    for make in (Words(), Meaning(encoder.bulk), Fused(Words(), Meaning(encoder.bulk))):
        make.know([])
        assert make.best("anything at all", 5) == []
        make.know([document("silent", "the of and"), document("empty", "")])
        assert make.best("", 5) == []
        make.know([document("boat", "a boat")])
        assert [found for found, _ in make.best("boat", 5)] == ["boat"]


def test_baselines_see_only_what_the_reader_may_be_told_of_at_that_moment(encoder: Encoders) -> None:
    assets = (
        asset("boat", "A small boat for the lake", audience=("owner", "crew")),
        asset("barge", "A boat as wide as the lake"),
        asset("raft", "A boat of logs for the lake"),
    )
    policy = (
        Policy(id="p1", at=at(2), action="grant", reader="mate", scope=("crew",)),
        Policy(id="p2", at=at(5), action="mute", item="raft"),
        Policy(id="p3", at=at(7), action="unmute", item="raft"),
    )
    asked = world(
        case("crew", 3, "a boat for the lake", "sub:mate"),
        case("stranger", 3, "a boat for the lake", "sub:stowaway"),
        case("before", 4, "a boat for the lake"),
        case("muted", 6, "a boat for the lake"),
        case("after", 8, "a boat for the lake"),
        assets=assets,
        policy=policy,
    )
    everything = {"boat", "barge", "raft"}

    for answers in run_baselines(asked, encoder).values():
        found = {name: set(ids) for name, ids in pushed(answers).items()}
        assert found == {
            "crew": {"boat"},
            "stranger": set(),
            "before": everything,
            "muted": everything - {"raft"},
            "after": everything,
        }


def test_baselines_know_a_correction_from_its_moment_on(encoder: Encoders) -> None:
    asked = world(
        case("before", 2, "get the quarterly figures"),
        case("after", 4, "get the quarterly figures"),
        assets=(asset("helper", "Relays commands to a browser"),),
        corrections=(Correction(id="c", at=at(3), request="get the quarterly figures", item="helper"),),
    )

    found = pushed(run_baselines(asked, encoder, {"bm25s": BASELINES["bm25s"]})["bm25s"])

    assert found == {"before": (), "after": ("helper",)}


def test_baselines_answer_the_same_cases_as_the_product_and_show_nothing_forbidden(encoder: Encoders) -> None:
    tiny = read_world(TINY)
    product = [answer.case.id for answer in ask(tiny, encoders=encoder)]

    asked = []
    for answers in run_baselines(tiny, encoder, on_case=lambda: asked.append(1)).values():
        assert [answer.case.id for answer in answers] == product
        assert all(len(answer.pushed) == len(answer.scores) == len(answer.tokens_to) <= 5 for answer in answers)
        hidden = [answer for answer in answers if answer.case.kind in ("no-access", "muted/expired", "latest")]
        assert hidden and not any(set(answer.pushed) & set(answer.case.must_not) for answer in hidden)
        assert answers == sorted(answers, key=lambda answer: answer.case.at)
    assert len(asked) == len(product)


def test_eval_adds_the_baselines_to_what_it_says_of_a_world() -> None:
    run = CliRunner()
    said = run.invoke(main, ["eval", "--world", str(TINY), "--baselines", "--json"])
    assert said.exit_code == 0, said.output
    facts = json.loads(said.output)
    assert set(facts) == {"cases", "kinds", "pointers_mean", "tokens_mean", "latency_ms", "baselines"}
    assert list(facts["baselines"]) == list(BASELINES)
    assert all(found["cases"] == facts["cases"] for found in facts["baselines"].values())

    said = run.invoke(main, ["eval", "--world", str(TINY), "--baselines"])
    assert "bm25s hit1/hit5" in said.output


@pytest.mark.parametrize(("peer", "module"), list(zip(PEERS, ("geny_memory_adaptor", "agentrecall"), strict=True)))
def test_a_peer_answers_the_same_cases_or_says_how_to_install_it(peer: str, module: str, encoder: Encoders) -> None:
    asked = world(
        case("seen", 2, "a boat for the lake"),
        case("muted", 4, "a boat for the lake"),
        case("again", 6, "a boat for the lake"),
        assets=(asset("boat", "A small boat for the lake"), asset("barge", "A wide boat for the lake")),
        policy=(
            Policy(id="p1", at=at(3), action="mute", item="boat"),
            Policy(id="p2", at=at(5), action="unmute", item="boat"),
        ),
    )
    if find_spec(module) is None:
        with pytest.raises(RecallError, match=r"not installed. Run: pip install 'instant-recall\[eval-peers\]'"):
            run_baselines(asked, encoder, {peer: PEERS[peer]})
        pytest.skip(f"{module} is the extra `eval-peers`; that it is missing was told")

    found = {name: set(ids) for name, ids in pushed(run_baselines(asked, encoder, {peer: PEERS[peer]})[peer]).items()}

    assert found == {"seen": {"boat", "barge"}, "muted": {"barge"}, "again": {"boat", "barge"}}


def test_a_peer_that_is_not_installed_is_told_before_anything_is_asked() -> None:
    if find_spec("geny_memory_adaptor") and find_spec("agentrecall"):
        pytest.skip("both peers are installed")
    said = CliRunner().invoke(main, ["eval", "--world", str(TINY), "--peers", "--json"])

    assert said.exit_code == 1
    assert "instant-recall[eval-peers]" in json.loads(said.stdout)["message"]
    assert CliRunner().invoke(main, ["eval", "--own", "--peers"]).exit_code == 2
