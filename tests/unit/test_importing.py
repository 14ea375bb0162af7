import os
import socket
from pathlib import Path
from typing import Any

import msgspec
import pytest
from instant_recall.events.types import ItemClosed, NoteRecorded
from instant_recall.projections.items import Item
from instant_recall.workers import importing
from instant_recall.workers.importing import FORGOTTEN, GONE, Known, known_items
from instant_recall.workers.importing import plan as _plan
from instant_recall.workers.notes import scan_notes as _scan_notes
from instant_recall.workers.skills import scan_skills as _scan_skills

# Any: what a draft holds is looked into freely here.
scan_notes: Any = _scan_notes
scan_skills: Any = _scan_skills
plan: Any = _plan


@pytest.fixture
def notes(tmp_path):
    root = tmp_path / "notes"
    root.mkdir()
    write(root, "good.md", "# Good\n\ntext\n")
    return root


def write(root, name, content):
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def items(root, scan=scan_notes):
    return [draft.event.item for draft in scan(root).drafts]


def reasons(root, scan=scan_notes):
    return {skipped.path: skipped.reason for skipped in scan(root).skipped}


def known_after(scanned, known=None):
    """What a log would know once everything of the plan is in it."""
    result = dict(known or {})
    done = plan(scanned, result)
    for draft in (*done.new, *done.changed):
        result[draft.event.item] = Known(draft.event.digest, draft.source.uri, closed=False, reason="")
    for draft in done.closed:
        result[draft.event.item] = msgspec.structs.replace(
            result[draft.event.item], closed=True, reason=draft.event.reason
        )
    return result


def counts(done):
    return len(done.new), len(done.changed), len(done.unchanged), len(done.closed)


# --- files that cannot be imported ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "empty"),
        (b" \r\n\t\n", "empty"),
        (b"\xef\xbb\xbf", "empty"),
        (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "binary"),
        (b"text\x00more", "binary"),
        (b"caf\xe9 au lait", "not UTF-8 text"),
    ],
)
def test_empty_and_binary_files_are_skipped_with_a_reason_and_the_rest_imported(notes, content, reason):
    write(notes, "bad.md", content)
    assert items(notes) == ["note:good.md"]
    assert reasons(notes) == {"notes/bad.md": reason}


def test_a_file_of_200_mb_is_skipped_without_being_read(notes, monkeypatch):
    with (notes / "huge.md").open("wb") as file:
        file.truncate(200 * 1024 * 1024)
    read: list[int] = []
    monkeypatch.setattr(Path, "open", opened_with(read))
    assert items(notes) == ["note:good.md"]
    assert read == [len("# Good\n\ntext\n")]
    assert reasons(notes) == {"notes/huge.md": "larger than 2 MiB"}


def opened_with(read):
    """`Path.open` that notes how many bytes each read gave."""
    real = Path.open

    def opened(self, *args, **kwargs):
        file = real(self, *args, **kwargs)
        taken = file.read

        class Counting:
            def __enter__(self):
                return self

            def __exit__(self, *_):
                file.close()

            def fileno(self):
                return file.fileno()

            def read(self, size):
                content = taken(size)
                read.append(len(content))
                return content

        return Counting()

    return opened


def test_an_unreadable_file_is_skipped_with_a_reason_and_stays_as_it_was_known(notes, monkeypatch):
    locked = write(notes, "locked.md", "secret\n")
    known = known_after(scan_notes(notes))
    real = Path.open

    def refuse(self, *args, **kwargs):
        if self == locked.resolve():
            raise PermissionError(13, "Permission denied")
        return real(self, *args, **kwargs)

    monkeypatch.setattr(Path, "open", refuse)
    scanned = scan_notes(notes)
    assert [(s.path, s.reason) for s in scanned.skipped] == [("notes/locked.md", "cannot be read (permission denied)")]
    assert counts(plan(scanned, known)) == (0, 0, 1, 0)


