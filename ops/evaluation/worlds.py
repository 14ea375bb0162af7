"""Worlds: an owner's memory over some months as six files, with test requests, read and checked before anything runs.

A world is a folder of JSON Lines (UTF-8): assets, notes, sessions, corrections, policy and cases. What is wrong with
it is told all at once, one line each with file and line number, so that a world is mended in one round.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Literal, TypeVar

import msgspec

from ...events.envelope import OWNER_ONLY
from ...events.errors import RecallError
from ...events.types import AssetKind, Millis, Role

CaseKind = Literal[
    "use", "topic", "named", "near-name", "last-time", "latest", "co-access", "fresh-correction", "none", "no-access",
    "muted/expired",
]  # fmt: skip
Action = Literal["mute", "unmute", "quarantine", "release", "retire", "supersede", "grant"]


class BadWorld(RecallError):
    """The world cannot be run as it is; nothing was run. Each line names a file, a line in it and what to mend."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """Base of all rows. Fields that are not known here are passed over."""

    id: str


class Asset(Row, frozen=True, kw_only=True):
    """A skill, tool, machine, decision, approach or document, and when the owner stored it."""

    kind: AssetKind
    name: str
    stored_at: datetime
    aliases: tuple[str, ...] = ()
    description: str = ""
    text: str = ""
    """The full text, where the description is not all there is."""
    location: str = ""
    audience: tuple[str, ...] = OWNER_ONLY
    stored_during: str | None = None
    use_when: tuple[str, ...] = ()
    supersedes: str | None = None


class Note(Row, frozen=True, kw_only=True):
    """A section of the owner's notes."""

    path: str
    heading: str
    text: str
    written_at: datetime
    audience: tuple[str, ...] = OWNER_ONLY


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """One turn of a session."""

    role: Role
    text: str
    at: datetime


class Session(Row, frozen=True, kw_only=True):
    """A past chat: what was said, what was opened in it, what solved it."""

    started_at: datetime
    turns: tuple[Turn, ...]
    project: str = ""
    audience: tuple[str, ...] = OWNER_ONLY
    used: tuple[str, ...] = ()
    helped: tuple[str, ...] = ()
    outcome: str = ""


class Correction(Row, frozen=True, kw_only=True):
    """The agent missed something, and the owner said so."""

    at: datetime
    request: str
    item: str
    said: str = ""
    session: str | None = None


class Policy(Row, frozen=True, kw_only=True):
    """The owner changed what may be shown, or to whom."""

    at: datetime
    action: Action
    item: str | None = None
    reader: str | None = None
    kind: Literal["sub_agent", "tool"] = "sub_agent"
    """What the reader is that is granted something."""
    scope: tuple[str, ...] = ()
    reason: str = ""


class Case(Row, frozen=True, kw_only=True):
    """A test request with its right answers. `expect`, `must_not` and `why` are for judging, never for the product."""

    at: datetime
    request: str
    kind: CaseKind
    reader: str = "owner"
    context: str | None = None
    expect: tuple[str, ...] = ()
    must_not: tuple[str, ...] = ()
    why: str = ""


@dataclass(frozen=True)
class World:
    """A checked world; rows in the order of the files."""

    assets: tuple[Asset, ...]
    notes: tuple[Note, ...]
    sessions: tuple[Session, ...]
    corrections: tuple[Correction, ...]
    policy: tuple[Policy, ...]
    cases: tuple[Case, ...]


R = TypeVar("R", bound=Row)


@dataclass
class Table:
    """The rows of one file with the line each stands on."""

    file: str
    rows: list[tuple[int, Row]] = field(default_factory=list)

    def of(self, shape: type[R]) -> tuple[R, ...]:
        """The rows alone."""
        return tuple(row for _, row in self.rows if isinstance(row, shape))


_SHAPES: dict[str, type[Row]] = {
    "assets.jsonl": Asset, "notes.jsonl": Note, "sessions.jsonl": Session,
    "corrections.jsonl": Correction, "policy.jsonl": Policy, "cases.jsonl": Case,
}  # fmt: skip


def own_world() -> Path:
    """The folder of the world that comes with the package; its README says what it can tell and what not."""
    return Path(__file__).parent.parent / "world_data" / "luthier"


def read_world(folder: Path) -> World:
    """Read and check a world.

    Raises:
        BadWorld: a file is missing or not UTF-8, a line is not a row of its file, an id is unknown or there twice, or
            a case comes before an item that it expects. All problems are named, not only the first.
    """
    if not folder.is_dir():
        raise BadWorld([f"{folder}: there is no such folder. Name a folder that holds {', '.join(_SHAPES)}."])
    problems: list[str] = []
    tables = [read_table(folder, name, shape, problems) for name, shape in _SHAPES.items()]
    # Rows that could not be read have ids that cannot be known: asking for them would bury the cause under its effects.
    all_read = not problems
    known = _times_by_id(tables, problems)
    for table in tables:
        for number, row in table.rows:
            problems += [f"{table.file}:{number}: {what}" for what in _check(row, known, all_read)]
    if problems:
        raise BadWorld(problems)
    assets, notes, sessions, corrections, policy, cases = tables
    return World(
        assets=assets.of(Asset),
        notes=notes.of(Note),
        sessions=sessions.of(Session),
        corrections=corrections.of(Correction),
        policy=policy.of(Policy),
        cases=cases.of(Case),
    )


