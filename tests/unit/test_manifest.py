"""A manifest is believed only when its form, its names and every checksum are right."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from instant_recall.events.errors import CorruptSnapshot, IncompatibleSnapshot
from instant_recall.events.position import Position
from instant_recall.projections import manifest as manifests


@pytest.fixture
def generation(tmp_path: Path) -> Path:
    """A small, complete generation directory."""
    directory = tmp_path / "gen-000007"
    (directory / "text").mkdir(parents=True)
    (directory / "items.bin").write_bytes(b"items" * 1000)
    (directory / "text" / "words.npy").write_bytes(b"words")
    made = manifests.describe(
        directory,
        generation=7,
        position=Position(1767225600000, 3),
        encoder="static-1",
        counts={"items": 5},
        created_at=1767225601000,
    )
    (directory / manifests.MANIFEST).write_bytes(manifests.to_json(made))
    return directory


def _change(directory: Path, **fields: Any) -> None:
    path = directory / manifests.MANIFEST
    path.write_text(json.dumps(json.loads(path.read_text()) | fields))


def _change_file(directory: Path, **fields: Any) -> None:
    files = json.loads((directory / manifests.MANIFEST).read_text())["files"]
    _change(directory, files=[files[0] | fields, *files[1:]])


def test_a_manifest_reads_back_as_it_was_written(generation: Path) -> None:
    found = manifests.read(generation)
    manifests.verify(generation, found)
    assert found.position == Position(1767225600000, 3)
    assert isinstance(found.position, Position)
    assert [file.name for file in found.files] == ["items.bin", "text/words.npy"]
    assert found.total_bytes == 5005
    assert (found.generation, found.encoder, found.counts, found.created_at) == (
        7,
        "static-1",
        {"items": 5},
        1767225601000,
    )
    assert found.usearch


@pytest.mark.parametrize(
    "name",
    [
        "../outside",
        "text/../../outside",
        "/etc/passwd",
        "",
        ".",
        "..",
        "text//words.npy",
        "text/",
        "./items.bin",
        "a\\..\\b",
        "items.bin\0.txt",
        "manifest.json",
    ],
)
def test_a_name_that_leads_out_of_the_directory_is_refused(generation: Path, name: str) -> None:
    _change_file(generation, name=name)
    with pytest.raises(CorruptSnapshot, match="not a file inside it"):
        manifests.read(generation)


def test_a_name_that_stands_twice_is_refused(generation: Path) -> None:
    _change_file(generation, name="text/words.npy")
    with pytest.raises(CorruptSnapshot, match="twice"):
        manifests.read(generation)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{",
        b"\xff\xfe\x00",
        b"[]",
        b"null",
        b'{"format": "1"}',
        b'{"format": %d}' % manifests.FORMAT,
        b'{"format": %d, "generation": 7}' % manifests.FORMAT,
        b"[" * 100_000,
        b" " * (manifests.MAX_BYTES + 1),
    ],
)
def test_a_garbled_manifest_is_corrupt(generation: Path, raw: bytes) -> None:
    (generation / manifests.MANIFEST).write_bytes(raw)
    with pytest.raises(CorruptSnapshot, match="gen-000007 is damaged"):
        manifests.read(generation)


@pytest.mark.parametrize(
    "fields",
    [
        {"generation": 0},
        {"position": [-1, 0]},
        {"position": "1-0"},
        {"position": [1]},
        {"counts": {"items": "many"}},
        {"files": {"items.bin": 5}},
        {"created_at": None},
    ],
)
def test_a_field_of_another_kind_is_corrupt(generation: Path, fields: dict[str, Any]) -> None:
    _change(generation, **fields)
    with pytest.raises(CorruptSnapshot):
        manifests.read(generation)


@pytest.mark.parametrize("fields", [{"size": -1}, {"sha256": "0" * 63}, {"sha256": "../../etc/passwd"}, {"size": 1.5}])
def test_a_file_entry_of_another_kind_is_corrupt(generation: Path, fields: dict[str, Any]) -> None:
    _change_file(generation, **fields)
    with pytest.raises(CorruptSnapshot):
        manifests.read(generation)


def test_a_manifest_that_is_not_there_is_corrupt(generation: Path) -> None:
    (generation / manifests.MANIFEST).unlink()
    with pytest.raises(CorruptSnapshot, match="No such file"):
        manifests.read(generation)


def test_another_format_is_incompatible_even_when_its_fields_differ(generation: Path) -> None:
    (generation / manifests.MANIFEST).write_text('{"format": 99, "segments": []}')
    with pytest.raises(IncompatibleSnapshot, match="format 99"):
        manifests.read(generation)


def test_a_field_of_a_later_version_is_passed_over(generation: Path) -> None:
    _change(generation, canaries=[1, 2, 3])
    assert manifests.read(generation).generation == 7


def _flip_a_byte(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[17] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (_flip_a_byte, "checksum"),
        (lambda path: path.write_bytes(path.read_bytes()[:-1]), "bytes"),
        (lambda path: path.write_bytes(path.read_bytes() + b"x"), "bytes"),
        (lambda path: path.write_bytes(b""), "bytes"),
        (Path.unlink, "No such file"),
    ],
)
def test_a_damaged_file_is_found_and_named(generation: Path, damage: Any, said: str) -> None:
    damage(generation / "items.bin")
    with pytest.raises(CorruptSnapshot, match=rf"items\.bin .*{said}"):
        manifests.verify(generation, manifests.read(generation))


def _as_link(path: Path) -> None:
    elsewhere = path.rename(path.parent.parent / "elsewhere")
    path.symlink_to(elsewhere)


def _as_link_loop(path: Path) -> None:
    path.unlink()
    path.symlink_to(path)


def _as_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _as_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize("name", ["items.bin", manifests.MANIFEST])
@pytest.mark.parametrize("replace", [_as_link, _as_link_loop, _as_folder, _as_pipe])
def test_a_link_a_folder_or_a_pipe_in_the_place_of_a_file_is_corrupt(generation: Path, replace: Any, name: str) -> None:
    replace(generation / name)
    with pytest.raises(CorruptSnapshot):
        manifests.verify(generation, manifests.read(generation))


def test_a_folder_that_is_a_link_is_corrupt(generation: Path) -> None:
    _as_link(generation / "text")
    with pytest.raises(CorruptSnapshot, match=r"text/words\.npy is reached through a link"):
        manifests.verify(generation, manifests.read(generation))


def test_a_generation_below_a_linked_data_folder_is_good(generation: Path) -> None:
    linked = generation.parent.parent / "linked"
    linked.symlink_to(generation.parent)
    manifests.verify(linked / generation.name, manifests.read(linked / generation.name))


def test_a_directory_with_a_link_in_it_cannot_be_described(generation: Path) -> None:
    (generation / "extra").symlink_to("/etc/passwd")
    with pytest.raises(CorruptSnapshot, match="extra is neither a folder nor a plain file"):
        manifests.describe(generation, generation=1, position=Position(1, 0), encoder="", counts={}, created_at=1)
