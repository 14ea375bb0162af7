from instant_recall.workers.markdown import first_paragraph, heading_anchor, markdown_sections, text_pieces, whole_text

LAB = """Before.

# Lab machine

Intro.

## Camera

Two lenses.

```sh
# not a heading
```

## Camera

Again.

### Lens

Glass.

## Empty

# Other
Setext
------
Text.
"""


def test_sections_carry_headings_anchor_path_and_exact_lines():
    found = markdown_sections(LAB)
    assert [(s.headings, s.anchor, s.path, s.first, s.last) for s in found] == [
        ((), "", "", 1, 1),
        (("Lab machine",), "lab-machine", "lab-machine", 5, 5),
        (("Lab machine", "Camera"), "camera", "lab-machine/camera", 9, 13),
        (("Lab machine", "Camera"), "camera-1", "lab-machine/camera-1", 17, 17),
        (("Lab machine", "Camera", "Lens"), "lens", "lab-machine/camera/lens", 21, 21),
        (("Other", "Setext"), "setext", "other/setext", 28, 28),
    ]


def test_the_title_of_a_file_is_in_the_names_and_not_in_the_paths():
    titled = markdown_sections("# Lab\n\nintro\n\n## Camera\n\nc\n\n### Lens\n\nl\n")
    assert [(s.path, s.headings) for s in titled] == [
        ("", ("Lab",)), ("camera", ("Lab", "Camera")), ("camera/lens", ("Lab", "Camera", "Lens")),
    ]  # fmt: skip
    assert [s.path for s in markdown_sections("Before.\n\n# Lab\n\nintro\n\n## Lab\n\nl\n")] == ["", "lab", "lab-1"]


def test_the_text_of_a_section_is_exactly_its_lines():
    lines = LAB.split("\n")
    for section in markdown_sections(LAB):
        assert section.text == "\n".join(lines[section.first - 1 : section.last])


def test_lines_are_counted_from_the_line_on_which_the_text_begins():
    assert [(s.first, s.last) for s in markdown_sections("# A\n\ntext\n", first_line=5)] == [(7, 7)]


def test_headings_in_quotations_and_lists_start_no_section():
    assert len(markdown_sections("# A\n\n> # B\n\n- # C\n\n    # D\n")) == 1


def test_a_section_of_comments_and_rules_says_nothing():
    assert (
        markdown_sections("# A\n\n<!-- toc\nmore -->\n\n---\n\n[a]: https://example.org\n\n## B\n\nb\n")[0].anchor
        == "b"
    )


def test_heading_text_is_plain():
    assert markdown_sections("# The **big** `x` [link](u) <a id='q'></a>\n\nt")[0].headings == ("The big x link",)


def test_slugs_keep_letters_of_every_script_and_drop_the_rest():
    assert heading_anchor("What's New? (v2.0)") == "whats-new-v20"
    assert heading_anchor("🚀 מצלמה का") == "-מצלמה-का"
    assert heading_anchor("🚀\ufe0f") == ""


def test_headings_without_a_letter_still_get_an_anchor_of_their_own():
    assert [s.anchor for s in markdown_sections("# 🚀\n\na\n\n# 🎉\n\nb\n")] == ["section", "section-1"]


def test_a_long_section_is_cut_on_paragraph_borders_into_pieces_that_cover_it():
    paragraphs = [" ".join(f"w{n}x{i}" for i in range(90)) for n in range(12)]
    text = "# Long\n\n" + "\n\n".join(paragraphs) + "\n"
    pieces = markdown_sections(text)
    assert [p.piece for p in pieces] == [1, 2, 3]
    assert {p.anchor for p in pieces} == {"long"}
    assert "\n\n".join(p.text for p in pieces) == "\n\n".join(paragraphs)
    assert all(200 <= len(p.text.split()) <= 500 for p in pieces)
    lines = text.split("\n")
    assert all(p.text == "\n".join(lines[p.first - 1 : p.last]) for p in pieces)


def test_a_long_list_is_cut_between_its_entries_and_long_code_not_at_all():
    entries = "".join(f"- [entry {n}](e{n}.md) - says this and that about it\n" for n in range(100))
    pieces = markdown_sections(entries)
    assert len(pieces) > 1
    assert all(p.text.startswith("- [entry") for p in pieces)
    assert len(markdown_sections("```\n" + "some words of code\n\n" * 300 + "```\n")) == 1


def test_plain_text_is_one_section_and_long_plain_text_is_cut_at_empty_lines():
    assert [(p.first, p.last, p.text) for p in text_pieces("\n# no heading\nb\n")] == [(2, 3, "# no heading\nb")]
    assert len(text_pieces("\n\n".join(["one two three " * 30] * 10))) > 1


def test_the_whole_text_leaves_empty_lines_at_its_ends_out():
    whole = whole_text("\n \na\n\nb\n\n", first_line=4)
    assert whole is not None
    assert (whole.first, whole.last, whole.text) == (6, 8, "a\n\nb")
    assert whole_text(" \n") is None


def test_the_first_paragraph_is_plain_and_skips_headings_and_empty_ones():
    assert first_paragraph("# T\n\n<div>\n\nGets *the* `x`\nreport.\n\nMore.") == "Gets the x report."
    assert first_paragraph("# T\n") == ""
