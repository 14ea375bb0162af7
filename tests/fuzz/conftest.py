"""One process for all that is thrown at it: what one test leaves behind, the next one would notice."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from instant_recall.events.settings import Settings
from instant_recall.ops import embedded
from instant_recall.tests.fuzz_target import Target, running_target


@pytest.fixture(scope="session")
def target() -> Iterator[Target]:
    """A real API process with a little data."""
    home = Path(tempfile.mkdtemp(prefix="ir-"))
    try:
        with running_target(home) as target:
            yield target
    finally:
        embedded.stop(Settings(home=home))
        shutil.rmtree(home, ignore_errors=True)
