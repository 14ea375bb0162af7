"""What a Claude Code transcript says about cost: calls with their usage, pushes of ours, what tools were called with.

The format is internal to Claude Code and changes, so nothing in it is relied on: a line or a field that is not
understood is passed over and counted. Read in the order of the file: a compaction ends what stood before it. Not
followed: what a compaction kept of the tail (its pushes count as gone) and rewinds (a branch that was left counts as
still there). A sub-agent's lines are another chain than the main thread's.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from ...events.errors import RecallError
from ...projections.pointers import MOST, OPENING, tokens

LONGEST_LINE: Final = 64 * 1024 * 1024
"""Bytes; a longer line is passed over (whole prompts and pictures stand on one line each)."""

SEARCH_TOOLS: Final = frozenset({"Grep", "Glob", "WebSearch", "ToolSearch"})

_SEARCH_OF_MCP = re.compile(r"mcp__.*__(?:\w*_)?search(?:_\w*)?", re.IGNORECASE)
_SEARCH_OF_SHELL = re.compile(
    r"(?:^|&&|\|\||;|\n)\s*(?:sudo\s+)?(?:rg|grep|egrep|fgrep|find|fd|ag|ack|git\s+grep|instant-recall\s+search)\s"
)
_POINTER = re.compile(r"\[\w+\] (?P<rest>.*)Open: (?P<address>\S+)$")
_NEXT_FIELD = re.compile(r"(?:\.|…) (?:For: |Replaces: |$)")


class NotATranscript(RecallError):
    """A file is not a transcript of Claude Code. Choose one in its `projects` folder, ending in .jsonl."""


@dataclass(frozen=True)
class Call:
    """One call of the model. Tokens, as the provider billed them."""

    line: int
    chain: str
    input: int
    """Neither read from the cache nor written to it."""
    write_5m: int
    write_1h: int
    read: int
    output: int

    @property
    def prompt(self) -> int:
        """All tokens that went in."""
        return self.input + self.write_5m + self.write_1h + self.read


@dataclass(frozen=True)
class Pointed:
    """One pointer of a push."""

    name: str
    """As the pointer's line has it; empty when it has none."""
    address: str


@dataclass(frozen=True)
class Push:
    """A block of ours in the context."""

    line: int
    chain: str
    turn: int
    tokens: int
    """Estimated; the few words that the harness puts around it are not in it."""
    pointers: tuple[Pointed, ...]


@dataclass(frozen=True)
class ToolUse:
    """A tool that the model called."""

    line: int
    chain: str
    turn: int
    call: str
    """Which call of the model asked for it."""
    id: str
    name: str
    said: str
    """What it was called with, as JSON."""
    is_search: bool


@dataclass
class Transcript:
    """What was read. Lines are numbered from 1."""

    calls: dict[str, Call] = field(default_factory=dict)
    """By message id, in the order in which they first appear."""
    pushes: list[Push] = field(default_factory=list)
    tools: dict[str, ToolUse] = field(default_factory=dict)
    """By the tool use's id, in the order of the file."""
    results: dict[str, int] = field(default_factory=dict)
    """Estimated tokens of what a tool answered, by the tool use's id."""
    compactions: list[int] = field(default_factory=list)
    """Their lines."""
    turns: int = 0
    """Messages of the owner."""
    lines: int = 0
    passed_over: int = 0
    """Lines that are no JSON object, or too long."""

    def calls_behind(self, line: int, chain: str) -> list[Call]:
        """The calls of a chain whose context holds what was added at a line: up to the next compaction."""
        end = next((at for at in self.compactions if at > line), self.lines + 1)
        return [call for call in self.calls.values() if call.chain == chain and line < call.line < end]


def read(path: Path) -> Transcript:
    """Read a transcript.

    Raises:
        NotATranscript: no line of the file has the form of one, or it cannot be read.
    """
    found = Transcript()
    known = False
    try:
        for row in _rows(path, found):
            known = _take(found, row) or known
    except OSError as error:
        raise NotATranscript(
            f"{path} cannot be read ({error.strerror or error}). Check the path and its mode."
        ) from error
    if not known:
        raise NotATranscript(f"{path} is no transcript of Claude Code: none of its lines has the form of one.")
    return found


def _rows(path: Path, found: Transcript) -> Iterator[dict[str, Any]]:
    with path.open("rb") as file:
        while raw := file.readline(LONGEST_LINE):
            found.lines += 1
            whole = raw.endswith(b"\n") or len(raw) < LONGEST_LINE
            while not whole:
                rest = file.readline(LONGEST_LINE)
                whole = rest.endswith(b"\n") or not rest
                raw = b"?"
            row = _row(raw)
            if row is not None:
                yield row
            elif raw.strip():
                found.passed_over += 1


def _row(raw: bytes) -> dict[str, Any] | None:
    try:
        row = json.loads(raw.decode("utf-8-sig", errors="replace"))
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) else None


def _take(found: Transcript, row: Mapping[str, Any]) -> bool:
    """Note what a line says. False: a line like it stands in other files too."""
    kind = row.get("type")
    if kind == "assistant":
        _assistant(found, row)
    elif kind == "user":
        _user(found, row)
    elif kind == "attachment":
        _attachment(found, row)
    elif kind == "system" and row.get("subtype") == "compact_boundary":
        found.compactions.append(found.lines)
    return isinstance(kind, str) and ("sessionId" in row or isinstance(row.get("message"), dict))


