"""LoCoMo and LongMemEval in the form in which they are published: one JSON file each, whose path the user gives.

Nothing is fetched. Both become owners with sessions, as a set in uniform rows does; what a question is about is known
to the turn.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, Literal, TypeVar

import msgspec

from .public_sets import Group, PublicSet
from .worlds import BadWorld, Case, Session, Turn, World

R = TypeVar("R")

_TURN_ID: Final = re.compile(r"D:?(\d+):(\d+)")
"""A few of the evidence ids have a zero or a colon too many, or stand two in one text."""
_SESSION_KEY: Final = re.compile(r"session_(\d+)")
_CATEGORIES: Final = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
_LATER: Final = timedelta(seconds=1)


class _Said(msgspec.Struct, frozen=True):
    """A turn of LoCoMo."""

    speaker: str
    dia_id: str
    text: str
    blip_caption: str = ""


class _Asked(msgspec.Struct, frozen=True):
    """A question of LoCoMo; its answer is not looked at."""

    question: str
    category: int
    evidence: tuple[str, ...] = ()


class _Sample(msgspec.Struct, frozen=True):
    """A conversation of LoCoMo: `speaker_a`, `session_1`, `session_1_date_time`, and so on."""

    sample_id: str
    conversation: dict[str, Any]
    qa: tuple[_Asked, ...]


class _Message(msgspec.Struct, frozen=True):
    """A turn of LongMemEval."""

    role: Literal["user", "assistant"]
    content: str
    has_answer: bool | None = None


class _Question(msgspec.Struct, frozen=True):
    """A question of LongMemEval with a history of its own."""

    question_id: str
    question_type: str
    question: str
    question_date: str
    haystack_session_ids: tuple[str, ...]
    haystack_dates: tuple[str, ...]
    haystack_sessions: tuple[tuple[_Message, ...], ...]
    answer_session_ids: tuple[str, ...] = ()


def read_locomo(file: Path) -> PublicSet:
    """`locomo10.json`: each conversation is one owner. Adversarial questions ask for what was never said.

    Raises:
        BadWorld: the file cannot be read, or is not of that form; the message names the place in it.
    """
    groups, problems = [], []
    for number, sample in enumerate(_read(file, tuple[_Sample, ...])):
        try:
            groups.append(_conversation(sample))
        except (ValueError, TypeError) as error:  # what msgspec and strptime raise, too
            problems.append(f"{file.name}: the sample {number} ({sample.sample_id!r:.40}): {error}.")
    return _set(file, groups, problems)


def read_longmemeval(file: Path) -> PublicSet:
    """`longmemeval_s.json`, or another size of it: each question is one owner, with the sessions of its haystack.

    Questions whose id ends in `_abs` cannot be answered from them.

    Raises:
        BadWorld: the file cannot be read, or is not of that form; the message names the place in it.
    """
    groups, problems = [], []
    for number, question in enumerate(_read(file, tuple[_Question, ...])):
        try:
            groups.append(_haystack(question))
        except ValueError as error:
            problems.append(f"{file.name}: the question {number} ({question.question_id!r:.40}): {error}.")
    return _set(file, groups, problems)


def _read(file: Path, shape: type[R]) -> R:
    try:
        return msgspec.json.decode(file.read_bytes(), type=shape)
    except OSError as error:
        raise BadWorld([f"{file}: the file cannot be read ({error.strerror})."]) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadWorld([f"{file.name}: {error}. Give the file as it is published."]) from error


def _set(file: Path, groups: Sequence[Group], problems: Sequence[str]) -> PublicSet:
    if problems:
        raise BadWorld(problems)
    found = PublicSet(file.stem, tuple(groups))
    if not found.cases:
        raise BadWorld([f"{file.name}: there is no question in it."])
    return found


def _conversation(sample: _Sample) -> Group:
    sessions, places = [], {}
    for key, told in sample.conversation.items():
        if (match := _SESSION_KEY.fullmatch(key)) and told:
            session = f"{sample.sample_id}/S{match[1]}"
            said = msgspec.convert(told, tuple[_Said, ...])
            at = _date(sample.conversation.get(f"{key}_date_time"), "%I:%M %p on %d %B, %Y")
            first = sample.conversation.get("speaker_a")
            turns = [
                Turn(role="owner" if turn.speaker == first else "agent", text=_heard(turn), at=at) for turn in said
            ]
            sessions.append(Session(id=session, started_at=at, turns=tuple(turns)))
            for number, turn in enumerate(said, 1):
                places.update(dict.fromkeys(_turn_ids(turn.dia_id), (session, f"{session}#t{number}")))
    if not sessions:
        raise ValueError("it has no session_1")
    end = max(session.started_at for session in sessions) + _LATER
    cases, evidence = [], {}
    for number, asked in enumerate(sample.qa):
        category = _CATEGORIES.get(asked.category, str(asked.category))
        # An adversarial question points at the turn that only looks like its answer.
        ids = () if category == "adversarial" else (one for text in asked.evidence for one in _turn_ids(text))
        right = [places[one] for one in ids if one in places]
        key = f"{sample.sample_id}/q{number}"
        cases.append(_case(key, asked.question, category, [session for session, _ in right], end))
        evidence[key] = tuple(dict.fromkeys(place for _, place in right))
    return Group(_world(sessions, cases), evidence)


def _heard(turn: _Said) -> str:
    shown = f" [shares an image: {turn.blip_caption}]" if turn.blip_caption else ""
    return f"{turn.speaker}: {turn.text}{shown}"


def _turn_ids(text: str) -> Iterator[tuple[int, int]]:
    """Numbers of session and turn of every id in a text."""
    return ((int(session), int(turn)) for session, turn in _TURN_ID.findall(text))


def _haystack(question: _Question) -> Group:
    sessions: dict[str, Session] = {}
    evidence = []
    told = zip(question.haystack_session_ids, question.haystack_dates, question.haystack_sessions, strict=True)
    for name, date, messages in told:
        if not messages or name in sessions:  # some haystacks hold a session twice
            continue
        at = _date(date, "%Y/%m/%d (%a) %H:%M")
        turns = [
            Turn(role="owner" if message.role == "user" else "agent", text=message.content, at=at)
            for message in messages
        ]
        sessions[name] = Session(id=name, started_at=at, turns=tuple(turns))
        evidence += [f"{name}#t{number}" for number, message in enumerate(messages, 1) if message.has_answer]
    unanswerable = question.question_id.endswith("_abs")
    right = [] if unanswerable else [name for name in question.answer_session_ids if name in sessions]
    last = max((session.started_at for session in sessions.values()), default=None)
    asked = _date(question.question_date, "%Y/%m/%d (%a) %H:%M")
    category = "abstention" if unanswerable else question.question_type
    case = _case(question.question_id, question.question, category, right, max(asked, last or asked) + _LATER)
    places = [place for place in evidence if place.rpartition("#t")[0] in right]
    return Group(_world(list(sessions.values()), [case]), {case.id: tuple(places)})


def _date(text: object, form: str) -> datetime:
    if not isinstance(text, str):
        raise TypeError("a session has no date")
    return datetime.strptime(text.strip(), form).replace(tzinfo=UTC)


def _case(key: str, request: str, category: str, right: Sequence[str], at: datetime) -> Case:
    kind: Literal["topic", "none"] = "topic" if right else "none"
    return Case(id=key, at=at, request=request, kind=kind, expect=tuple(dict.fromkeys(right)), why=category)


def _world(sessions: Sequence[Session], cases: Sequence[Case]) -> World:
    return World(
        assets=(), notes=(), sessions=tuple(sessions), corrections=(), policy=(), cases=tuple(cases)
    )  # fmt: skip
