"""Generations on disk: published atomically, verified before they are believed, collected when they are old.

    snapshots/
      CURRENT                       "gen-000042": the only file that ever changes
      gen-000042/manifest.json      see `manifest.py`
      gen-000042/...                whatever the writer put there
      gen-000043.tmp-711-9f3c01aa/  being built by process 711
      publish.lock                  held while CURRENT is compared and set, and while old generations are collected

A generation is never changed after its rename, so a reader needs no lock. All of it is derived from the log: falling
back to an older generation, or to none, loses nothing, because the overlay replays from that generation's own position.
"""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import structlog

from ..events.envelope import now_ms
from ..events.errors import CorruptSnapshot, IncompatibleSnapshot, NotFound, SnapshotFailed, StaleBuild
from ..events.files import locked, sync, write_synced
from ..events.position import Position
from ..events.types import Millis
from . import manifest as manifests
from .manifest import Manifest

log = structlog.get_logger()

_GENERATION = re.compile(r"gen-(\d{6,12})")
_TEMPORARY = re.compile(r"gen-\d{6,12}\.tmp-\d+-[0-9a-f]+")
_CURRENT_BYTES = 64
"""More than any CURRENT needs; what is longer is not one."""

Write = Callable[[Path], Mapping[str, int]]
"""Fills an empty directory and returns counts for the manifest. Must close its files; need not sync them."""


class Opened(NamedTuple):
    """A generation whose format and checksums were found good at the time of opening."""

    path: Path
    manifest: Manifest


def _nothing(_step: str) -> None:
    """What a store does after a step of a publish: nothing. Crash tests end the process here instead."""


