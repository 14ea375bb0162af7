from __future__ import annotations

import pytest
from instant_recall.events.types import EVENT_TYPES
from instant_recall.events.upcasters import UPCASTERS, upcast, upcast_asset_recorded_v1_v2


def test_every_old_version_has_a_way_up_and_there_is_no_other() -> None:
    wanted = {(name, version) for name, cls in EVENT_TYPES.items() for version in range(1, cls.version)}

    assert set(UPCASTERS) == wanted


def test_an_asset_of_the_first_version_without_text_goes_up() -> None:
    raw = {"item": "tool:x", "kind": "tool"}

    assert upcast_asset_recorded_v1_v2(raw) == {"item": "tool:x", "kind": "tool", "use_when": [], "address": ""}


def test_windows_line_ends_and_blank_lines_make_no_phrases() -> None:
    raw = upcast_asset_recorded_v1_v2({"use_when": "one\r\n\r\n  two  \r\n"})

    assert raw["use_when"] == ["one", "two"]


def test_an_event_of_today_is_left_as_it_is() -> None:
    raw = {"item": "tool:x", "use_when": ["a"]}

    assert upcast("asset_recorded", 2, 2, raw) == {"item": "tool:x", "use_when": ["a"]}


@pytest.mark.parametrize("version", [0, -3])
def test_a_version_that_never_was_is_refused(version: int) -> None:
    with pytest.raises(KeyError):
        upcast("asset_recorded", version, 2, {})
