"""Files below a folder, in an order that never varies, read with care: what cannot be read is named, never raised."""

from __future__ import annotations

import codecs
import errno
import os
import stat
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final
from urllib.parse import quote

import msgspec

from ..events.errors import NotFound
from .front_matter import one_line

LARGEST_FILE: Final = 2 * 1024 * 1024
"""Bytes of the largest file that is read; a text that somebody wrote by hand stays far below."""
SKIPPED_FOLDERS: Final = frozenset({"node_modules", "venv", "__pycache__"})
"""Folders of programs, not of their owner; like hidden ones they are passed over without a word."""

EMPTY: Final = "empty"
TOO_LARGE: Final = "larger than 2 MiB"
BINARY: Final = "binary"
NOT_UTF8: Final = "not UTF-8 text"
NOT_REGULAR: Final = "not a regular file"
OUTSIDE: Final = "points outside the folder"
LOOP: Final = "a link loop"
DANGLING: Final = "a link that leads nowhere"
SEEN_ALREADY: Final = "a link to something that is imported already"
BAD_NAME: Final = "its name is not UTF-8"
LONG_PATH: Final = "its path is too long"
LONGEST_URI: Final = 4_096
"""Bytes of a source that the log takes."""

_UTF_16: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class Skipped(msgspec.Struct, frozen=True):
    """A file or folder that was not imported, and why."""

    path: str
    """Below the parent of the imported folder, so that the folder's own name shows."""
    reason: str
    uri: str = ""
    keeps: bool = True
    """Whether what was imported from here before stays as it is: so for what cannot be read, not for what is gone."""


class Found(msgspec.Struct, frozen=True):
    """A file to import."""

    path: Path
    relative: str
    """Below the imported folder, parted by `/`; characters that would break an address are percent-encoded."""
    shown: str
    """The same with the name of the imported folder in front."""
    uri: str

    def skip(self, reason: str, *, keeps: bool = True) -> Skipped:
        """This file in the report."""
        return Skipped(self.shown, reason, self.uri, keeps)


def real_root(root: Path) -> Path:
    """The folder or file that the owner named, links resolved.

    Raises:
        NotFound: nothing is there.
    """
    try:
        return Path(os.path.realpath(root.expanduser(), strict=True))
    except OSError as error:
        raise NotFound(f"There is no file or folder at {root}. Check the path, then import again.") from error


def walk(top: Path, wanted: Callable[[str], bool]) -> Iterator[Found | Skipped]:
    """Files below `top` (from `real_root`) whose name is wanted; `top` itself when it is a file.

    Links are followed after everything else, and only to what lies below `top` and was not met before. So nothing is
    read twice, loops end, and a folder of links into another place brings nothing of that place in.
    """
    if not top.is_dir():
        yield _found(top, top.parent)
        return
    folders, links, seen = deque([top]), deque[Path](), set[str]()
    while folders or links:
        if folders:
            folder = folders.popleft()
            real = os.path.realpath(folder)
            if real in seen:
                continue
            seen.add(real)
            entries = _entries(folder, top)
            if isinstance(entries, Skipped):
                yield entries
                continue
            links += [path for path, is_link, _ in entries if is_link]
            folders += [path for path, is_link, is_folder in entries if is_folder and not is_link]
            files = [path for path, is_link, is_folder in entries if not (is_folder or is_link) and wanted(path.name)]
            seen.update(f"{real}/{path.name}" for path in files)
            yield from (_found(path, top) for path in files)
        else:
            link = links.popleft()
            target = _target(link, top, wanted, seen)
            if isinstance(target, str):
                yield from [_found_skipped(link, top, target)] if target else []
            elif target.is_dir():
                folders.append(link)
            else:
                seen.add(str(target))
                yield _found(link, top)


def read_text(found: Found) -> str | Skipped:
    """A file's text with LF line ends, or why there is none. Never reads more than `LARGEST_FILE` bytes."""
    try:
        # Asked before opening: a named pipe would wait for a writer, a device might do anything.
        if not stat.S_ISREG(found.path.stat().st_mode):
            return found.skip(NOT_REGULAR)
        with found.path.open("rb") as file:
            if os.fstat(file.fileno()).st_size > LARGEST_FILE:
                return found.skip(TOO_LARGE)
            content = file.read(LARGEST_FILE + 1)
    except OSError as error:
        return found.skip(_unreadable(error))
    if len(content) > LARGEST_FILE:
        return found.skip(TOO_LARGE)
    try:
        text = content.decode("utf-16" if content.startswith(_UTF_16) else "utf-8-sig")
    except UnicodeDecodeError:
        return found.skip(BINARY if b"\0" in content else NOT_UTF8)
    if "\0" in text:
        return found.skip(BINARY)
    if not text.strip():
        return found.skip(EMPTY, keeps=False)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _entries(folder: Path, top: Path) -> list[tuple[Path, bool, bool]] | Skipped:
    """What is in a folder by name: path, is it a link, is it a folder."""
    try:
        with os.scandir(folder) as entries:
            return sorted(
                (Path(entry.path), entry.is_symlink(), entry.is_dir(follow_symlinks=False))
                for entry in entries
                if not entry.name.startswith(".") and entry.name not in SKIPPED_FOLDERS
            )
    except OSError as error:
        return _found_skipped(folder, top, _unreadable(error), keeps=True)


def _target(link: Path, top: Path, wanted: Callable[[str], bool], seen: set[str]) -> Path | str:
    """Where a link leads; the reason to skip it when it is not to be followed; an empty one when that is no news."""
    try:
        target = Path(os.path.realpath(link, strict=True))
    except OSError as error:
        if error.errno == errno.ELOOP:
            return LOOP
        return DANGLING if wanted(link.name) else ""
    if not (target.is_dir() or wanted(link.name)):
        return ""
    if not target.is_relative_to(top):
        return OUTSIDE
    if str(target) in seen:
        return LOOP if Path(os.path.realpath(link.parent)).is_relative_to(target) else SEEN_ALREADY
    return target


def _found(path: Path, top: Path) -> Found | Skipped:
    relative = path.relative_to(top).as_posix()
    try:
        relative.encode()
    except UnicodeEncodeError:
        return _found_skipped(path, top, BAD_NAME)
    relative = _safe(relative)
    shown = f"{_safe(top.name)}/{relative}" if top.name else relative
    found = Found(path, relative, shown, path.as_uri())
    return found if len(found.uri) <= LONGEST_URI else found.skip(LONG_PATH)


def _found_skipped(path: Path, top: Path, reason: str, *, keeps: bool = False) -> Skipped:
    shown = os.fsencode(path.relative_to(top.parent)).decode("utf-8", "replace")
    return Skipped(one_line(shown, 1_000), reason, path.as_uri(), keeps)


def _safe(path: str) -> str:
    """A path as part of an address: no white space, nothing invisible, and no `#`, which parts path and anchor."""
    return "".join(quote(c, safe="") if _breaks(c) else c for c in path)


def _breaks(c: str) -> bool:
    return c in "#%" or c.isspace() or not c.isprintable()


def _unreadable(error: OSError) -> str:
    return f"cannot be read ({(error.strerror or 'unknown error').lower()})"
