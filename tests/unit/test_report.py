"""The report of a run: one page that needs nothing else, the same bytes for the same seed, and two runs told apart."""

from __future__ import annotations

import dataclasses
import json
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner
from instant_recall.events.errors import RecallError
from instant_recall.ops.cli import main
from instant_recall.ops.evaluation import report_charts, report_page, suite
from instant_recall.ops.evaluation.comparing import compare, lines
from instant_recall.ops.evaluation.evaluate import ask
from instant_recall.ops.evaluation.own import OwnCase, OwnReport
from instant_recall.ops.evaluation.report import load, own_report, prepare, report, without_times
from instant_recall.ops.evaluation.report_charts import Line, Mark, Panel
from instant_recall.ops.evaluation.report_words import judgements
from instant_recall.ops.evaluation.suite_result import Curve, SuiteResult
from instant_recall.ops.evaluation.worlds import read_world

TINY = Path(__file__).parent / "tiny_world"


def run(setups: list[str]) -> SuiteResult:
    found = suite.run_suite(read_world(TINY), setups, 7, name="tiny", named_probes=2, access_probes=2)
    # As JSON, so that what was written and read again is the same; the commit may change while tests run.
    return msgspec.json.decode(
        msgspec.json.encode(msgspec.structs.replace(found, commit="0123456789abcdef+")), type=SuiteResult
    )


@pytest.fixture(scope="module")
def result() -> SuiteResult:
    found = run(["S2", "S3", "S7"])
    other_make = [
        msgspec.structs.replace(row, scores=tuple(9 * score for score in row.scores)) for row in found.setups["S2"]
    ]
    return msgspec.structs.replace(
        found,
        baselines={"bm25s": other_make},
        figures={**found.figures, "bm25s": found.figures["S2"]},
        curves={**found.curves, "bm25s": found.curves["S2"]},
        latency={**found.latency, "bm25s": found.latency["S2"]},
    )


@pytest.fixture(scope="module")
def html(result: SuiteResult, tmp_path_factory: pytest.TempPathFactory) -> str:
    written, _ = report(result, tmp_path_factory.mktemp("report"), written="2026-11-30 12:00 UTC")
    return written.read_text(encoding="utf-8")