def test_an_unreadable_folder_is_skipped_with_a_reason_and_closes_nothing_inside(notes, monkeypatch):
    write(notes, "locked/deep/a.md", "text\n")
    known = known_after(scan_notes(notes))
    real = os.scandir

    def refuse(path):
        if Path(path).name == "locked":
            raise PermissionError(13, "Permission denied")
        return real(path)

    monkeypatch.setattr(os, "scandir", refuse)
    scanned = scan_notes(notes)
    assert [(s.path, s.reason) for s in scanned.skipped] == [("notes/locked", "cannot be read (permission denied)")]
    assert counts(plan(scanned, known)) == (0, 0, 1, 0)


def test_pipes_and_sockets_are_skipped_and_never_waited_for(notes, monkeypatch):
    os.mkfifo(notes / "pipe.md")
    monkeypatch.chdir(notes)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket.md")
        assert reasons(notes) == {"notes/pipe.md": "not a regular file", "notes/socket.md": "not a regular file"}
        assert items(notes) == ["note:good.md"]


def test_link_loops_end_and_are_named(notes):
    write(notes, "sub/a.md", "a\n")
    (notes / "sub" / "up").symlink_to(notes, target_is_directory=True)
    (notes / "self.md").symlink_to("self.md")
    assert items(notes) == ["note:good.md", "note:sub/a.md"]
    assert reasons(notes) == {"notes/self.md": "a link loop", "notes/sub/up": "a link loop"}


def test_links_out_of_the_folder_are_not_followed(notes, tmp_path):
    write(tmp_path, "private/diary.md", "dear diary\n")
    (notes / "all").symlink_to(tmp_path / "private", target_is_directory=True)
    (notes / "one.md").symlink_to(tmp_path / "private" / "diary.md")
    (notes / "picture.png").symlink_to(tmp_path / "private" / "diary.md")
    assert items(notes) == ["note:good.md"]
    assert reasons(notes) == {"notes/all": "points outside the folder", "notes/one.md": "points outside the folder"}


def test_what_links_inside_the_folder_lead_to_is_imported_once(notes):
    write(notes, "sub/a.md", "a\n")
    write(notes, ".store/b.md", "b\n")
    (notes / "again").symlink_to(notes / "sub", target_is_directory=True)
    (notes / "CLAUDE.md").symlink_to("good.md")
    (notes / "stored").symlink_to(".store", target_is_directory=True)
    (notes / "nowhere.md").symlink_to("gone.md")
    assert items(notes) == ["note:good.md", "note:stored/b.md", "note:sub/a.md"]
    assert reasons(notes) == {
        "notes/CLAUDE.md": "a link to something that is imported already",
        "notes/again": "a link to something that is imported already",
        "notes/nowhere.md": "a link that leads nowhere",
    }


def test_a_name_that_is_not_utf_8_is_skipped_with_a_reason(notes):
    try:
        (Path(os.fsdecode(os.fsencode(notes) + b"/caf\xe9.md"))).write_bytes(b"text")
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    assert items(notes) == ["note:good.md"]
    assert reasons(notes) == {"notes/caf\ufffd.md": "its name is not UTF-8"}


def test_hidden_folders_and_those_of_programs_are_passed_over(notes):
    for folder in (".git", ".venv", ".obsidian", "node_modules", "a/node_modules"):
        write(notes, f"{folder}/x.md", "x\n")
    assert items(notes) == ["note:good.md"]
    assert reasons(notes) == {}


def test_a_byte_order_mark_and_utf_16_are_understood(notes):
    write(notes, "a.md", "\ufeff# Ä\n\nbom\n".encode())
    write(notes, "b.md", "# Ö\r\n\r\nsixteen\r\n".encode("utf-16"))
    events = {draft.event.name: draft.event.text for draft in scan_notes(notes).drafts}
    assert events == {"Ä": "bom", "Ö": "sixteen", "Good": "text"}


