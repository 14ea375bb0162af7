from __future__ import annotations

import pytest
from instant_recall.events.errors import RecallError
from instant_recall.events.position import LARGEST, START, Position


def test_positions_are_ordered_as_numbers_and_not_as_text() -> None:
    assert Position.parse("9-0") < Position.parse("10-0") < Position.parse("10-2") < Position.parse("10-10")


@pytest.mark.parametrize("position", [START, Position(1_767_225_600_000, 7), Position(LARGEST, LARGEST)])
def test_a_position_reads_back_from_its_text(position: Position) -> None:
    assert Position.parse(str(position)) == position


@pytest.mark.parametrize(
    "text",
    [
        "",
        "-",
        "5",
        "5-",
        "-5",
        "a-b",
        "1-2-3",
        "1.5-0",
        " 1-0",
        "+1-0",
        "١-٠",
        "1-²",
        f"{LARGEST + 1}-0",
        "9" * 10_000 + "-0",
    ],
)
def test_anything_else_is_refused_with_the_right_form(text: str) -> None:
    with pytest.raises(RecallError, match="is not a position") as refused:
        Position.parse(text)

    assert len(str(refused.value)) < 250
