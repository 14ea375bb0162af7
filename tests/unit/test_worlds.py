import shutil
from pathlib import Path

import msgspec
import pytest
from instant_recall.ops.evaluation.worlds import BadWorld, read_world

TINY = Path(__file__).parent / "tiny_world"


@pytest.fixture
def world(tmp_path: Path) -> Path:
    """A copy of the tiny world, to be spoilt."""
    return Path(shutil.copytree(TINY, tmp_path / "world"))


def problems(world: Path) -> tuple[str, ...]:
    with pytest.raises(BadWorld) as caught:
        read_world(world)
    assert all("\n" not in line for line in caught.value.problems)
    assert str(caught.value) == "\n".join(caught.value.problems)
    return caught.value.problems


def change(world: Path, file: str, row: int, **fields: object) -> None:
    """Give the row (counted from 0) of a file other values."""
    lines = (world / file).read_bytes().splitlines()
    lines[row] = msgspec.json.encode(msgspec.json.decode(lines[row]) | fields)
    (world / file).write_bytes(b"\n".join(lines) + b"\n")


def test_a_good_world_is_read_whole() -> None:
    world = read_world(TINY)

    assert [len(rows) for rows in (world.assets, world.notes, world.sessions)] == [7, 2, 2]
    assert [len(rows) for rows in (world.corrections, world.policy, world.cases)] == [2, 2, 12]
    assert world.assets[0].stored_during == "I want to be able to search the founder's letters"


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    (problem,) = problems(tmp_path / "nowhere")

    assert "nowhere" in problem


def test_every_missing_file_is_named(world: Path) -> None:
    (world / "policy.jsonl").unlink()
    (world / "corrections.jsonl").unlink()

    assert [line.split(":")[0] for line in problems(world)] == ["corrections.jsonl", "policy.jsonl"]


def test_an_empty_file_stands_for_none(world: Path) -> None:
    (world / "corrections.jsonl").write_bytes(b"")

    assert read_world(world).corrections == ()


def test_broken_json_is_told_with_file_and_line(world: Path) -> None:
    with (world / "notes.jsonl").open("a") as notes:
        notes.write('\n{"id": "n-9", "path":\n')

    (problem,) = problems(world)

    assert problem.startswith("notes.jsonl:4: ")
    assert "JSON" in problem


def test_a_row_that_is_no_object_is_told_with_file_and_line(world: Path) -> None:
    with (world / "notes.jsonl").open("a") as notes:
        notes.write("[1, 2]\n")

    (problem,) = problems(world)

    assert problem.startswith("notes.jsonl:3: ")


def test_a_file_in_another_encoding_is_told_with_file_and_line(world: Path) -> None:
    with (world / "notes.jsonl").open("ab") as notes:
        notes.write('{"id": "n-9", "path": "Küche"}\n'.encode("latin-1"))
    (world / "cases.jsonl").write_text((world / "cases.jsonl").read_text(), encoding="utf-16")

    found = problems(world)

    assert [line.split(": ")[0] for line in found] == ["notes.jsonl:3", "cases.jsonl:1"]
    assert all("UTF-8" in line for line in found)


def test_a_byte_order_mark_windows_line_ends_and_line_separators_inside_a_text_do_no_harm(world: Path) -> None:
    change(world, "notes.jsonl", 0, text="one\u2028two")
    raw = (world / "notes.jsonl").read_bytes().replace(b"\n", b"\r\n")
    (world / "notes.jsonl").write_bytes(b"\xef\xbb\xbf" + raw)

    assert next(note.text for note in read_world(world).notes) == "one\u2028two"


@pytest.mark.parametrize(
    ("file", "fields"),
    [
        ("assets.jsonl", {"supersedes": "a-none"}),
        ("sessions.jsonl", {"used": ["a-none"]}),
        ("sessions.jsonl", {"helped": ["a-none"]}),
        ("corrections.jsonl", {"item": "a-none"}),
        ("corrections.jsonl", {"session": "a-none"}),
        ("policy.jsonl", {"action": "mute", "item": "a-none"}),
        ("cases.jsonl", {"expect": ["a-none"]}),
        ("cases.jsonl", {"must_not": ["a-none"]}),
    ],
)
def test_an_unknown_id_is_told_with_file_and_line(world: Path, file: str, fields: dict[str, object]) -> None:
    change(world, file, 0, **fields)

    (problem,) = problems(world)

    assert problem.startswith(f"{file}:1: ")
    assert "'a-none'" in problem


@pytest.mark.parametrize(
    ("file", "fields"),
    [
        ("assets.jsonl", {"kind": "spaceship"}),
        ("cases.jsonl", {"kind": "spaceship"}),
        ("policy.jsonl", {"action": "spaceship"}),
    ],
)
def test_an_unknown_kind_is_told_with_file_and_line(world: Path, file: str, fields: dict[str, object]) -> None:
    change(world, file, 1, **fields)

    (problem,) = problems(world)

    assert problem.startswith(f"{file}:2: ")
    assert "spaceship" in problem


def test_an_id_that_stands_twice_is_told_with_both_places(world: Path) -> None:
    change(world, "notes.jsonl", 1, id="a-ledger")
    change(world, "cases.jsonl", 9, expect=[])
    change(world, "cases.jsonl", 10, must_not=[])

    (problem,) = problems(world)

    assert problem.startswith("notes.jsonl:2: ")
    assert "assets.jsonl:2" in problem


def test_a_case_before_the_item_that_it_expects_is_told(world: Path) -> None:
    change(world, "cases.jsonl", 1, at="2026-02-01T09:00:00+00:00")

    (problem,) = problems(world)

    assert problem.startswith("cases.jsonl:2: ")
    assert "'a-fees-2026'" in problem


def test_a_time_without_a_zone_is_told(world: Path) -> None:
    change(world, "cases.jsonl", 0, at="2026-02-01T09:00:00")

    (problem,) = problems(world)

    assert problem.startswith("cases.jsonl:1: ")
    assert "time zone" in problem


@pytest.mark.parametrize("reader", ["treasurer", "sub:", ""])
def test_a_reader_that_is_neither_the_owner_nor_a_sub_agent_is_told(world: Path, reader: str) -> None:
    change(world, "cases.jsonl", 10, reader=reader)

    (problem,) = problems(world)

    assert problem.startswith("cases.jsonl:11: ")


def test_a_policy_line_that_says_of_whom_or_what_is_asked_for(world: Path) -> None:
    change(world, "policy.jsonl", 0, reader=None)
    change(world, "policy.jsonl", 1, item=None)

    assert [line.split(": ")[0] for line in problems(world)] == ["policy.jsonl:1", "policy.jsonl:2"]


def test_all_problems_are_told_at_once(world: Path) -> None:
    (world / "policy.jsonl").unlink()
    change(world, "assets.jsonl", 3, kind="spaceship")
    change(world, "cases.jsonl", 0, reader="nobody")

    found = [line.split(": ")[0] for line in problems(world)]

    assert found == ["assets.jsonl:4", "policy.jsonl:0", "cases.jsonl:1"]