def _assistant(found: Transcript, row: Mapping[str, Any]) -> None:
    message = _mapping(row.get("message"))
    if message.get("model") == "<synthetic>" or row.get("isApiErrorMessage"):
        return  # the harness's own words, which nobody billed
    names = (message.get("id"), row.get("requestId"), row.get("requestRef"), row.get("uuid"))
    call = next((name for name in names if isinstance(name, str) and name), f"line {found.lines}")
    _note_usage(found, call, row, _mapping(message.get("usage")))
    for block in _blocks(message.get("content")):
        if block.get("type") == "tool_use":
            name, said = str(block.get("name")), block.get("input")
            id_ = str(block.get("id") or f"line {found.lines}")
            use = ToolUse(
                line=found.lines,
                chain=_chain(row),
                turn=found.turns,
                call=call,
                id=id_,
                name=name,
                said=json.dumps(said, ensure_ascii=False),
                is_search=_is_search(name, _mapping(said)),
            )
            found.tools.setdefault(id_, use)


def _note_usage(found: Transcript, name: str, row: Mapping[str, Any], usage: Mapping[str, Any]) -> None:
    """One reply may be split over several lines, each with a usage: that with the most output is the last."""
    hour = _count(_mapping(usage.get("cache_creation")).get("ephemeral_1h_input_tokens"))
    short = _count(_mapping(usage.get("cache_creation")).get("ephemeral_5m_input_tokens"))
    # Older versions tell the sum only, and write for five minutes.
    short = max(short, _count(usage.get("cache_creation_input_tokens")) - hour)
    known = found.calls.get(name)
    call = Call(
        line=known.line if known else found.lines,
        chain=_chain(row),
        input=_count(usage.get("input_tokens")),
        write_5m=short,
        write_1h=hour,
        read=_count(usage.get("cache_read_input_tokens")),
        output=_count(usage.get("output_tokens")),
    )
    if call.prompt and (known is None or call.output > known.output):
        found.calls[name] = call


def _user(found: Transcript, row: Mapping[str, Any]) -> None:
    content = _mapping(row.get("message")).get("content")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else list(_blocks(content))
    for block in blocks:
        if block.get("type") == "tool_result":
            found.results[str(block.get("tool_use_id"))] = tokens("\n".join(_texts(block.get("content"))))
    said = [text for block in blocks if block.get("type") == "text" for text in _texts([block])]
    if row.get("isMeta") or row.get("isCompactSummary") or row.get("repeatsCompactSummary") or not said:
        return
    if not row.get("isSidechain") and not said[0].lstrip().startswith(("<command-", "<local-command-")):
        found.turns += 1
    # A harness without hooks puts the block into the owner's message.
    _note_pushes(found, row, said, found.turns)


def _attachment(found: Transcript, row: Mapping[str, Any]) -> None:
    attachment = _mapping(row.get("attachment"))
    # A hook that answers in JSON leaves the text in the first kind, one that prints it in the second.
    if attachment.get("type") in ("hook_additional_context", "hook_success"):
        before_the_message = attachment.get("hookEvent") == "SessionStart"
        texts = _texts(attachment.get("content"))
        _note_pushes(found, row, texts, found.turns + before_the_message)


def _note_pushes(found: Transcript, row: Mapping[str, Any], texts: list[str], turn: int) -> None:
    for text in texts:
        lines = text.splitlines()
        for n, line in enumerate(lines):
            # At the head of a line: a message that speaks of a push is none.
            if line.startswith(OPENING):
                matches = (_POINTER.match(each.strip()) for each in lines[n + 1 : n + 1 + MOST])
                pointed = [match for match in matches if match]
                block = "\n".join((OPENING, *(match.string for match in pointed)))
                pointers = tuple(_pointed(match) for match in pointed)
                found.pushes.append(Push(found.lines, _chain(row), turn, tokens(block), pointers))


def _pointed(line: re.Match[str]) -> Pointed:
    return Pointed(_NEXT_FIELD.split(line["rest"], maxsplit=1)[0].partition(": ")[0], line["address"])


def _is_search(name: str, said: Mapping[str, Any]) -> bool:
    if name == "Bash":
        return bool(_SEARCH_OF_SHELL.search(str(said.get("command"))))
    return name in SEARCH_TOOLS or bool(_SEARCH_OF_MCP.fullmatch(name))


def _chain(row: Mapping[str, Any]) -> str:
    return str(row.get("agentId") or "sidechain") if row.get("isSidechain") else ""


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _blocks(value: object) -> Iterator[Mapping[str, Any]]:
    yield from (block for block in value if isinstance(block, dict)) if isinstance(value, list) else ()


def _texts(value: object) -> list[str]:
    """The texts of a content field, which is a text, or a list of texts or of blocks."""
    if isinstance(value, str):
        return [value]
    pieces = value if isinstance(value, list) else []
    found = [piece.get("text") if isinstance(piece, dict) else piece for piece in pieces]
    return [text for text in found if isinstance(text, str)]


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
