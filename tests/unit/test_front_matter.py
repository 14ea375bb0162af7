import time

import pytest
from instant_recall.workers.front_matter import NOT_YAML, TOO_LARGE, one_line, read_front_matter


def test_yaml_fields_are_read_as_text_and_the_body_keeps_its_line():
    front = read_front_matter("---\nname: portal\nversion: 1.10\nOn-Call: no\n---\n\nBody\n")
    assert front.fields == {"name": "portal", "version": "1.10", "on_call": "no"}
    assert (front.body, front.body_line) == ("\nBody\n", 6)


def test_a_file_without_front_matter_is_all_body():
    front = read_front_matter("# Lab\n---\nx: y\n---\n")
    assert (front.fields, front.body_line, front.problem) == ({}, 1, "")


def test_an_unquoted_colon_in_a_description_does_not_lose_the_skill():
    front = read_front_matter('---\nname: "portal"\ndescription: Fetches: reports. Use when: downloads fail\n---\nBody')
    assert front.text("name", 200) == "portal"
    assert front.text("description", 200) == "Fetches: reports. Use when: downloads fail"
    assert front.body == "Body"


def test_block_scalars_lists_and_continued_lines_are_read_when_yaml_gives_up():
    source = (
        "---\nbroken: a: b\ndescription: >-\n  first line\n  second: line\nuse_when:\n  - a site: blocks\n  - logins\n"
        "purpose: one\n  two\n---\n"
    )
    front = read_front_matter(source)
    assert front.text("description", 200) == "first line second: line"
    assert front.phrases("use_when") == ("a site: blocks", "logins")
    assert front.text("purpose", 200) == "one two"


def test_front_matter_that_nobody_closed_ends_at_the_first_line_that_is_no_part_of_it():
    front = read_front_matter("---\nname: portal\ndescription: gets reports\n\n# Portal\n")
    assert front.text("description", 200) == "gets reports"
    assert (front.body, front.body_line) == ("\n# Portal\n", 4)


@pytest.mark.parametrize(
    "source",
    [
        "---\n{{{ no yaml [\n: : :\n---\nBody",
        "---\njust a sentence\n---\nBody",
        "---\n\x07\x1b\x02garbage\n---\n",
        "---\nname: [unclosed\ndescription: : :\n---\n",
        "---\nnever closed and nothing usable",
    ],
)
def test_front_matter_that_cannot_be_read_names_the_problem_and_yields_nothing(source):
    front = read_front_matter(source)
    assert (front.problem, front.fields, front.body) == (NOT_YAML, {}, source)


def test_yaml_aliases_are_refused_so_a_small_file_cannot_grow():
    bomb = "---\nname: bomb\na: &a [lol, lol]\n" + "".join(
        f"{chr(98 + n)}: &{chr(98 + n)} [{', '.join([f'*{chr(97 + n)}'] * 9)}]\n" for n in range(9)
    )
    front = read_front_matter(bomb + "---\n")
    assert front.text("name", 200) == "bomb"
    assert all(isinstance(value, str) for value in front.fields.values())


@pytest.mark.parametrize("source", ["a: " + "[" * 20_000, "a: " + "{a: " * 10_000, "- " * 20_000, "? " * 20_000])
def test_deep_nesting_neither_crashes_nor_hangs(source):
    started = time.monotonic()
    read_front_matter(f"---\n{source}\n---\n")
    assert time.monotonic() - started < 5


def test_tags_make_no_objects():
    front = read_front_matter('---\nname: !!python/object/apply:os.system ["true"]\ndate: 2026-99-99\n---\n')
    assert front.fields == {"name": ["true"], "date": "2026-99-99"}


def test_more_front_matter_than_anybody_writes_is_refused():
    assert read_front_matter(f"---\nname: {'x' * 70_000}\n---\n").problem == TOO_LARGE


def test_where_a_line_of_dashes_may_be_a_rule_prose_is_not_taken_for_front_matter():
    for source in ("---\nWarning: old\n\nProse\n", "---\nNote: this: is\nplain prose, not keys\n---\nMore\n"):
        front = read_front_matter(source, strict=True)
        assert (front.fields, front.body) == ({}, source)
    assert read_front_matter("---\ntitle: a: b\n---\nText", strict=True).text("title", 9) == "a: b"


def test_phrases_come_from_lists_and_from_texts_parted_by_semicolons_without_repeats():
    front = read_front_matter('---\nuse-when: "a ; b; a"\ntriggers: [c, {d: e}, b]\n---\n')
    assert front.phrases("use_when", "triggers") == ("a", "b", "c")


def test_one_line_drops_control_and_bidi_characters_and_keeps_what_scripts_need():
    assert one_line("a\x1b[31m\u202egnp.exe\u2066\n b\u200b", 50) == "a[31mgnp.exe b"
    assert one_line("👩\u200d💻 می\u200cخواهم", 50) == "👩\u200d💻 می\u200cخواهم"
    assert one_line("x" * 300, 200) == "x" * 199 + "…"
