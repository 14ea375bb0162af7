"""Importing: what a folder holds now against what is known of it, as events to publish.

`scan` reads, `plan` compares; neither publishes. An importer (see `skills.py`, `notes.py`) says which files it wants
and what one of them records.
"""

from __future__ import annotations

import hashlib
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final
from urllib.parse import unquote, unquote_to_bytes, urlsplit

import msgspec
import structlog

from ..events.checks import MAX_ID_BYTES
from ..events.envelope import Actor, EventDraft, Source, draft, now_ms
from ..events.errors import InvalidEvent
from ..events.types import AssetRecorded, ItemClosed, Millis, NoteRecorded
from ..projections.items import Item
from ..projections.naming.slugs import slug
from ..projections.pointers import without_blocks
from ..projections.policy.quarantine import holding, sign_in
from .folders import Found, Skipped, read_text, real_root, walk

Recorded = AssetRecorded | NoteRecorded
Parse = Callable[[Found, str], "list[Recorded] | Skipped"]
"""What a file of this text records, or why nothing."""
OnFile = Callable[[Path], None]
"""Called with each file before it is read, to show progress."""

GONE: Final = "no longer in the imported folder"
"""The reason of an item that an import closed. When the item comes back, so does the file's say; see `plan`."""
FORGOTTEN: Final = "forgotten by its owner"

log = structlog.get_logger()


class Scan(msgspec.Struct, frozen=True):
    """What a folder holds now."""

    importer: str
    root: str
    """The folder's (or single file's) `file://` uri, links resolved."""
    wanted: Callable[[str], bool]
    """Whether a file of this name is this importer's."""
    drafts: list[EventDraft]
    """One for each item, in order of path and line; see `plan` for those that need publishing."""
    skipped: list[Skipped]

    def covers(self, uri: str) -> bool:
        """Whether what came from this uri would be found by this scan if it were still there."""
        if uri == self.root:
            return True
        return uri.startswith(self.root.rstrip("/") + "/") and self.wanted(unquote(uri.rpartition("/")[2]))


class Known(msgspec.Struct, frozen=True):
    """What the log knows of an item that has its id, or its source, in common with an import."""

    digest: str
    source_uri: str
    closed: bool
    reason: str = GONE
    """Why it was closed. One closed for another reason than `GONE` was closed by somebody, and stays so."""
    forgotten: bool = False


class Plan(msgspec.Struct, frozen=True):
    """What an import would change."""

    new: list[EventDraft]
    changed: list[EventDraft]
    unchanged: list[str]
    """Ids of items that are as they were."""
    closed: list[EventDraft]
    skipped: list[Skipped]
    held: list[EventDraft]
    """What holds back those of the new and the changed that are suspect; see `projections/policy/quarantine.py`."""

    @property
    def drafts(self) -> list[EventDraft]:
        """Everything to publish, in order: what is held back is so before it is there."""
        return [*self.held, *self.new, *self.changed, *self.closed]


def known_items(items: Iterable[Item]) -> dict[str, Known]:
    """What `plan` needs to know, from all items of the projected state (not only those of one folder)."""
    return {
        item.id: Known(
            digest=item.digest,
            source_uri=item.source_uri,
            closed=item.valid_until is not None or item.superseded_by is not None,
            reason=item.reason,
            forgotten=item.forgotten,
        )
        for item in items
    }


def scan(
    root: Path,
    importer: str,
    wanted: Callable[[str], bool],
    parse: Parse,
    *,
    on_file: OnFile | None = None,
    now: Millis | None = None,
) -> Scan:
    """Read every wanted file below `root` (or `root` itself, if it is a file).

    A file that cannot be read or made sense of is skipped with a reason and never keeps the others from being imported.

    Raises:
        NotFound: there is nothing at `root`.
    """
    top = real_root(root)
    found: list[tuple[Found, Recorded]] = []
    skipped: list[Skipped] = []
    for entry in walk(top, wanted):
        if isinstance(entry, Skipped):
            skipped.append(entry)
            continue
        if on_file:
            on_file(entry.path)
        text = read_text(entry)
        recorded = text if isinstance(text, Skipped) else _parsed(parse, entry, without_blocks(text))
        if isinstance(recorded, Skipped):
            skipped.append(recorded)
        else:
            found += [(entry, _renamed(event, event.item)) for event in recorded]
    found.sort(key=lambda pair: pair[0].relative)
    skipped.sort(key=lambda skip: skip.path)
    at = now_ms() if now is None else now
    drafts = [_draft(event, importer, entry.uri, at) for entry, event in _told_apart(found)]
    log.info("import.scanned", importer=importer, items=len(drafts), skipped=len(skipped))
    return Scan(importer, top.as_uri(), wanted, drafts, skipped)