def test_a_file_that_breaks_a_parser_does_not_break_the_import(notes):
    def parse(found, text):
        if found.relative == "bad.md":
            raise IndexError
        return [NoteRecorded(item=found.relative, text=text)]

    write(notes, "bad.md", "x\n")
    scanned: Any = importing.scan(notes, "notes", lambda name: name.endswith(".md"), parse)
    assert [draft.event.item for draft in scanned.drafts] == ["good.md"]
    assert [s.reason for s in scanned.skipped] == ["cannot be made sense of (IndexError)"]


def test_each_file_is_shown_before_it_is_read(notes):
    write(notes, "b.md", b"\0")
    shown = []
    scan_notes(notes, on_file=lambda path: shown.append(path.name))
    assert shown == ["b.md", "good.md"]


# --- what changed -----------------------------------------------------------------------------------------------------


def test_importing_again_publishes_nothing(notes):
    done = plan(scan_notes(notes), {})
    assert counts(done) == (1, 0, 0, 0)
    assert done.drafts == done.new
    assert counts(plan(scan_notes(notes), known_after(scan_notes(notes)))) == (0, 0, 1, 0)


def test_a_change_gives_one_event_and_what_vanished_is_closed_with_a_reason(notes):
    write(notes, "two.md", "# A\n\na\n\n# B\n\nb\n")
    known = known_after(scan_notes(notes))
    write(notes, "two.md", "# A\n\na, changed\n\n# C\n\nc\n")
    done = plan(scan_notes(notes), known)
    assert [d.event.item for d in done.changed] == ["note:two.md#a"]
    assert [d.event.item for d in done.new] == ["note:two.md#c"]
    assert [d.event for d in done.closed] == [ItemClosed(item="note:two.md#b", reason=GONE)]
    assert done.closed[0].actor.kind == "import"
    assert done.closed[0].source.uri.endswith("/notes/two.md")


def test_what_comes_back_is_recorded_again(notes):
    known = known_after(scan_notes(notes))
    path = notes / "good.md"
    text = path.read_text()
    path.unlink()
    known = known_after(scan_notes(notes), known)
    assert known["note:good.md"].closed
    assert counts(plan(scan_notes(notes), known)) == (0, 0, 0, 0)
    path.write_text(text)
    assert counts(plan(scan_notes(notes), known)) == (1, 0, 0, 0)


def test_an_emptied_file_closes_its_items(notes):
    known = known_after(scan_notes(notes))
    write(notes, "good.md", "")
    assert counts(plan(scan_notes(notes), known)) == (0, 0, 0, 1)


def test_a_file_that_became_unusable_leaves_its_items_as_they_were(notes):
    known = known_after(scan_notes(notes))
    write(notes, "good.md", b"\0\0")
    assert counts(plan(scan_notes(notes), known)) == (0, 0, 0, 0)


def test_what_the_owner_closed_stays_closed_until_the_file_says_something_else(notes):
    known = known_after(scan_notes(notes))
    item = "note:good.md"
    known[item] = msgspec.structs.replace(known[item], closed=True, reason="sold")
    assert counts(plan(scan_notes(notes), known)) == (0, 0, 1, 0)
    write(notes, "good.md", "# Good\n\nbought again\n")
    assert counts(plan(scan_notes(notes), known)) == (0, 1, 0, 0)


def test_what_the_owner_forgot_is_never_imported_again(notes):
    known = known_items([Item(id="note:good.md", kind="note", forgotten=True)])
    done = plan(scan_notes(notes), known)
    assert done.drafts == []
    assert [(s.path, s.reason) for s in done.skipped] == [("note:good.md", FORGOTTEN)]


def test_only_what_lies_under_the_same_root_is_closed(notes, tmp_path):
    write(tmp_path, "notes-two/b.md", "b\n")
    known = known_after(scan_notes(tmp_path / "notes-two"), known_after(scan_notes(notes)))
    known["note:typed"] = Known("", (notes / "typed.md").as_uri(), closed=False, reason="")
    (notes / "good.md").unlink()
    assert [d.event.item for d in plan(scan_notes(notes), known).closed] == ["note:good.md"]