class SnapshotStore:
    """The generations below one folder. Any number of stores, threads and processes may use a folder at once.

    Promised: CURRENT names a complete, verified generation or the one it named before, whatever dies and whenever; of
    two builders that started from the same generation one wins, and the other is told so.
    Not promised: that a generation stays: `collect` removes old ones (files that are open or mapped go on working).
    """

    def __init__(
        self,
        root: Path,
        *,
        clock: Callable[[], Millis] = now_ms,
        after_step: Callable[[str], None] = _nothing,
    ) -> None:
        self.root = root
        self._clock = clock
        self._after_step = after_step

    def current(self) -> int | None:
        """The generation that CURRENT names, whether or not it is there; None when CURRENT is missing or garbage."""
        return self._read_current()[0]

    def generations(self) -> list[int]:
        """Numbers of the generation directories that are there, oldest first; they may be damaged."""
        try:
            names = [entry.name for entry in os.scandir(self.root) if entry.is_dir(follow_symlinks=False)]
        except FileNotFoundError:
            return []
        except OSError as error:
            log.warning("snapshot.unreadable", path=str(self.root), reason=error.strerror)
            return []
        numbers = [int(match[1]) for match in map(_GENERATION.fullmatch, names) if match]
        return sorted(number for number in numbers if self._path(number).name in names)

    def open(self, generation: int) -> Opened:
        """Open one generation and verify all of it (about a second for each GB).

        Raises:
            NotFound: there is no such generation.
            CorruptSnapshot: it is damaged or half removed.
            IncompatibleSnapshot: another format version wrote it.
        """
        path = self._path(generation)
        if path.is_symlink() or not path.is_dir():
            raise NotFound(
                f"There is no generation {generation} in {self.root}. `instant-recall snapshots list` names them."
            )
        found = manifests.read(path)
        if found.generation != generation:
            raise CorruptSnapshot(
                f"{path.name} is damaged: its manifest is that of generation {found.generation}. "
                "`instant-recall snapshot` makes a new one."
            )
        manifests.verify(path, found)
        return Opened(path, found)

    def manifest(self, generation: int) -> Manifest:
        """What a generation says of itself: its form is checked, its files are not. Raises as `open` does."""
        return manifests.read(self._path(generation))

    def latest(self, *, encoder: str | None = None) -> Opened | None:
        """The generation to read: the one CURRENT names, else the newest good one before it, else None.

        With `encoder`, generations made by another one are passed over. Each bad generation is logged in one line; a
        fresh folder logs nothing.
        """
        current, why = self._read_current()
        if why:
            log.warning("snapshot.corrupt", generation=None, reason=why)
        older = [number for number in reversed(self.generations()) if current is None or number < current]
        for generation in older if current is None else [current, *older]:
            opened = self._try_open(generation, encoder)
            if opened is not None:
                return opened
        return None

    def publish(self, write: Write, *, position: Position, encoder: str, started_from: int | None) -> Manifest:
        """Build a generation with `write` and make it current.

        1. `write` fills a temporary directory that no other builder uses.
        2. Everything in it is synced to disk, and from here on no other builder may publish.
        3. CURRENT still names `started_from`; the manifest is written last, and synced.
        4. The directory takes its final name, and the parent is synced.
        5. The generation is opened as a reader would, and every checksum verified.
        6. CURRENT is replaced in one step, and the parent is synced.

        Whatever dies after any of these steps, CURRENT names a complete generation: before 6 the old one, then the new.

        Args:
            write: see `Write`; it is given the directory.
            position: every event up to this one is in what `write` writes.
            encoder: fingerprint of the encoder in use.
            started_from: what `current()` said before the build began. Take it from there and not from `latest()`,
                which may have fallen back to an older generation.

        Raises:
            StaleBuild: somebody else published meanwhile. What was built is removed.
            SnapshotFailed: the disk is full or the folder cannot be written. What was built is removed.
            CorruptSnapshot: what was written reads back differently. What was built is removed.
        """
        try:
            with self._temporary() as directory:
                counts = write(directory)
                self._after_step("written")  # 1
                _sync_tree(directory)
                with self._lock():
                    self._after_step("synced")  # 2
                    self._check_not_stale(started_from)
                    made = manifests.describe(
                        directory,
                        generation=self._next(),
                        position=position,
                        encoder=encoder,
                        counts=counts,
                        created_at=self._clock(),
                    )
                    write_synced(directory / manifests.MANIFEST, manifests.to_json(made))
                    sync(directory)
                    self._after_step("described")  # 3
                    self._install(directory, made)
        except OSError as error:
            raise SnapshotFailed(
                f"The snapshot could not be written below {self.root} ({error.strerror or error}); the one before it "
                "stays in use. Free some space or mend the folder, then run `instant-recall snapshot`."
            ) from error
        return made

    def rollback(self, generation: int, *, encoder: str | None = None) -> Manifest:
        """Make a generation that is there the current one, after verifying all of it.

        Nothing is lost: an overlay holds every later event. The newer generations stay until something is published,
        so a rollback can itself be rolled back; then they are removed, for no reader should ever fall back to them. A
        builder that began before is told that it is too late (StaleBuild).

        Raises:
            NotFound, CorruptSnapshot, IncompatibleSnapshot: it cannot be used (with `encoder`: another one made it).
            SnapshotFailed: CURRENT cannot be written; it names what it named before.
        """
        if generation not in self.generations():
            self.open(generation)  # says why, without making a folder where there is none
        try:
            with self._lock():
                chosen = self.open(generation).manifest
                if encoder is not None and chosen.encoder != encoder:
                    raise IncompatibleSnapshot(
                        f"Generation {generation} was made by another encoder ({chosen.encoder}) than the present one "
                        f"({encoder}), so no reader would use it. `instant-recall snapshots list` names the others."
                    )
                self._write_pointer(self._path(generation).name)
                self._replace_pointer()
        except OSError as error:
            raise SnapshotFailed(
                f"CURRENT in {self.root} could not be written ({error.strerror or error}) and is as before. "
                "Free some space or mend the folder, then try again."
            ) from error
        log.info("snapshot.rolled_back", generation=generation, position=str(chosen.position))
        return chosen

    def collect(self, keep: int = 3) -> list[int]:
        """Remove generations that are no longer needed, and what dead builders left; returns the numbers removed.

        Kept are the current generation and the newest `keep - 1` good ones before it; a damaged one that is not in use
        is good for nothing. One that cannot be removed is logged and tried again next time.
        """
        if keep < 1:
            raise ValueError("collect must keep at least the current generation")
        if not self.root.is_dir():
            return []
        with self._lock():
            for entry in self.root.iterdir():
                if _TEMPORARY.fullmatch(entry.name) and not _has_owner(entry):
                    self._remove(entry)
            generations, current = self.generations(), self.current()
            good = [number for number in generations if current is None or number == current]
            if current is not None:
                good = [number for number in generations if number < current and not self._is_damaged(number)] + good
            unneeded = sorted(set(generations) - set(good[-keep:]))
            return [number for number in unneeded if self._remove(self._path(number))]

    def _is_damaged(self, generation: int) -> bool:
        try:
            self.open(generation)
        except CorruptSnapshot as error:
            log.warning("snapshot.corrupt", generation=generation, reason=str(error))
            return True
        except (IncompatibleSnapshot, NotFound):
            pass
        return False

    def _path(self, generation: int) -> Path:
        return self.root / f"gen-{generation:06d}"

    def _next(self) -> int:
        """A number not used before, as far as the folder can tell: nor that of a lost or half-made generation."""
        return max(0, self.current() or 0, *self.generations()) + 1

    def _read_current(self) -> tuple[int | None, str]:
        """The generation CURRENT names, and why it names none when there is a CURRENT."""
        try:
            with (self.root / "CURRENT").open("rb") as stream:
                text = stream.read(_CURRENT_BYTES).decode("ascii", "replace").strip()
        except FileNotFoundError:
            return None, ""
        except OSError as error:
            return None, f"CURRENT cannot be read ({error.strerror})"
        match = _GENERATION.fullmatch(text)
        return (int(match[1]), "") if match else (None, "CURRENT names no generation")

    def _try_open(self, generation: int, encoder: str | None) -> Opened | None:
        try:
            opened = self.open(generation)
        except (CorruptSnapshot, NotFound) as error:
            log.warning("snapshot.corrupt", generation=generation, reason=str(error))
        except IncompatibleSnapshot as error:
            log.warning("snapshot.incompatible", generation=generation, reason=str(error))
        else:
            if encoder is None or opened.manifest.encoder == encoder:
                return opened
            log.warning("snapshot.incompatible", generation=generation, reason="made by another encoder")
        return None

    def _check_not_stale(self, started_from: int | None) -> None:
        now = self.current()
        if now != started_from:
            raise StaleBuild(
                f"Generation {now} was published while this snapshot, begun from {started_from}, was being built; "
                "it was dropped. Nothing is lost; use the one that is current."
            )

    def _install(self, directory: Path, made: Manifest) -> None:
        """Steps 4 to 6, under the lock; a generation that does not become current is removed again."""
        final, before = self._path(made.generation), self.current()
        directory.rename(final)
        try:
            sync(self.root)
            self._after_step("renamed")  # 4
            self.open(made.generation)
            self._after_step("verified")  # 5
            self._write_pointer(final.name)
            self._after_step("pointer_written")
        except BaseException:
            self._remove(final)
            raise
        self._replace_pointer()
        self._after_step("current")  # 6
        # Between the two lie only those that were rolled back from, or that never became current.
        for number in self.generations():
            if before is not None and before < number < made.generation:
                self._remove(self._path(number))

    def _write_pointer(self, name: str) -> None:
        write_synced(self.root / "CURRENT.tmp", f"{name}\n".encode())

    def _replace_pointer(self) -> None:
        (self.root / "CURRENT.tmp").replace(self.root / "CURRENT")
        sync(self.root)

    @contextmanager
    def _temporary(self) -> Iterator[Path]:
        """An empty directory that is removed if it still has its temporary name at the end.

        Its builder holds a lock on the directory itself, so that `collect` can tell that the builder is alive; its
        process id would say the wrong thing across containers, or after the ids came round again.
        """
        with self._lock():
            path = self.root / f"gen-{self._next():06d}.tmp-{os.getpid()}-{secrets.token_hex(4)}"
            path.mkdir(mode=0o700)
            owned = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
            fcntl.flock(owned, fcntl.LOCK_EX)
        try:
            yield path
        finally:
            shutil.rmtree(path, ignore_errors=True)
            os.close(owned)

    @contextmanager
    def _lock(self) -> Iterator[None]:
        """One publisher or collector at a time; waits for the other. Let go by the kernel when its holder dies."""
        with locked(self.root, "publish.lock"):
            yield

    def _remove(self, path: Path) -> bool:
        """Remove a directory of ours, its manifest first: one half removed can then not be taken for a good one."""
        try:
            (path / manifests.MANIFEST).unlink(missing_ok=True)
            shutil.rmtree(path)
        except OSError as error:
            log.warning("snapshot.not_removed", path=path.name, reason=error.strerror)
            return False
        return True


def _has_owner(path: Path) -> bool:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _sync_tree(directory: Path) -> None:
    """Sync every file and folder below, then the directory itself."""
    for path in directory.rglob("*"):
        sync(path)
    sync(directory)
