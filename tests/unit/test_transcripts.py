"""What a transcript of Claude Code says about cost: small ones written here, with usage as a provider bills it."""

import json
import os
from fractions import Fraction
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from instant_recall.ops.cli import main
from instant_recall.ops.costs.cost import ANTHROPIC, Prices, Situation, pointer_list, search_and_rereads
from instant_recall.ops.costs.transcript_cost import audit, bill
from instant_recall.ops.costs.transcripts import NotATranscript, Pointed, Transcript, read
from instant_recall.projections.pointers import OPENING, block, tokens

SAMPLES = os.environ.get("RECALL_TRANSCRIPTS", "")  # conftest removes what begins with INSTANT_RECALL_
PETREL = "[machine] petrel: the GPU workstation in the wet lab. Open: notes/machines/petrel.md:L8-L21"
PORTAL = "[skill] portal-helper: drives a logged-in browser. For: a blocked download. Open: skill:portal-helper"
BLOCK = block([PETREL, PORTAL])


class Session:
    """Writes a transcript line by line; the context grows as it does in a session whose cache holds."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.cached = 0
        self._ids = count(1)

    def add(self, kind: str, **fields: Any) -> None:
        self.lines.append(json.dumps({"type": kind, "sessionId": "s1", "isSidechain": False, **fields}))

    def owner(self, text: str = "where does it run?", **fields: Any) -> None:
        self.add("user", message={"role": "user", "content": text}, **fields)

    def hook(self, text: str = BLOCK, event: str = "UserPromptSubmit", **fields: Any) -> None:
        attachment = {"type": "hook_additional_context", "content": [text], "hookEvent": event}
        self.add("attachment", attachment=attachment, **fields)

    def call(
        self, *tools: tuple[str, dict[str, Any]], wrote: int = 1_000, hit: bool = True, **fields: Any
    ) -> list[str]:
        """One reply of the model; the ids of the tools that it asks for."""
        ids = [f"toolu_{next(self._ids)}" for _ in tools]
        content = [
            {"type": "tool_use", "id": id_, "name": name, "input": said}
            for id_, (name, said) in zip(ids, tools, strict=True)
        ]
        usage = {
            "input_tokens": 2,
            "cache_creation_input_tokens": wrote if hit else self.cached + wrote,
            "cache_read_input_tokens": self.cached if hit else 0,
            "output_tokens": 10,
        }
        self.cached += wrote
        message = {"id": f"msg_{next(self._ids)}", "model": "claude-x", "content": content, "usage": usage}
        self.add("assistant", **{"message": message, **fields})
        return ids

    def answer(self, ids: list[str], text: str = "found it") -> None:
        """What each of these tools said."""
        for id_ in ids:
            result = {"type": "tool_result", "tool_use_id": id_, "content": [{"type": "text", "text": text}]}
            self.add("user", message={"role": "user", "content": [result]})

    def compact(self) -> None:
        self.add("system", subtype="compact_boundary")
        self.add("user", message={"role": "user", "content": "what was said"}, isCompactSummary=True)

    def write(self, folder: Path, *more: bytes) -> Path:
        path = folder / "session.jsonl"
        path.write_bytes("".join(line + "\n" for line in self.lines).encode() + b"".join(more))
        return path

    def read(self, folder: Path) -> Transcript:
        return read(self.write(folder))


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["cost", *map(str, arguments)])


def usage(**fields: Any) -> dict[str, Any]:
    return {"message": {"id": "given", "model": "claude-x", "content": [], "usage": fields}}


def test_a_reply_in_several_lines_is_one_call_with_its_last_usage(tmp_path: Path) -> None:
    session = Session()
    for output in (3, 40, 8):
        session.add("assistant", **usage(input_tokens=5, cache_read_input_tokens=900, output_tokens=output))
    (call,) = session.read(tmp_path).calls.values()
    assert (call.line, call.input, call.read, call.output) == (1, 5, 900, 40)


@pytest.mark.parametrize("name", ["requestId", "requestRef"])
def test_lines_without_a_message_id_are_joined_by_their_request(name: str, tmp_path: Path) -> None:
    session = Session()
    for request in ("r1", "r1", "r2"):
        session.add("assistant", message={"usage": {"input_tokens": 5}}, **{name: request})
    assert len(session.read(tmp_path).calls) == 2


def test_writes_for_five_minutes_and_for_an_hour_are_charged_apart(tmp_path: Path) -> None:
    session = Session()
    lives = {"ephemeral_5m_input_tokens": 400, "ephemeral_1h_input_tokens": 600}
    session.add(
        "assistant",
        **usage(
            input_tokens=10, cache_creation_input_tokens=1_000, cache_read_input_tokens=5_000, cache_creation=lives
        ),
    )
    (call,) = session.read(tmp_path).calls.values()
    assert bill(call, ANTHROPIC) == 10 + Fraction("1.25") * 400 + 2 * 600 + Fraction("0.1") * 5_000


def test_a_write_of_no_stated_life_is_one_of_five_minutes(tmp_path: Path) -> None:
    session = Session()
    session.add("assistant", **usage(cache_creation_input_tokens=1_000))
    (call,) = session.read(tmp_path).calls.values()
    assert (call.write_5m, call.write_1h) == (1_000, 0)


def test_what_the_harness_says_in_the_model_s_name_is_no_call(tmp_path: Path) -> None:
    session = Session()
    session.owner()
    session.add("assistant", message={"id": "m", "model": "<synthetic>", "usage": {"input_tokens": 9}})
    session.add("assistant", isApiErrorMessage=True, message={"id": "n", "usage": {"input_tokens": 9}})
    session.add("assistant", **usage(input_tokens=0, output_tokens=0))
    assert session.read(tmp_path).calls == {}


def test_a_push_is_found_in_what_a_hook_added(tmp_path: Path) -> None:
    session = Session()
    session.owner()
    session.hook()
    session.hook("another hook's text")
    (push,) = session.read(tmp_path).pushes
    assert push.tokens == tokens(BLOCK)
    assert push.turn == 1
    assert push.pointers == (
        Pointed("petrel", "notes/machines/petrel.md:L8-L21"),
        Pointed("portal-helper", "skill:portal-helper"),
    )


def test_a_push_is_found_in_what_a_hook_printed_and_beside_the_owner_s_words(tmp_path: Path) -> None:
    session = Session()
    session.owner(f"where does it run?\n\n{BLOCK}")
    printed = {"type": "hook_success", "content": f"{BLOCK}\n", "stdout": f"{BLOCK}\n"}
    session.add("attachment", attachment=printed)
    assert [push.tokens for push in session.read(tmp_path).pushes] == [tokens(BLOCK)] * 2


def test_a_hook_that_answered_in_json_is_counted_once(tmp_path: Path) -> None:
    session = Session()
    session.owner()
    session.add("attachment", attachment={"type": "hook_success", "content": "", "stdout": json.dumps({"a": BLOCK})})
    session.hook()
    assert len(session.read(tmp_path).pushes) == 1


def test_words_about_a_push_are_no_push(tmp_path: Path) -> None:
    session = Session()
    session.owner(f'what does "{OPENING}" mean?')
    session.answer(session.call(("Read", {"file_path": "README.md"})), BLOCK)
    session.add("user", message={"role": "user", "content": BLOCK}, isCompactSummary=True)
    session.add("queue-operation", content=BLOCK)
    assert session.read(tmp_path).pushes == []


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("[machine] petrel. Open: machine:petrel", "petrel"),
        ("[machine] petrel: GPU: the big one. For: a run… Open: machine:petrel", "petrel"),
        ("[note] the long lens… Open: note:lens", "the long lens"),
        ("[skill] plot-it. Replaces: plotter. Open: skill:plot-it", "plot-it"),
    ],
)
def test_a_pointer_s_name_is_read_from_its_line(line: str, name: str, tmp_path: Path) -> None:
    session = Session()
    session.hook(block([line]))
    assert session.read(tmp_path).pushes[0].pointers[0].name == name


def test_a_turn_is_a_message_of_the_owner_and_nothing_else(tmp_path: Path) -> None:
    session = Session()
    session.owner()
    session.owner("<command-name>/compact</command-name>")
    session.owner("a caveat", isMeta=True)
    session.compact()
    session.answer(session.call(("Bash", {"command": "ls"})))
    session.add("user", message={"role": "user", "content": [{"type": "text", "text": "and then?"}]})
    assert session.read(tmp_path).turns == 2


def test_a_push_in_a_session_whose_cache_holds_costs_what_the_formula_says(tmp_path: Path) -> None:
    session = Session()
    session.call()
    session.owner()
    session.hook()
    for _ in range(31):
        session.call()
    (push,) = audit(session.read(tmp_path), ANTHROPIC).pushes
    assert (push.carried.calls, push.carried.read, push.carried.rewritten) == (31, 30, 0)
    assert push.cost == pointer_list(ANTHROPIC, Situation(pointer_tokens=tokens(BLOCK), pointers=1))


def test_the_same_session_with_and_without_a_push_differs_by_what_the_push_is_said_to_cost(tmp_path: Path) -> None:
    bills = []
    for pushed in (0, tokens(BLOCK)):
        session = Session()
        session.owner()
        session.call()
        session.owner()
        if pushed:
            session.hook()
        session.call(wrote=1_000 + pushed)
        for _ in range(7):
            session.call()
        found = audit(session.read(tmp_path), ANTHROPIC)
        bills.append(found.input)
    assert bills[1] - bills[0] == found.pushes[0].cost


def test_where_the_cache_ran_out_a_push_is_written_again(tmp_path: Path) -> None:
    session = Session()
    session.owner()
    session.hook()
    session.call()
    session.call()
    session.call(hit=False)
    session.call()
    (push,) = audit(session.read(tmp_path), ANTHROPIC).pushes
    assert (push.carried.read, push.carried.rewritten) == (2, 1)
    assert push.cost == tokens(BLOCK) * (2 * Fraction("1.25") + 2 * Fraction("0.1"))


def test_without_a_cache_every_call_takes_a_push_in_at_full_price(tmp_path: Path) -> None:
    session = Session()
    session.hook()
    for name in ("m1", "m2", "m3"):
        session.add("assistant", message={"id": name, "usage": {"input_tokens": 500}})
    (push,) = audit(session.read(tmp_path), ANTHROPIC).pushes
    assert push.cost == 3 * tokens(BLOCK)


def test_a_compaction_ends_what_a_push_costs(tmp_path: Path) -> None:
    session = Session()
    session.owner()
    session.hook()
    session.call()
    session.call()
    session.compact()
    session.cached = 500
    session.call()
    session.hook()
    session.call()
    first, second = audit(session.read(tmp_path), ANTHROPIC).pushes
    assert first.carried.calls == 2
    assert second.carried.calls == 1


def test_a_push_that_no_call_followed_cost_nothing(tmp_path: Path) -> None:
    session = Session()
    session.owner()
    session.call()
    session.hook()
    (push,) = audit(session.read(tmp_path), ANTHROPIC).pushes
    assert push.cost == 0


def test_calls_of_a_sub_agent_do_not_carry_the_main_thread_s_push(tmp_path: Path) -> None:
    session = Session()
    session.owner()
    session.hook()
    session.call()
    session.call(isSidechain=True, agentId="a1")
    (push,) = audit(session.read(tmp_path), ANTHROPIC).pushes
    assert push.carried.calls == 1


@pytest.mark.parametrize(
    ("name", "said", "is_search"),
    [
        ("Grep", {"pattern": "petrel"}, True),
        ("Glob", {"pattern": "**/*.md"}, True),
        ("WebSearch", {"query": "petrel"}, True),
        ("mcp__instant-recall__search", {"query": "petrel"}, True),
        ("mcp__notes__search_pages", {"query": "petrel"}, True),
        ("mcp__research__fetch", {"url": "x"}, False),
        ("mcp__instant-recall__open", {"address": "x"}, False),
        ("Bash", {"command": "cd src && rg petrel"}, True),
        ("Bash", {"command": "instant-recall search petrel"}, True),
        ("Bash", {"command": "make test | grep -c ok"}, False),
        ("Bash", {"command": "echo findings"}, False),
        ("Bash", None, False),
        ("Read", {"file_path": "search.py"}, False),
    ],
    ids=str,
)
def test_tools_that_search_are_told_from_others(name: str, said: Any, is_search: bool, tmp_path: Path) -> None:
    session = Session()
    session.call((name, said))
    (tool,) = session.read(tmp_path).tools.values()
    assert tool.is_search is is_search


def test_a_search_costs_the_call_behind_it_and_the_later_reads_of_what_it_brought(tmp_path: Path) -> None:
    session = Session()
    session.owner()
    session.cached = 100_000
    session.answer(session.call(("Grep", {"pattern": "petrel"}), wrote=0), "petrel " * 500)
    session.call(wrote=500)
    session.call()
    session.call()
    (search,) = audit(session.read(tmp_path), ANTHROPIC).searches
    assert search.carried.tokens == 500
    assert search.call == 10_625 + 2  # the two tokens behind the last cache mark
    assert search.cost == search.call + 2 * 500 * Fraction("0.1")


def test_tools_asked_for_together_share_the_call_behind_them(tmp_path: Path) -> None:
    session = Session()
    session.answer(session.call(("Grep", {"pattern": "petrel"}), ("Read", {"file_path": "a.md"})))
    session.call()
    transcript = session.read(tmp_path)
    (search,) = audit(transcript, ANTHROPIC).searches
    assert search.call == bill(list(transcript.calls.values())[-1], ANTHROPIC) / 2


@pytest.mark.parametrize(
    ("tools", "outcome"),
    [
        ([("Bash", {"command": "ssh petrel nvidia-smi"})], "used"),
        ([("Read", {"file_path": "/home/sam/notes/machines/petrel.md"})], "used"),
        ([("Skill", {"skill": "portal-helper"})], "used"),
        ([("mcp__instant-recall__open", {"address": "skill:portal-helper"})], "used"),
        ([("Bash", {"command": "ls"}), ("Bash", {"command": "ssh petrel"})], "used"),
        ([("Grep", {"pattern": "petrel"}), ("Bash", {"command": "ssh petrel"})], "searched"),
        ([("Bash", {"command": "ssh storm-petrel"})], "unused"),
        ([("Bash", {"command": "ls"})], "unused"),
        ([], "unused"),
    ],
    ids=str,
)
def test_what_came_of_a_push_is_read_from_the_tools_of_its_turn(
    tools: list[tuple[str, dict[str, Any]]], outcome: str, tmp_path: Path
) -> None:
    session = Session()
    session.owner()
    session.hook()
    for tool in tools:
        session.answer(session.call(tool))
    session.call()
    session.owner("something else")
    session.call(("Bash", {"command": "ssh petrel"}))
    (push,) = audit(session.read(tmp_path), ANTHROPIC).pushes
    assert push.outcome == outcome


def test_a_push_at_the_start_of_a_session_belongs_to_its_first_turn(tmp_path: Path) -> None:
    session = Session()
    session.hook(event="SessionStart")
    session.owner()
    session.call(("Bash", {"command": "ssh petrel"}))
    assert audit(session.read(tmp_path), ANTHROPIC).pushes[0].outcome == "used"


def test_a_spared_search_is_priced_in_the_context_of_that_moment(tmp_path: Path) -> None:
    session = Session()
    session.cached = 40_000
    session.owner()
    session.hook()
    session.call(("Bash", {"command": "ssh petrel"}))
    session.call()
    (push,) = audit(session.read(tmp_path), ANTHROPIC).pushes
    assert push.search == search_and_rereads(ANTHROPIC, Situation(context=41_002, later_calls=1))


def test_prices_can_be_given_for_a_session_too(tmp_path: Path) -> None:
    session = Session()
    session.owner()
    session.hook()
    session.call()
    transcript = session.read(tmp_path)
    assert audit(transcript, Prices(write=Fraction(2))).pushes[0].cost == 2 * tokens(BLOCK)
    said = run("--json", "--write", "2", "--transcript", tmp_path / "session.jsonl")
    assert json.loads(said.stdout)["pushes"][0]["cost"] == 2 * tokens(BLOCK)


def test_fields_of_other_forms_are_passed_over(tmp_path: Path) -> None:
    session = Session()
    session.owner()
    odd: list[Any] = [None, 7, "x", [], [None, 3, {"type": "text"}], {}]
    for value in odd:
        session.add("user", message=value)
        session.add("user", message={"content": value})
        session.add("assistant", message=value)
        session.add("assistant", message={"id": value, "content": value, "usage": value})
        session.add("assistant", message={"content": [{"type": "tool_use", "name": value, "input": value}]})
        session.add("assistant", **usage(input_tokens=value, cache_creation=value, output_tokens=-1))
        session.add("attachment", attachment=value)
        session.add("attachment", attachment={"type": "hook_additional_context", "content": value})
        session.add("system", subtype=value)
        session.add("something-new", content=value)
    session.add("assistant", **usage(input_tokens=True, cache_read_input_tokens=-5, output_tokens=1.5))
    session.call()
    transcript = session.read(tmp_path)
    # 7 input tokens are a number like any other.
    assert [call.prompt for call in transcript.calls.values()] == [7, 1_002]
    assert run("--transcript", tmp_path / "session.jsonl").exit_code == 0


def test_lines_that_cannot_be_read_are_passed_over_and_counted(tmp_path: Path) -> None:
    session = Session()
    session.owner()
    session.call()
    path = session.write(tmp_path, b"{half\n", b"\xff\xfe\n", b"[1]\n", b"\n", b"[" * 100_000 + b"\n", b'{"type":"assi')
    transcript = read(path)
    assert len(transcript.calls) == 1
    assert transcript.passed_over == 5
    assert "5 lines passed over" in run("--transcript", path).stdout


def test_a_line_that_is_too_long_is_passed_over_without_what_follows_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("instant_recall.ops.costs.transcripts.LONGEST_LINE", 1_000)
    session = Session()
    session.owner("x" * 5_000)
    session.owner()
    session.call()
    transcript = session.read(tmp_path)
    assert (transcript.turns, len(transcript.calls), transcript.passed_over, transcript.lines) == (1, 1, 1, 3)


@pytest.mark.parametrize("content", [b"", b"\n\n", b"# notes\n", b'{"type": "x"}\n', b"\x00\x01", b"{}\n[]\n"])
def test_a_file_of_another_kind_is_one_line_that_names_it(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "other.jsonl"
    path.write_bytes(content)
    with pytest.raises(NotATranscript):
        read(path)
    said = run("--transcript", path)
    assert said.exit_code == 1
    assert said.stdout == ""
    assert len(said.stderr.splitlines()) == 1
    assert "other.jsonl" in said.stderr


def test_a_file_that_is_not_there_is_typed_wrongly(tmp_path: Path) -> None:
    assert run("--transcript", tmp_path / "none.jsonl").exit_code == 2
    assert run("--transcript", tmp_path).exit_code == 2


def test_what_the_transcript_tells_cannot_be_given_beside_it(tmp_path: Path) -> None:
    session = Session()
    session.call()
    path = session.write(tmp_path)
    for arguments in (["--context", "5"], ["--later", "3"], ["--table"]):
        assert run("--transcript", path, *arguments).exit_code == 2


def test_the_command_tells_a_session_within_eighty_columns_and_without_its_words(tmp_path: Path) -> None:
    session = Session()
    session.cached = 60_000
    for n in range(12):
        session.owner("a private matter")
        if n % 3 == 0:
            session.hook()
            session.answer(session.call(("Bash", {"command": "ssh petrel"})))
        if n % 4 == 1:
            session.answer(session.call(("Grep", {"pattern": "private"})), "private " * 300)
        session.call()
    path = session.write(tmp_path)
    said = run("--transcript", path).stdout
    assert "4 pushes" in said
    assert "3 searches" in said
    assert "at most 4 searches" in said
    assert max(map(len, said.splitlines())) <= 80
    found = json.loads(run("--json", "--transcript", path).stdout)
    assert len(found["pushes"]) == 4
    assert found["spared_at_most"]["searches"] == 4
    for text in (said, json.dumps(found)):
        assert "private" not in text
        assert "petrel" not in text


@pytest.mark.skipif(not SAMPLES, reason="RECALL_TRANSCRIPTS names no folder of real transcripts")
def test_real_transcripts_add_up_to_what_the_harness_counted_itself() -> None:
    for path in sorted(Path(SAMPLES).glob("*.jsonl")):
        transcript = read(path)
        assert transcript.passed_over == 0
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        counted = [row for row in rows if row.get("type") == "cost-state"][-1]["modelUsage"].values()
        missing = sum(used["inputTokens"] for used in counted) - sum(c.input for c in transcript.calls.values())
        # The calls that summarise for a compaction are not in the transcript.
        assert (missing > 0) == bool(transcript.compactions)