class Outline(HTMLParser):
    """What a reader's software makes of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)

    def all(self, *names: str) -> list[dict[str, str | None]]:
        return [attributes for tag, attributes in self.tags if tag in names]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def plain(html: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def test_two_runs_of_one_seed_give_the_same_bytes_but_for_the_section_with_the_times(tmp_path: Path) -> None:
    once, again = run(["S2", "S7"]), run(["S2", "S7"])
    for name, found in (("a", once), ("b", again)):
        report(found, tmp_path / name, written=f"on the day of {name}")
    pages = [(tmp_path / name / "report.html").read_text(encoding="utf-8") for name in ("a", "b")]

    assert pages[0] != pages[1]
    assert pages[0].count('<section aria-labelledby="times"') == 1
    before, after = (page.partition('<section aria-labelledby="times"')[0] for page in pages)
    assert before == after
    assert load(tmp_path / "a" / "report.json") == once
    assert without_times(once) == without_times(again)


def test_a_report_without_times_tells_none(result: SuiteResult, tmp_path: Path) -> None:
    page, data = report(result, tmp_path, with_times=False, written="on a day")
    html = page.read_text(encoding="utf-8")
    assert "on a day" not in html
    assert "limit: 50 ms" not in html
    assert 'href="#times"' not in html
    assert load(data) == without_times(result)
    assert {row.took_ms for row in load(data).setups["S7"]} == {0.0}


def test_the_page_fetches_nothing_and_runs_nothing(html: str) -> None:
    page = Outline(html)
    assert not page.all("script", "link", "iframe", "img", "object", "embed")
    for _, attributes in page.tags:
        for name in ("src", "href", "xlink:href", "srcset", "data"):
            assert (attributes.get(name) or "#").startswith("#")
        assert not any(name.startswith("on") for name in attributes)
    assert "@import" not in html
    assert not re.search(r"https?:|url\((?!#)", html)


def test_the_page_can_be_read_by_a_screen_reader(html: str) -> None:
    page = Outline(html)
    assert page.all("html") == [{"lang": "en"}]
    assert len(page.all("h1")) == 1
    assert len(page.all("svg")) == 6
    assert all(svg["role"] == "img" and len(svg["aria-label"] or "") > 30 for svg in page.all("svg"))
    assert len(page.all("table")) == len(page.all("caption")) > 8
    assert all(cell.get("scope") in ("col", "row") for cell in page.all("th"))
    assert '<th scope="col"></th>' not in html


def test_the_contents_lead_to_every_section_and_no_id_is_there_twice(html: str) -> None:
    page = Outline(html)
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    links = [(link["href"] or "")[1:] for link in page.all("a")]
    assert links == [section["aria-labelledby"] for section in page.all("section")]
    assert {(use["href"] or "")[1:] for use in page.all("a", "use")} <= set(ids)
    assert set(re.findall(r"url\(#([^)]+)\)", html)) <= set(ids)


def test_every_chart_says_how_it_is_read_and_takes_the_colours_of_the_page(html: str) -> None:
    assert html.count("<figure>") == html.count('<figcaption><p class="read">') == 6
    assert "prefers-color-scheme:dark" in html
    for chart in re.findall(r"<svg.*?</svg>", html, re.DOTALL):
        assert "var(--ink)" in chart
        assert not re.search(r"(?:fill|stroke): #", chart), "a colour that does not follow light and dark"


def test_the_page_tells_what_was_run(html: str, result: SuiteResult) -> None:
    said = plain(html)
    for what in (
        result.world["digest"],
        result.settings["encoder"],
        "bootstrap 7",
        "limit: 50 ms",
        "Written 2026-11-30",
    ):
        assert what in said
    assert all(case.request in said for case in result.cases if "'" not in case.request and "&" not in case.request)


def test_a_setup_that_adds_nothing_is_said_not_to_earn_its_place(result: SuiteResult) -> None:
    def with_test(setup: str, measure: str, **change: Any) -> SuiteResult:
        tests = [
            msgspec.structs.replace(test, **change) if (test.setup, test.measure) == (setup, measure) else test
            for test in result.tests
        ]
        return msgspec.structs.replace(result, tests=tests)

    def word(found: SuiteResult, setup: str) -> str:
        return next(each.word for each in judgements(found) if each.setup == setup)

    nothing = with_test("S3", "hit5", gained=0, lost=0, p=1.0, p_holm=1.0)
    assert word(nothing, "S2") == "starts"
    assert word(nothing, "S3") == "does not earn"
    assert "changes nothing against S2" in next(each.why for each in judgements(nothing) if each.setup == "S3")
    assert word(with_test("S3", "hit5", gained=3, lost=4, p_holm=1.0), "S3") == "does not earn"
    assert word(with_test("S3", "hit5", gained=4, lost=1, p_holm=0.4), "S3") == "unproven"
    assert word(with_test("S3", "hit5", gained=12, lost=1, p_holm=0.01), "S3") == "earns"
    assert word(with_test("S3", "hit5", gained=1, lost=12, p_holm=0.01), "S3") == "harms"


@pytest.mark.parametrize(("base_pushes", "word"), [(0.6, "costs"), (0.2, "unproven")])
def test_a_bar_that_the_baseline_could_have_as_well_proves_nothing(
    result: SuiteResult, base_pushes: float, word: str
) -> None:
    mine = msgspec.structs.replace(result.curves["S7"].points[0], recall=0.52, false_push=0.2)
    base = msgspec.structs.replace(mine, recall=0.5, false_push=base_pushes)
    tests = [
        msgspec.structs.replace(test, gained=20 * silence, lost=20 * (not silence), p_holm=0.001)
        for test in result.tests
        if (test.setup, test.family) == ("S7", "predecessor")
        for silence in [test.measure == "silence"]
    ]
    curves = {"S7": Curve(points=(mine,), at_recall={}), "S2": Curve(points=(), at_recall={"0.50": base})}
    found = msgspec.structs.replace(result, tests=tests, curves=curves)

    (judged,) = (each for each in judgements(found) if each.setup == "S7")
    assert judged.word == word
    assert f"would push in {100 * base_pushes:.0f} % of them" in judged.why
    assert ("a bar on S2 alone does as well" in judged.why) == (word == "unproven")


def test_markup_in_a_request_is_shown_as_it_was_typed(result: SuiteResult, tmp_path: Path) -> None:
    first, *rest = result.cases
    typed = "<script>alert(1)</script> & \x1b[31m $x_1$"
    odd = msgspec.structs.replace(result, cases=[msgspec.structs.replace(first, request=typed), *rest])
    written, _ = report(odd, tmp_path)

    html = written.read_text(encoding="utf-8")
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; [31m $x_1$" in html
    assert "<script" not in html


def test_a_run_without_gates_probes_or_silent_cases_has_a_report_too(result: SuiteResult, tmp_path: Path) -> None:
    world = read_world(TINY)
    asked = [answer for answer in ask(world) if answer.case.expect]
    bare = suite.assemble(dataclasses.replace(world, cases=tuple(answer.case for answer in asked)), {"S7": asked}, [])
    written, _ = report(bare, tmp_path)

    page = written.read_text(encoding="utf-8")
    assert "Gates of the misses" not in page
    assert 'S7</b> <b class="">is where the comparison starts' in page


def test_a_chart_is_the_same_each_time_and_takes_any_label() -> None:
    panels = [Panel("use $a$ <b> & (3)", [Mark("_S1", 0.3, 0.1, 0.6, "step1"), Mark("x", 0, 0, 1, "make", True)], 0.5)]
    once = report_charts.rates("one", "a <b> chart", panels, "share, %")

    assert once == report_charts.rates("one", "a <b> chart", panels, "share, %")
    assert "use $a$ &lt;b&gt; &amp; (3)" in once
    assert 'aria-label="a &lt;b&gt; chart"' in once
    drawn = [Line("S1", [[(0, 0), (0.5, 0.2)]], "plain"), Line("S7", [[(0.4, 0.1)]], "full"), Line("x", [[]], "make")]
    assert "S7" in report_charts.curves("two", "curves", [("t", "y, %")], drawn, "x, %")
    assert "limit: 50 ms" in report_charts.latencies("three", "times", [])


def test_the_owners_own_corrections_stay_private_unless_asked_for(tmp_path: Path) -> None:
    case = OwnCase(
        position="1-0",
        at="2026-11-01T10:00:00Z",
        request="where is the safe",
        item="note:cellar",
        known=True,
        pushed=(),
        ranked=("note:cellar",),
        pushed_after=("note:cellar",),
        pushed_then=None,
    )
    found = OwnReport(corrections=2, unusable=1, cases=(case,))
    for verbose in (False, True):
        for path in own_report(found, tmp_path / str(verbose), verbose=verbose):
            told = path.read_text(encoding="utf-8")
            assert ("where is the safe" in told, "note:cellar" in told) == (verbose, verbose)
    assert json.loads((tmp_path / "False" / "report.json").read_bytes())["hit5_after"] == 1
    none, _ = own_report(OwnReport(corrections=0, unusable=0, cases=()), tmp_path / "none")
    assert "<svg" not in none.read_text(encoding="utf-8")


def changed(result: SuiteResult, setup: str, place: int, **change: Any) -> SuiteResult:
    rows = list(result.setups[setup])
    rows[place] = msgspec.structs.replace(rows[place], **change)
    return msgspec.structs.replace(result, setups={**result.setups, setup: rows})


def test_what_got_better_and_worse_is_told_case_by_case(result: SuiteResult) -> None:
    expecting = [place for place, case in enumerate(result.cases) if case.expect]
    silent = next(place for place, case in enumerate(result.cases) if not case.expect)
    right, other = expecting[:2]
    wrong = {"hit1": False, "hit5": False, "pushed": (), "scores": (), "forbidden": ()}
    before = changed(changed(result, "S7", right, **wrong), "S7", silent, pushed=(), scores=(), forbidden=())
    after = changed(before, "S7", right, **{**wrong, "hit5": True, "pushed": result.cases[right].expect})
    after = changed(after, "S7", silent, pushed=("n-001",), scores=(0.5,), forbidden=("n-001",))
    after = changed(after, "S3", other, **wrong)
    before = changed(before, "S3", other, **{**wrong, "hit5": True, "pushed": result.cases[other].expect})

    found = compare(before, after)

    ids = {case.id: (case.better, case.worse) for case in found.changed}
    assert ids == {
        result.cases[right].id: (("S7",), ()),
        result.cases[silent].id: ((), ("S7",)),
        result.cases[other].id: ((), ("S3",)),
    }
    by_setup = {each.setup: (each.better, each.worse) for each in found.setups}
    assert by_setup == {"S2": (0, 0), "S3": (0, 1), "S7": (1, 1), "bm25s": (0, 0)}
    told = list(lines(found, verbose=True))
    assert any(line.startswith("better") and result.cases[right].request in line for line in told)
    assert any("nothing -> n-001; expected nothing" in line for line in told)
    assert list(lines(compare(result, result)))[-1] == "No case is judged differently."


def test_only_cases_that_were_asked_alike_are_compared(result: SuiteResult) -> None:
    first, *rest = result.cases
    other = msgspec.structs.replace(
        result,
        cases=[msgspec.structs.replace(first, request="something else"), *rest],
        world={**result.world, "digest": "another"},
    )
    found = compare(result, other)

    assert found.cases == len(rest)
    assert found.only_before == found.only_after == (first.id,)
    assert any(what.startswith("world digest") for what in found.differ)
    with pytest.raises(RecallError, match="no setup in common"):
        compare(result, msgspec.structs.replace(result, setups={}, baselines={}))
    with pytest.raises(RecallError, match="no case in common"):
        compare(result, msgspec.structs.replace(result, cases=[], setups={"S2": []}, baselines={}))


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b"\xff\xfe", b'{"cases": 155}'], ids=repr)
def test_a_file_that_holds_no_run_is_named(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "odd.json"
    path.write_bytes(content)
    told = CliRunner().invoke(main, ["eval", "--compare", str(path), str(path)])
    assert told.exit_code == 1
    assert "odd.json is not the result of a run" in told.stderr
    assert len(told.stderr.splitlines()) == 1


def test_rows_that_are_not_those_of_the_cases_are_refused(result: SuiteResult, tmp_path: Path) -> None:
    path = tmp_path / "short.json"
    path.write_bytes(msgspec.json.encode(msgspec.structs.replace(result, cases=result.cases[1:])))
    with pytest.raises(RecallError, match=r"short\.json is not the result"):
        load(path)


def test_the_command_writes_a_report_and_compares_it(
    result: SuiteResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(suite, "run_suite", lambda *_args, **_kwargs: result)
    folder = tmp_path / "new" / "folder"

    told = CliRunner().invoke(main, ["eval", "--world", str(TINY), "--report", str(folder), "--no-times"])
    again = CliRunner().invoke(main, ["eval", "--compare", *[str(folder / "report.json")] * 2, "--json"])

    assert told.exit_code == 0, told.output
    assert f"Written: {folder / 'report.html'}" in told.output
    assert sorted(path.name for path in folder.iterdir()) == ["report.html", "report.json"]
    assert load(folder / "report.json") == without_times(result)
    assert json.loads(again.stdout)["changed"] == []


def test_a_report_that_cannot_be_written_costs_no_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("here already", encoding="utf-8")
    monkeypatch.setattr(suite, "run_suite", lambda *_args, **_kwargs: pytest.fail("it was run"))

    below = CliRunner().invoke(main, ["eval", "--report", str(tmp_path / "file" / "report")])
    both = CliRunner().invoke(main, ["eval", "--report", str(tmp_path), "--no-bar"])
    alone = CliRunner().invoke(main, ["eval", "--no-times"])

    assert (below.exit_code, both.exit_code, alone.exit_code) == (1, 2, 2)
    assert "Name another folder" in below.stderr
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(RecallError, match=r"pip install instant-recall\[eval\]"):
        prepare(tmp_path / "other")


def test_every_colour_can_be_told_from_the_page_on_light_and_on_dark() -> None:
    def light(colour: str) -> float:
        parts = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    for colours in (report_page.LIGHT, report_page.DARK):
        by_name = dict(re.findall(r"--(\w+):(#[0-9a-f]{6})", colours))
        assert set(report_charts.COLOURS) <= set(by_name)
        paper = light(by_name["paper"])
        for name, colour in by_name.items():
            contrast = (max(light(colour), paper) + 0.05) / (min(light(colour), paper) + 0.05)
            # Letters stand in the bars of the gates; the others are lines and marks.
            needed = 1 if name in ("paper", "grid", "shade") else 3 if name in ("plain", "step1", "step2") else 4.5
            assert contrast >= needed, (name, contrast)
