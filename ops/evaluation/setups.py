"""The setups that are compared: each is the product's own code, fed and switched so that some of its parts are off.

All see the same policy (grants, mutes, versions) and have the same budget: five pointers and 200 tokens a turn. S1 to
S6 push without a bar, so that what they find can be compared; S7 has the product's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final

from ...events.errors import RecallError
from ...projections.meaning.encoders import load_encoders
from .evaluate import Answer, ask
from .playback import Setup as Setup  # noqa: PLC0414 - this is where the suite's parts look for it
from .worlds import World

BASELINE: Final = "S2"
"""What every other setup is compared with: a plain topic search that knows all assets, too."""

_S1: Final = Setup(
    says="topic search over notes and sessions",
    assets=False,
    names=False,
    storing=False,
    learning=False,
    links=False,
    bar=False,
)
_S2: Final = replace(_S1, says="S1 + name and description of every asset", assets=True)
_S3: Final = replace(_S2, says="S2 + names and aliases, first when named", names=True)
_S4: Final = replace(_S3, says="S3 + use keys from storing", storing=True)
_S5: Final = replace(_S4, says="S4 + use keys from corrections and helped sessions", learning=True)
_S6: Final = replace(_S5, says="S5 + co-access links and last time", links=True)
_S7: Final = replace(_S6, says="S6 + the calibrated bar: the full push", bar=True)

SETUPS: Final[dict[str, Setup]] = {
    "S1": _S1,
    "S2": _S2,
    "S3": _S3,
    "S4": _S4,
    "S5": _S5,
    "S6": _S6,
    "S7": _S7,
    "S7 nightly": replace(_S7, says="S7 that knows nothing since midnight (no overlay)", overlay=False),
}
"""By name, each after the one that it builds on."""


def chosen(names: Iterable[str] | None = None) -> dict[str, Setup]:
    """The setups of these names in the order of SETUPS; all when it is None.

    Raises:
        RecallError: there is no setup of that name.
    """
    wanted = list(SETUPS if names is None else names)
    for name in wanted:
        if name not in SETUPS:
            raise RecallError(f"There is no setup {name!r:.40}. Choose from: {', '.join(SETUPS)}.")
    return {name: setup for name, setup in SETUPS.items() if name in wanted}


def run_setups(
    world: World, names: Iterable[str] | None = None, on_case: Callable[[int, int], None] | None = None
) -> dict[str, list[Answer]]:
    """Ask every case of every setup, earliest first; `on_case` is told (cases asked, cases in all) over all setups.

    Raises:
        RecallError: there is no setup of one of these names.
    """
    setups = chosen(names)
    encoders = load_encoders()
    total = len(setups) * len(world.cases)
    answers: dict[str, list[Answer]] = {}
    for place, (name, setup) in enumerate(setups.items()):
        before = place * len(world.cases)

        def told(done: int, _of: int, before: int = before) -> None:
            if on_case is not None:
                on_case(before + done, total)

        answers[name] = ask(world, setup=setup, encoders=encoders, on_case=told)
    return answers
