"""Log lines: JSON where nobody looks on, readable on a terminal, and quiet libraries."""

import io
import json
import logging

import pytest
import structlog
from instant_recall.events.errors import RecallError
from instant_recall.ops.logs import configure


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def lines(output: io.StringIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in output.getvalue().splitlines()]


def test_off_a_terminal_each_line_is_one_json_object_that_begins_with_when_and_what() -> None:
    output = io.StringIO()
    configure(stream=output, env={})
    structlog.get_logger().info("snapshot.published", generation=3, name="линза\n2")
    (line,) = lines(output)
    assert list(line) == ["timestamp", "level", "event", "generation", "name"]
    assert (line["event"], line["generation"], line["name"]) == ("snapshot.published", 3, "линза\n2")


def test_on_a_terminal_lines_are_for_reading() -> None:
    output = Terminal()
    configure(stream=output, env={})
    structlog.get_logger().info("snapshot.published", generation=3)
    assert "snapshot.published" in output.getvalue()
    assert not output.getvalue().startswith("{")


def test_libraries_are_heard_only_when_something_is_wrong() -> None:
    output = io.StringIO()
    configure(stream=output, env={})
    chatty = logging.getLogger("a.chatty.library")
    chatty.setLevel(logging.DEBUG)
    chatty.debug("building an index")
    chatty.warning("the index is %s", "odd")
    assert [line["event"] for line in lines(output)] == ["the index is odd"]


def test_the_level_comes_from_the_environment_and_a_wrong_one_is_refused() -> None:
    output = io.StringIO()
    configure("info", stream=output, env={"INSTANT_RECALL_LOG_LEVEL": "error"})
    structlog.get_logger().warning("child.died")
    assert output.getvalue() == ""
    with pytest.raises(RecallError, match="INSTANT_RECALL_LOG_LEVEL"):
        configure(env={"INSTANT_RECALL_LOG_LEVEL": "loud"})