def millis(at: datetime) -> Millis:
    """A row's time in milliseconds since 1970 UTC."""
    return round(at.timestamp() * 1_000)


def read_table(folder: Path, name: str, shape: type[Row], problems: list[str]) -> Table:
    """Read a file of rows; what is wrong with it is added to `problems`, one line each with file and line number."""
    table = Table(name)
    try:
        raw = (folder / name).read_bytes()
    except FileNotFoundError:
        problems.append(f"{name}:0: the file is missing. An empty file stands for none.")
        return table
    except OSError as error:
        problems.append(f"{name}:0: the file cannot be read ({error.strerror}).")
        return table
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        problems.append(f"{name}:1: the file is UTF-16. Save it as UTF-8.")
        return table
    decoder = msgspec.json.Decoder(shape)
    # Lines end at \n alone: a line separator of Unicode inside a text is part of the text.
    for number, line in enumerate(raw.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        if line.strip():
            _read_row(table, number, line, decoder, problems)
    return table


def _read_row(table: Table, number: int, line: bytes, decoder: msgspec.json.Decoder[Row], problems: list[str]) -> None:
    where = f"{table.file}:{number}"
    try:
        line.decode()
        table.rows.append((number, decoder.decode(line)))
    except UnicodeDecodeError as error:
        problems.append(f"{where}: byte {error.start + 1} of the line is not UTF-8. Save the file as UTF-8.")
    except msgspec.ValidationError as error:
        problems.append(f"{where}: {error}.")
    except msgspec.DecodeError as error:
        problems.append(f"{where}: this is not JSON ({error}).")


def _times_by_id(tables: Sequence[Table], problems: list[str]) -> dict[str, datetime]:
    """When each item came to be; names ids that stand twice in the world on the way."""
    seen: dict[str, str] = {}
    times: dict[str, datetime] = {}
    for table in tables:
        for number, row in table.rows:
            where = f"{table.file}:{number}"
            if row.id in seen:
                problems.append(f"{where}: the id {row.id!r} is taken already, at {seen[row.id]}.")
            seen.setdefault(row.id, where)
            match row:
                case Asset(stored_at=at) | Note(written_at=at) | Session(started_at=at):
                    times.setdefault(row.id, at)
    return times


def _check(row: Row, known: dict[str, datetime], all_read: bool) -> Iterator[str]:
    """What is wrong with one row, seen against all others."""
    naive = [at for at in _times(row) if at.utcoffset() is None]
    if naive:
        yield f"the time {naive[0].isoformat()} has no time zone. End it in +00:00."
        return
    for item in _mentions(row):
        if all_read and item not in known:
            yield f"no asset, note or session has the id {item!r}."
    if isinstance(row, Session) and not row.turns:
        yield "the session has no turns."
    if isinstance(row, Policy):
        yield from _check_policy(row)
    if isinstance(row, Case):
        yield from _check_case(row, known)


def _times(row: Row) -> list[datetime]:
    match row:
        case Asset(stored_at=at) | Note(written_at=at) | Correction(at=at) | Policy(at=at) | Case(at=at):
            return [at]
        case Session(started_at=at, turns=turns):
            return [at, *(turn.at for turn in turns)]
    return []


def _mentions(row: Row) -> list[str]:
    """Ids of items that a row names."""
    match row:
        case Asset(supersedes=str(item)) | Policy(item=str(item)):
            return [item]
        case Session(used=used, helped=helped):
            return list(dict.fromkeys((*used, *helped)))
        case Correction(item=item, session=session):
            return [item, session] if session else [item]
        case Case(expect=expect, must_not=must_not):
            return [*expect, *must_not]
    return []


def _check_policy(row: Policy) -> Iterator[str]:
    if row.action == "grant" and not row.reader:
        yield "a grant names the reader that it is for."
    if row.action != "grant" and not row.item:
        yield f"the action {row.action!r} names the item that it is about."


def _check_case(row: Case, known: dict[str, datetime]) -> Iterator[str]:
    if row.reader != "owner" and not row.reader.removeprefix("sub:").strip():
        yield "the reader has no name. Give 'owner' or 'sub:NAME'."
    elif row.reader != "owner" and not row.reader.startswith("sub:"):
        yield f"the reader {row.reader!r} is neither 'owner' nor 'sub:NAME'."
    for item in row.expect:
        at = known.get(item)
        if at is not None and at.utcoffset() is not None and at > row.at:
            yield f"the case comes before the item {item!r} that it expects ({at.isoformat()})."
