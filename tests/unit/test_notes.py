import time
from typing import Any

import pytest
from instant_recall.events.codec import encode
from instant_recall.projections.pointers import block
from instant_recall.workers.markdown import MOST_HEADINGS
from instant_recall.workers.notes import NO_TEXT, TOO_MANY_HEADINGS
from instant_recall.workers.notes import scan_notes as _scan_notes

# Any: what a draft holds is looked into freely here.
scan_notes: Any = _scan_notes

LAB = """# Lab machine

Stands in the cellar.

## Camera

Two lenses.
Use when: the picture is dark; a lens was changed

## Setup

    make camera
"""


def note(root, name, text):
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def events(root):
    return {draft.event.item: draft.event for draft in scan_notes(root).drafts}


@pytest.fixture
def notes(tmp_path):
    root = tmp_path / "notes"
    root.mkdir()
    return root


def test_every_section_with_text_is_a_note_with_an_exact_address(notes):
    note(notes, "lab.md", LAB)
    found = events(notes)
    assert {item: (event.name, event.address) for item, event in found.items()} == {
        "note:lab.md": ("Lab machine", "notes/lab.md#lab-machine:L3-L3"),
        "note:lab.md#camera": ("Lab machine > Camera", "notes/lab.md#camera:L7-L8"),
        "note:lab.md#setup": ("Lab machine > Setup", "notes/lab.md#setup:L12-L12"),
    }
    assert found["note:lab.md#setup"].text == "    make camera"


def test_a_use_when_line_gives_situations(notes):
    note(notes, "lab.md", LAB)
    note(notes, "b.md", "- **Use when:** it rains\n")
    found = events(notes)
    assert found["note:lab.md#camera"].use_when == ("the picture is dark", "a lens was changed")
    assert found["note:b.md"].use_when == ("it rains",)


def test_a_note_without_headings_is_named_by_its_front_matter_or_its_file(notes):
    note(notes, "a/door code.md", "Ask Kim.\n")
    note(notes, "b.md", "---\nname: stage script\ndescription: Owner wants the script\n---\nUse it.\n")
    found = events(notes)
    assert (found["note:a/door%20code.md"].name, found["note:a/door%20code.md"].address) == (
        "door code", "notes/a/door%20code.md:L1-L1",
    )  # fmt: skip
    assert (found["note:b.md"].name, found["note:b.md"].address) == ("stage script", "notes/b.md:L5-L5")
    assert found["note:b.md"].use_when == ("Owner wants the script",)


def test_front_matter_of_a_file_speaks_for_its_first_section_only(notes):
    note(notes, "a.md", "---\nuse_when: [x happens]\naliases: y\n---\n# A\n\na\n\n# B\n\nb\n")
    assert [event.use_when for event in events(notes).values()] == [("x happens", "y"), ()]


def test_front_matter_that_names_a_kind_makes_the_file_one_asset(notes):
    text = (
        "---\nkind: machine\nname: Stage 2\naliases: [the box]\npurpose: takes finished builds\nuse_when: ship it\n"
        "audience: [all]\n---\n\n# Stage 2\n\nStands *here*.\n\n## More\n\nmore\n"
    )
    note(notes, "stg.md", text)
    (event,) = events(notes).values()
    assert (event.item, event.kind, event.name, event.aliases) == (
        "machine:stage-2",
        "machine",
        "Stage 2",
        ("the box",),
    )
    assert (event.purpose, event.description, event.use_when) == ("takes finished builds", "Stands here.", ("ship it",))
    assert event.address == "notes/stg.md:L10-L16"
    assert event.text == "\n".join(text.split("\n")[9:16])


def test_a_kind_that_notes_may_not_have_leaves_the_file_a_note(notes):
    note(notes, "a.md", "---\nkind: skill\n---\nText\n")
    assert list(events(notes)) == ["note:a.md"]


def test_broken_front_matter_loses_no_text_of_a_note(notes):
    note(notes, "a.md", "---\n{{{ [\n---\n\nText\n")
    assert any("Text" in event.text for event in events(notes).values())


def test_a_memory_file_keeps_its_links_in_their_section(notes):
    path = note(notes, "MEMORY.md", "# Index\n\n- [Stage](stage.md) - one script\n- [Lab](lab.md) - the camera\n")
    (event,) = events(path).values()
    assert (event.item, event.address) == ("note:MEMORY.md", "notes/MEMORY.md#index:L3-L4")
    assert event.text == "- [Stage](stage.md) - one script\n- [Lab](lab.md) - the camera"