def plan(scan: Scan, known: Mapping[str, Known]) -> Plan:
    """Compare a scan with what is known.

    An item is recorded when it is new, says something else, moved, or came back after an import had closed it. It is
    closed when it came from this folder and is no longer found there. What the owner closed stays closed until the
    file says something else; what the owner forgot is never recorded again. What could not be read stays as it was.
    """
    result = Plan([], [], [], [], list(scan.skipped), [])
    present: set[str] = set()
    for wanted in scan.drafts:
        found = _apart_from_others(wanted, scan, known)
        event = _recorded(found)
        present.add(event.item)
        before = known.get(event.item)
        if before is None or (before.closed and before.reason == GONE and not before.forgotten):
            result.new.append(found)
        elif before.forgotten:
            result.skipped.append(Skipped(event.item, FORGOTTEN, found.source.uri))
        elif before.digest == event.digest and (before.closed or before.source_uri == found.source.uri):
            result.unchanged.append(event.item)
        else:
            result.changed.append(found)
    for found in (*result.new, *result.changed):
        sign = sign_in(found.event, found.actor)
        if sign is not None:
            result.held.append(holding(found, sign))
    held = {skip.uri for skip in scan.skipped if skip.keeps}
    at = scan.drafts[0].occurred_at if scan.drafts else now_ms()
    for item, before in known.items():
        imported = before.digest and not (before.closed or before.forgotten)
        if imported and item not in present and scan.covers(before.source_uri) and not _within(before.source_uri, held):
            result.closed.append(_envelope(ItemClosed(item=item, reason=GONE), scan.importer, before.source_uri, at))
    return result


def _parsed(parse: Parse, found: Found, text: str) -> list[Recorded] | Skipped:
    try:
        return parse(found, text)
    except Exception as error:  # noqa: BLE001 - a file may be made to break a parser; the other files are still imported
        log.warning("import.file_failed", path=found.shown, error=type(error).__name__)
        return found.skip(f"cannot be made sense of ({type(error).__name__})")


def _told_apart(found: list[tuple[Found, Recorded]]) -> list[tuple[Found, Recorded]]:
    """Give files that record the same id ids of their own: the one nearest to the root keeps the plain one."""
    sharing: dict[str, list[int]] = defaultdict(list)
    for n, (_, event) in enumerate(found):
        sharing[event.item].append(n)
    taken = set(sharing)
    result = list(found)
    for item, places in sharing.items():
        nearest_first = sorted(places, key=lambda n: (found[n][0].relative.count("/"), found[n][0].relative))
        for n in nearest_first[1:]:
            entry, event = found[n]
            folder = slug(entry.relative.rpartition("/")[0]) or "root"
            names = (
                f"{item}-{folder}{number}" for number in ("", *(f"-{again}" for again in range(2, len(found) + 2)))
            )
            own = next(name for name in map(_fitting, names) if name not in taken)
            taken.add(own)
            result[n] = (entry, _renamed(event, own))
    return result


def _apart_from_others(found: EventDraft, scan: Scan, known: Mapping[str, Known]) -> EventDraft:
    """The draft under an id of this folder's own, when another folder's item has the id and its file is still there."""
    event = _recorded(found)
    own = _fitting(f"{event.item}-{_short_hash(scan.root)}")
    before, before_own = known.get(event.item), known.get(own)
    used = before_own is not None and not (before_own.closed and before_own.reason == GONE)
    elsewhere = (
        before is not None
        and bool(before.digest)
        and not before.closed
        and not scan.covers(before.source_uri)
        and _still_there(before.source_uri)
    )
    return msgspec.structs.replace(found, event=_renamed(event, own)) if used or elsewhere else found


def _renamed(event: Recorded, item: str) -> Recorded:
    """The event under an id, which is cut to what the log takes; an address that is the id follows it."""
    own = _fitting(item)
    return msgspec.structs.replace(event, item=own, address=own if event.address == event.item else event.address)


def _fitting(item: str) -> str:
    """The id, or as much of its beginning as fits with a hash of all of it behind."""
    raw = item.encode()
    return (
        item if len(raw) <= MAX_ID_BYTES else f"{raw[: MAX_ID_BYTES - 9].decode(errors='ignore')}-{_short_hash(item)}"
    )


def _short_hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _draft(event: Recorded, importer: str, uri: str, at: Millis) -> EventDraft:
    said = {field: value for field, value in msgspec.structs.asdict(event).items() if value}
    digest = hashlib.sha256(msgspec.json.encode(said, order="sorted")).hexdigest()[:32]
    return _envelope(msgspec.structs.replace(event, digest=digest), importer, uri, at)


def _envelope(event: Recorded | ItemClosed, importer: str, uri: str, at: Millis) -> EventDraft:
    return draft(event, occurred_at=at, actor=Actor("import", importer), source=Source(uri=uri))


def _recorded(found: EventDraft) -> Recorded:
    if not isinstance(found.event, Recorded):
        raise InvalidEvent(f"An import records assets and notes, not {found.event.type_name()}; mend the importer.")
    return found.event


def _still_there(uri: str) -> bool:
    parts = urlsplit(uri)
    return parts.scheme == "file" and os.path.exists(os.fsdecode(unquote_to_bytes(parts.path)))  # noqa: PTH110 - bytes


def _within(uri: str, held: set[str]) -> bool:
    """Whether the uri, or a folder that it lies in, is among those held."""
    while uri and uri not in held:
        uri = uri.rpartition("/")[0]
    return bool(uri)