def test_skills_and_notes_of_one_folder_leave_each_other_alone(notes):
    write(notes, "s/SKILL.md", "---\nname: s\n---\nB")
    known = known_after(scan_notes(notes), known_after(scan_skills(notes)))
    assert sorted(known) == ["note:good.md", "skill:s"]
    assert counts(plan(scan_skills(notes), known)) == counts(plan(scan_notes(notes), known)) == (0, 0, 1, 0)


def test_a_single_file_compares_with_itself_alone(notes):
    write(notes, "CLAUDE.md", "# Rules\n\n## Old\n\nr\n")
    known = known_after(scan_notes(notes))
    assert counts(plan(scan_notes(notes / "CLAUDE.md"), known)) == (0, 0, 1, 0)
    write(notes, "CLAUDE.md", "# Rules\n\n## More\n\nr\n")
    assert counts(plan(scan_notes(notes / "CLAUDE.md"), known)) == (1, 0, 0, 1)


def test_two_folders_with_files_of_one_name_keep_apart_and_stay_so(tmp_path):
    for folder in ("one", "two"):
        write(tmp_path, f"{folder}/README.md", f"# Intro\n\n{folder}\n")
    one, two = tmp_path / "one", tmp_path / "two"
    known = known_after(scan_notes(two), known_after(scan_notes(one)))
    assert len(known) == 2
    assert counts(plan(scan_notes(one), known)) == counts(plan(scan_notes(two), known)) == (0, 0, 1, 0)
    (one / "README.md").unlink()
    known = known_after(scan_notes(one), known)
    assert counts(plan(scan_notes(two), known)) == (0, 0, 1, 0)


def test_a_folder_that_was_moved_keeps_its_ids(notes, tmp_path):
    known = known_after(scan_notes(notes))
    moved = notes.rename(tmp_path / "elsewhere")
    done = plan(scan_notes(moved), known)
    assert [d.event.item for d in done.changed] == ["note:good.md"]
    assert counts(done) == (0, 1, 0, 0)


def test_a_skill_that_was_moved_inside_its_folder_is_one_change(tmp_path):
    write(tmp_path, "a/x/SKILL.md", "---\nname: x\n---\nB")
    known = known_after(scan_skills(tmp_path))
    (tmp_path / "a").rename(tmp_path / "b")
    assert counts(plan(scan_skills(tmp_path), known)) == (0, 1, 0, 0)


def test_a_scan_is_the_same_whatever_order_the_disk_gives(notes, monkeypatch):
    for name in ("b/x.md", "a/x.md", "c.md"):
        write(notes, name, f"{name}\n")
    straight = scan_notes(notes, now=1)
    real = os.scandir

    class Reversed:
        def __init__(self, path):
            with real(path) as entries:
                self.entries = list(entries)[::-1]

        def __enter__(self):
            return iter(self.entries)

        def __exit__(self, *_):
            return None

    monkeypatch.setattr(os, "scandir", Reversed)
    assert [d.event for d in scan_notes(notes, now=1).drafts] == [d.event for d in straight.drafts]


def test_known_items_tell_closed_replaced_and_forgotten_ones(notes):
    uri = (notes / "good.md").as_uri()
    known = known_items(
        [
            Item(id="a", kind="note", digest="d", source_uri=uri),
            Item(id="b", kind="note", valid_until=1, reason=GONE),
            Item(id="c", kind="note", superseded_by="a", reason="replaced"),
        ]
    )
    assert known["a"] == Known("d", uri, closed=False, reason="")
    assert (known["b"].closed, known["b"].reason) == (True, GONE)
    assert (known["c"].closed, known["c"].reason) == (True, "replaced")