def test_plain_text_is_one_note_and_other_files_and_skills_are_none(notes):
    note(notes, "a.txt", "# 1\n\n# 2\n")
    note(notes, "b.png", "x")
    note(notes, "s/SKILL.md", "---\nname: s\n---\nB")
    found = scan_notes(notes)
    assert [draft.event.text for draft in found.drafts] == ["# 1\n\n# 2"]
    assert found.skipped == []


def test_a_long_section_is_cut_into_pieces_with_ids_of_their_own(notes):
    note(notes, "a.md", "# Log\n\n" + "\n\n".join(f"day {n} " + "word " * 100 for n in range(9)))
    assert list(events(notes)) == ["note:a.md", "note:a.md~2", "note:a.md~3"]


def test_ids_stay_when_lines_move_and_addresses_follow(notes):
    note(notes, "lab.md", LAB)
    before = events(notes)
    note(notes, "lab.md", LAB.replace("cellar.", "cellar.\nIt hums."))
    after = events(notes)
    assert list(before) == list(after)
    assert after["note:lab.md#camera"].address == "notes/lab.md#camera:L8-L9"


def test_windows_line_ends_keep_text_lines_and_digests(notes, tmp_path):
    note(notes, "lab.md", LAB)
    note(tmp_path / "win" / "notes", "lab.md", LAB.replace("\n", "\r\n"))
    assert events(notes) == events(tmp_path / "win" / "notes")


def test_names_with_emoji_right_to_left_text_and_marks_that_break_addresses_are_imported(notes):
    for name in ("🚀.md", "מצלמה.md", "a#b.md", "x\ny\u202e.md"):
        note(notes, name, "text\n")
    assert {event.address for event in events(notes).values()} == {
        "notes/🚀.md:L1-L1", "notes/מצלמה.md:L1-L1", "notes/a%23b.md:L1-L1", "notes/x%0Ay%E2%80%AE.md:L1-L1",
    }  # fmt: skip
    assert all("\u202e" not in event.name and "\n" not in event.name for event in events(notes).values())


def test_a_push_that_somebody_kept_in_a_note_is_no_memory(notes):
    pushed = block(["[skill] portal-helper: drives a browser. Open: skill:portal-helper"])
    note(notes, "a.md", f"# A\n\nmine\n\n{pushed}\n[link]: kept\n\n## B\n\n> {pushed.splitlines()[0]}\n")
    (event,) = events(notes).values()
    assert (event.text, event.address) == ("mine\n\n\n\n[link]: kept", "notes/a.md#a:L3-L7")


def test_ids_stay_within_what_the_log_takes_and_stay_apart(notes):
    deep = "/".join(["folder-" + "x" * 90] * 6)
    note(notes, f"{deep}/a.md", "# T\n\n## " + "ש" * 400 + "\n\na\n\n## " + "ש" * 400 + "\n\nb\n")
    drafts = scan_notes(notes).drafts
    assert len({draft.event.item for draft in drafts}) == 2
    for draft in drafts:
        encode(draft)


def test_a_file_of_headings_alone_is_skipped(notes):
    note(notes, "a.md", "# A\n\n## B\n")
    assert [(skipped.path, skipped.reason) for skipped in scan_notes(notes).skipped] == [("notes/a.md", NO_TEXT)]


@pytest.mark.parametrize("unit", ["#\n", "# a\n", "a\n=\n", "###### \t\n"])
def test_two_mebibytes_of_bare_headings_are_passed_over_at_once(notes, unit):
    note(notes, "a.md", unit * (2 * 1024 * 1024 // len(unit)))
    note(notes, "b.md", "Milk.\n")
    began = time.perf_counter()
    scanned = scan_notes(notes)

    assert time.perf_counter() - began < 3
    assert [(skipped.path, skipped.reason) for skipped in scanned.skipped] == [("notes/a.md", TOO_MANY_HEADINGS)]
    assert [draft.event.item for draft in scanned.drafts] == ["note:b.md"]


def test_twice_as_many_headings_take_about_twice_as_long(notes):
    def seconds(headings):
        note(notes, "a.md", "# a\n" * headings)
        began = time.process_time()
        scan_notes(notes)
        return time.process_time() - began

    seconds(100)
    few, many = (min(seconds(n) for _ in range(3)) for n in (MOST_HEADINGS // 8, MOST_HEADINGS // 4))
    assert many < 3 * few


def test_as_many_headings_as_somebody_may_write_are_read(notes):
    note(notes, "a.md", "# a\n" * (MOST_HEADINGS // 10) + "Milk.\n")
    assert [event.name for event in events(notes).values()] == ["a"]
