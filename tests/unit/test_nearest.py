"""Where nothing is called so, the owner is offered the notes that say it; nobody else is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from instant_recall.api.messages import ForgetRequest, OpenRequest, RememberRequest
from instant_recall.api.service import Service
from instant_recall.events import types as ev
from instant_recall.events.envelope import draft
from instant_recall.events.errors import NotFound
from instant_recall.events.memory_log import MemoryEventLog
from instant_recall.projections.naming.resolving import NOTHING
from instant_recall.tests.small_world import encoder

README = Path(__file__).parents[2] / "README.md"
KEY = "the key to the chart room hangs behind the desk"


@pytest.fixture
def log() -> MemoryEventLog:
    return MemoryEventLog()


@pytest.fixture
def service(log: MemoryEventLog) -> Service:
    return Service(log, encoder())


def remember(service: Service, text: str, **fields: object) -> str:
    return service.remember(RememberRequest(text=text, **fields)).item  # type: ignore[arg-type]


def told(service: Service, wanted: str) -> set[str]:
    found = set()
    for ask in (
        lambda: service.open(OpenRequest(address=wanted)),
        lambda: service.forget(ForgetRequest(item=wanted)),
    ):
        with pytest.raises(NotFound) as refused:
            ask()
        found.add(str(refused.value))
    return found


def test_an_unnamed_note_is_offered_by_its_id(service: Service) -> None:
    item = remember(service, KEY)
    remember(service, "The pear trees want pruning in winter")
    assert told(service, "chart room") == {f'{NOTHING} Do you mean {item} ("{KEY}")?'}
    assert service.forget(ForgetRequest(item=item)).item == item
    assert told(service, "chart room") == {NOTHING}


def test_at_most_three_are_offered_and_none_without_a_word_in_common(service: Service) -> None:
    for n in range(5):
        remember(service, f"The chart room has a window, number {n}", name=f"window {n}")
    (error,) = told(service, "chart room")
    assert error.count("note:window-") == 3
    assert 'note:window-0 ("window 0")' in error
    assert told(service, "zanzibar") == {NOTHING}


def test_nobody_but_the_owner_is_offered_anything(service: Service, log: MemoryEventLog) -> None:
    log.append([draft(ev.ReaderGranted(reader="sub:lab", scopes=("lab",)))])
    remember(service, KEY, audience=("lab",))
    with pytest.raises(NotFound) as refused:
        service.open(OpenRequest(address="chart room", reader="sub:lab"))
    assert str(refused.value) == NOTHING


def test_what_is_muted_is_not_offered(service: Service, log: MemoryEventLog) -> None:
    log.append([draft(ev.ItemMuted(item=remember(service, KEY)))])
    assert told(service, "chart room") == {NOTHING}


@pytest.mark.skipif(not README.is_file(), reason="not beside the package")
def test_what_the_readme_remembers_it_can_forget(service: Service) -> None:
    text = README.read_text(encoding="utf-8")
    kept = re.search(r'`remember "([^"]+)" --name "([^"]+)"', text)
    forgotten = re.search(r'`forget "([^"]+)"`', text)
    assert kept
    assert forgotten
    item = remember(service, kept[1], name=kept[2])
    assert service.forget(ForgetRequest(item=forgotten[1])).item == item
