"""Notes: Markdown cut by section, among them `AGENTS.md`, `CLAUDE.md` and `MEMORY.md`; plain text as it is."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, get_args

from ..events.types import AssetKind, AssetRecorded, Millis, NoteRecorded
from .folders import EMPTY, Found, Skipped
from .front_matter import FrontMatter, one_line, read_front_matter
from .importing import OnFile, Recorded, Scan, scan
from .markdown import (
    MOST_HEADINGS,
    Section,
    first_paragraph,
    has_too_many_headings,
    markdown_sections,
    text_pieces,
    whole_text,
)
from .skills import LONGEST_DESCRIPTION, LONGEST_NAME, USE_WHEN_KEYS, asset_id, is_skill_file

IMPORTER: Final = "notes"
SUFFIXES: Final = frozenset({".md", ".markdown", ".txt"})
ASSET_KINDS: Final[dict[str, AssetKind]] = {kind: kind for kind in get_args(AssetKind) if kind != "skill"}
"""Kinds that a note's front matter may give it."""
NO_TEXT: Final = "no text below its headings"
TOO_MANY_HEADINGS: Final = f"more than {MOST_HEADINGS:,} headings"

_USE_WHEN_LINE = re.compile(r"^[ \t>*_-]*use when[ \t*_]*:[ \t*_]*(\S.*)$", re.IGNORECASE | re.MULTILINE)


def is_note_file(name: str) -> bool:
    """Whether a file of this name is a note. `SKILL.md` is a skill and no note."""
    return Path(name).suffix.lower() in SUFFIXES and not is_skill_file(name)


def scan_notes(root: Path, *, on_file: OnFile | None = None, now: Millis | None = None) -> Scan:
    """Read every note below `root`, or `root` itself when it is a file.

    Each section that has text of its own gives a `NoteRecorded`: id `note:lab.md#camera/lens` (the path below `root`,
    then the headings above but the title), address `notes/lab.md#lens:L10-L24`, the text exactly those lines. A file
    whose front matter names a kind (machine, decision, approach, document, tool) gives one `AssetRecorded` instead.

    Raises:
        NotFound: there is nothing at `root`.
    """
    return scan(root, IMPORTER, is_note_file, _parse, on_file=on_file, now=now)


def _parse(found: Found, text: str) -> list[Recorded] | Skipped:
    if found.path.suffix.lower() == ".txt":
        return _notes(found, FrontMatter({}, text, 1), text_pieces(text))
    front = read_front_matter(text, strict=True)
    kind = ASSET_KINDS.get(front.text("kind", 20).lower())
    if kind:
        return [_asset(found, front, kind)]
    if has_too_many_headings(front.body):
        return found.skip(TOO_MANY_HEADINGS)
    return _notes(found, front, markdown_sections(front.body, front.body_line))


def _asset(found: Found, front: FrontMatter, kind: AssetKind) -> AssetRecorded:
    name = _title(found, front)
    body = whole_text(front.body, front.body_line)
    lines = f":L{body.first}-L{body.last}" if body else ""
    return AssetRecorded(
        item=asset_id(kind, name, found.path.stem),
        kind=kind,
        name=name,
        aliases=front.phrases("aliases"),
        purpose=front.text("purpose", LONGEST_DESCRIPTION),
        description=front.text("description", LONGEST_DESCRIPTION)
        or one_line(first_paragraph(front.body), LONGEST_DESCRIPTION),
        text=body.text if body else "",
        address=f"{found.shown}{lines}",
        use_when=tuple(dict.fromkeys((*front.phrases(*USE_WHEN_KEYS), *_use_when_lines(front.body)))),
    )


def _notes(found: Found, front: FrontMatter, sections: list[Section]) -> list[Recorded] | Skipped:
    if not sections:
        return found.skip(NO_TEXT if front.body.strip() else EMPTY, keeps=False)
    # What a file says of itself as a whole stands for its first section: on all of them it would tell none apart.
    whole = front.phrases(*USE_WHEN_KEYS, "aliases", "description")
    title = _title(found, front)
    return [_note(found, section, title, () if n else whole) for n, section in enumerate(sections)]


def _note(found: Found, section: Section, title: str, whole: tuple[str, ...]) -> NoteRecorded:
    headings = [one_line(heading, LONGEST_NAME) for heading in section.headings]
    item = f"note:{found.relative}" + (f"#{section.path}" if section.path else "")
    anchor = f"#{section.anchor}" if section.anchor else ""
    return NoteRecorded(
        item=item if section.piece == 1 else f"{item}~{section.piece}",
        name=" > ".join(heading for heading in headings if heading) or title,
        text=section.text,
        address=f"{found.shown}{anchor}:L{section.first}-L{section.last}",
        use_when=tuple(dict.fromkeys((*whole, *_use_when_lines(section.text)))),
    )


def _title(found: Found, front: FrontMatter) -> str:
    given = front.text("name", LONGEST_NAME) or front.text("title", LONGEST_NAME)
    return given or one_line(found.path.stem, LONGEST_NAME) or "unnamed"


def _use_when_lines(text: str) -> tuple[str, ...]:
    """What "Use when:" lines of a text say."""
    said = (phrase for match in _USE_WHEN_LINE.finditer(text) for phrase in match[1].split(";"))
    return tuple(phrase for phrase in (one_line(part, 300) for part in said) if phrase)
