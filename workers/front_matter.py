"""Front matter: the `key: value` lines between `---` at the top of a Markdown file, read leniently and never trusted.

Real files break the rules all the time (a colon in an unquoted description is the commonest), so what YAML refuses is
read line by line. Every value is text: no dates, numbers or objects are made from it. Aliases are refused, because a
few hundred bytes of them can stand for gigabytes.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec
import yaml

LARGEST: Final = 64 * 1024
"""Characters of front matter that are read; real ones have a few hundred."""
DEEPEST: Final = 12
"""Levels of nesting that are read."""
LONGEST_PHRASE: Final = 300
"""Characters of one phrase of a list."""
MOST_PHRASES: Final = 20
"""Phrases of one list that are kept."""

NOT_YAML: Final = "front matter is not YAML"
TOO_LARGE: Final = "front matter is larger than 64 KiB"

_KEY_LINE = re.compile(r"([A-Za-z][\w -]{0,60}?)\s*:(?:\s+(.*))?$")
_BLOCK = re.compile(r"[|>][+-]?\d?$")
_JOINERS: Final = "\u200c\u200d"
"""Invisible, but emoji and several scripts are spelt with them."""


class FrontMatter(msgspec.Struct, frozen=True):
    """A file's front matter and what follows it."""

    fields: Mapping[str, object]
    """Values by key in lower case with `_` for `-` and space; each a string, a list or a mapping of the same."""
    body: str
    body_line: int
    """The line of the file on which the body begins, counted from 1."""
    problem: str = ""
    """Why the front matter could not be used; then there are no fields and the body is the whole file."""

    def text(self, key: str, limit: int) -> str:
        """A field as one clean line of at most `limit` characters; empty when it is not there or is no text."""
        value = self.fields.get(key, "")
        return one_line(value, limit) if isinstance(value, str) and value not in {"null", "~"} else ""

    def phrases(self, *keys: str) -> tuple[str, ...]:
        """The phrases of one or more fields, each a list or a text whose phrases are parted by `;` or line ends."""
        found = (one_line(phrase, LONGEST_PHRASE) for key in keys for phrase in _parts(self.fields.get(key)))
        return tuple(dict.fromkeys(phrase for phrase in found if phrase))[:MOST_PHRASES]

    def inside(self, key: str) -> FrontMatter:
        """The mapping below a key, as front matter of its own; without fields when there is none."""
        value = self.fields.get(key)
        return FrontMatter(_keyed(value) if isinstance(value, dict) else {}, self.body, self.body_line)


def read_front_matter(text: str, *, strict: bool = False) -> FrontMatter:
    """Part a file, whose lines end in LF, into front matter and body. Never fails: see `FrontMatter.problem`.

    `strict` is for files in which a first line of dashes may be a mere rule: there, front matter that nobody closed or
    that has lines of prose is none at all.
    """
    lines = text.split("\n")
    if lines[0].rstrip() != "---":
        return FrontMatter({}, text, 1)
    closing = next((n for n, line in enumerate(lines[1:], 1) if line.rstrip() in {"---", "..."}), None)
    keyed_to = _end_of_keys(lines)
    end = keyed_to if closing is None else closing
    source = "\n".join(lines[1:end])
    if len(source) > LARGEST:
        return FrontMatter({}, text, 1, TOO_LARGE)
    fields = None if strict and closing is None else _from_yaml(source)
    if fields is None and not (strict and (closing is None or keyed_to < closing)):
        fields = _from_lines(lines[1:end])
    if not fields and (closing is None or source.strip()):
        return FrontMatter({}, text, 1, NOT_YAML)
    after = end if closing is None else end + 1
    return FrontMatter(fields or {}, "\n".join(lines[after:]), after + 1)


def one_line(text: str, limit: int) -> str:
    """Text as one line: control, bidi and other invisible characters dropped, white space folded, cut at `limit`."""
    folded = " ".join(unicodedata.normalize("NFC", text[: 4 * limit]).split())
    shown = " ".join("".join(c for c in folded if not is_invisible(c)).split())
    return shown if len(shown) <= limit else shown[: limit - 1].rstrip() + "…"


def is_invisible(c: str) -> bool:
    """Whether a character shows nothing by itself: control, bidi, zero-width, private or unknown."""
    return unicodedata.category(c).startswith("C") and c not in _JOINERS


class _Loader(yaml.BaseLoader):
    """YAML in which every scalar is a string, and which refuses aliases and deep nesting."""

    depth = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("aliases are not read")
        if self.depth >= DEEPEST:
            raise yaml.YAMLError("nested too deeply")
        self.depth += 1
        try:
            return super().compose_node(parent, index)
        finally:
            self.depth -= 1


def _from_yaml(source: str) -> dict[str, object] | None:
    """The fields, or None when this is not a YAML mapping."""
    try:
        value = yaml.load(source, _Loader)  # noqa: S506 - a BaseLoader makes strings, lists and mappings only
    except yaml.YAMLError:
        return None
    return _keyed(value) if isinstance(value, dict) else None


def _keyed(value: dict[Any, object]) -> dict[str, object]:
    return {_normal(key): entry for key, entry in value.items() if isinstance(key, str)}


def _normal(key: str) -> str:
    return key.strip().lower().replace("-", "_").replace(" ", "_")


def _end_of_keys(lines: list[str]) -> int:
    """The first line that cannot be part of front matter: there it ends when nobody closed it."""
    for n, line in enumerate(lines[1:], 1):
        if not (_KEY_LINE.match(line) or (line[:1] in {" ", "\t", "-"} and line.strip())):
            return n
    return len(lines)


def _from_lines(lines: list[str]) -> dict[str, object]:
    """What `key: value` lines say, each with the indented or listed lines below it."""
    fields: dict[str, object] = {}
    n = 0
    while n < len(lines):
        match = _KEY_LINE.match(lines[n])
        n += 1
        if match is None:
            continue
        below = []
        while n < len(lines) and (lines[n][:1] in {" ", "\t", "-"} or not lines[n].strip()):
            below.append(lines[n].strip())
            n += 1
        value = _value((match[2] or "").strip(), below)
        if any(map(str.isalnum, "".join(value))):
            fields[_normal(match[1])] = value
    return fields


def _value(first: str, below: list[str]) -> str | list[str]:
    if _BLOCK.match(first):
        return ("\n" if first.startswith("|") else " ").join(below).strip()
    written = [line for line in below if line]
    if not first and written and all(line.startswith("-") for line in written):
        return [_unquoted(line[1:].strip()) for line in written]
    if first[:1] in {"[", "{"} and not first.endswith(("]", "}")):
        return ""
    return _unquoted(" ".join([first, *written]).strip())


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in {'"', "'"} else text


def _parts(value: object) -> Iterator[str]:
    if isinstance(value, list):
        yield from (entry for entry in value if isinstance(entry, str))
    elif isinstance(value, str):
        yield from re.split(r"[;\n]", value)
