"""Evidence to probability."""

from __future__ import annotations

import msgspec
from instant_recall.projections.bar import PLAIN
from instant_recall.projections.evidence import Evidence
from instant_recall.projections.items import Item
from instant_recall.projections.ranker import FEATURES, Ranked, model, over, rank


def evidence(item: str, **values: float) -> Evidence:
    return Evidence(Item(id=item, kind="note"), **values)  # type: ignore[arg-type]


def test_the_model_in_the_package_can_be_read_and_knows_its_features() -> None:
    weights = model()

    assert set(weights.features) <= set(FEATURES)
    assert len(weights.features) == len(weights.weights)
    assert 0 < weights.bar < 1
    assert weights.cases > 0


def test_more_evidence_is_more_probable() -> None:
    strong = evidence("a", use_meaning=0.8, use_words=0.7, topic_meaning=0.5, topic_words=0.4)

    assert model().probability(evidence("b")) < model().bar < model().probability(strong) < 1


def test_named_items_come_first_in_the_order_of_naming_then_by_probability_then_by_id() -> None:
    found = [
        evidence("z", use_meaning=0.9, use_words=0.9),
        evidence("y", named=1),
        evidence("x", named=0),
        evidence("b", topic_words=0.1),
        evidence("a", topic_words=0.1),
    ]

    assert [r.evidence.item.id for r in rank(found)] == ["x", "y", "z", "a", "b"]


def test_what_is_said_and_not_meant_never_rides_along_with_something_better() -> None:
    def found(item: str, probability: float, *, doubted: bool = False) -> Ranked:
        return Ranked(Evidence(Item(id=f"tool:{item}", kind="tool", name=item), doubted=doubted), probability)

    ranking = [found("lift", 0.4), found("crane", 0.3, doubted=True), found("hoist", 0.2)]

    plain = msgspec.structs.replace(model(), push=PLAIN)
    assert [one.evidence.item.id for one in over(ranking, 0.45, "lift it", plain)] == ["tool:lift", "tool:hoist"]
    assert [one.evidence.item.id for one in over(ranking, 0.25, "lift it", plain)] == [
        "tool:lift",
        "tool:crane",
        "tool:hoist",
    ]
