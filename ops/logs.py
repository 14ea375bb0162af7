"""How log lines look: the one place that configures structlog.

Lines go to standard error: one JSON object each where nobody watches, readable ones on a terminal. They hold event
names, ids and counts; never what the owner or a model wrote.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Mapping
from typing import TextIO

import structlog

from ..events.errors import RecallError

LEVELS = ("debug", "info", "warning", "error")
"""The values that INSTANT_RECALL_LOG_LEVEL may have, from most to least."""


def configure(default: str = "info", *, stream: TextIO | None = None, env: Mapping[str, str] = os.environ) -> None:
    """Send the log lines of this process, and those of the libraries it uses, to `stream` (standard error).

    `default` is the level where INSTANT_RECALL_LOG_LEVEL is not set. Call it once, at the start of a process.

    Raises:
        RecallError: INSTANT_RECALL_LOG_LEVEL is none of LEVELS.
    """
    level = env.get("INSTANT_RECALL_LOG_LEVEL", "").lower() or default
    if level not in LEVELS:
        raise RecallError(f"INSTANT_RECALL_LOG_LEVEL is {level!r:.20}. Set it to one of {', '.join(LEVELS)}.")
    number = logging.getLevelNamesMapping()[level.upper()]
    output = stream or sys.stderr
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    rendering = _rendering(output)
    structlog.configure(
        processors=[*shared, *rendering],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.PrintLoggerFactory(output),
    )
    handler = logging.StreamHandler(output)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *rendering],
        )
    )
    # Libraries speak of their own doings at "info"; an operator wants to hear of them only when something is wrong.
    # Said to the handler, for some of them set the level of their own logger.
    handler.setLevel(max(number, logging.WARNING))
    logging.basicConfig(handlers=[handler], level=handler.level, force=True)


def _rendering(output: TextIO) -> list[structlog.typing.Processor]:
    if output.isatty():
        return [structlog.dev.ConsoleRenderer()]
    return [structlog.processors.format_exc_info, _head_first, structlog.processors.JSONRenderer(ensure_ascii=False)]


def _head_first(_logger: object, _method: str, line: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """When, how grave, what: at the start of every line, so that the eye finds them."""
    head = {name: line.pop(name) for name in ("timestamp", "level", "event") if name in line}
    return {**head, **line}
