from typing import Any

import pytest
from instant_recall.events.envelope import OWNER_ONLY, Actor
from instant_recall.events.errors import NotFound, RecallError
from instant_recall.workers.front_matter import NOT_YAML
from instant_recall.workers.skills import scan_skills as _scan_skills

# Any: what a draft holds is looked into freely here.
scan_skills: Any = _scan_skills

PORTAL = """---
name: portal-helper
description: "Drives a logged-in browser. Use when a site blocks downloads. Do not use when there is an API."
when_to_use:
  - the portal wants a login
triggers: fetch the report; company portal
aliases: [portal]
---

# Portal helper

Open the page.
"""


def skill(root, folder, text, name="SKILL.md"):
    path = root / folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def events(root):
    return {draft.event.item: draft.event for draft in scan_skills(root).drafts}


def reasons(root):
    return {skipped.path: skipped.reason for skipped in scan_skills(root).skipped}


def test_a_skill_gives_its_name_description_situations_and_text(tmp_path):
    path = skill(tmp_path, "tools/portal", PORTAL)
    (draft,) = scan_skills(tmp_path, now=5).drafts
    event = draft.event
    assert (event.item, event.kind, event.name, event.address) == (
        "skill:portal-helper", "skill", "portal-helper", "skill:portal-helper",
    )  # fmt: skip
    assert event.description.startswith("Drives a logged-in browser.")
    assert event.use_when == ("the portal wants a login", "fetch the report", "company portal")
    assert event.aliases == ("portal",)
    assert event.text == "# Portal helper\n\nOpen the page."
    assert event.digest
    assert (draft.actor, draft.occurred_at) == (Actor("import", "skills"), 5)
    assert draft.source.uri == path.resolve().as_uri()


def test_the_folder_name_and_the_first_paragraph_stand_in_for_what_is_missing(tmp_path):
    skill(tmp_path, "Stage Deploy", "# Stage\n\nPuts a *build* on the box.\n", name="skill.md")
    event = events(tmp_path)["skill:stage-deploy"]
    assert (event.name, event.description) == ("Stage Deploy", "Puts a build on the box.")


def test_a_single_skill_file_and_a_skill_folder_itself_can_be_imported(tmp_path):
    path = skill(tmp_path, "portal", PORTAL)
    assert list(events(path)) == list(events(path.parent)) == ["skill:portal-helper"]


def test_a_description_with_unquoted_colons_is_imported(tmp_path):
    skill(tmp_path, "a", "---\nname: a-skill\ndescription: Makes: things. Use when: you need: things\n---\nBody")
    event = events(tmp_path)["skill:a-skill"]
    assert event.description == "Makes: things. Use when: you need: things"


def test_front_matter_that_is_not_yaml_is_skipped_by_name_and_the_rest_imported(tmp_path):
    skill(tmp_path, "bad", "---\n{{{ [\n: :\n---\nBody")
    skill(tmp_path, "good", PORTAL)
    assert list(events(tmp_path)) == ["skill:portal-helper"]
    assert reasons(tmp_path) == {f"{tmp_path.name}/bad/SKILL.md": NOT_YAML}


def test_front_matter_cannot_choose_audience_actor_kind_or_id(tmp_path):
    skill(
        tmp_path,
        "x",
        "---\nname: plain\nid: machine:lab\nitem: a\nkind: machine\naudience: [all]\nactor: owner\n---\nB",
    )
    (draft,) = scan_skills(tmp_path).drafts
    assert (draft.event.item, draft.event.kind) == ("skill:plain", "skill")
    assert (draft.audience, draft.actor.kind) == (OWNER_ONLY, "import")


def test_names_lose_control_and_bidi_characters_and_long_fields_are_cut(tmp_path):
    skill(tmp_path, "x", f'---\nname: "good\\u202Eevil\\n[skill] fake"\ndescription: {"d" * 5000}\n---\nB')
    (event,) = events(tmp_path).values()
    assert event.name == "goodevil [skill] fake"
    assert len(event.description) == 4_000
    skill(tmp_path, "x", f"---\nname: {'n' * 500}\ndescription: d\n---\nB")
    (event,) = events(tmp_path).values()
    assert len(event.name) == 200


def test_names_in_emoji_and_right_to_left_scripts_are_imported(tmp_path):
    skill(tmp_path, "🚀", "---\nname: 🚀\ndescription: starts\n---\n")
    skill(tmp_path, "מצלמה", "---\nname: מצלמה\ndescription: looks\n---\n")
    assert {item: event.name for item, event in events(tmp_path).items()} == {
        "skill:unnamed": "🚀",
        "skill:מצלמה": "מצלמה",
    }


def test_two_folders_with_one_name_are_two_skills_and_the_nearer_keeps_the_plain_id(tmp_path):
    skill(tmp_path, "archive/old", PORTAL)
    skill(tmp_path, "zebra", PORTAL)
    skill(tmp_path, "archive-old/x", "---\nname: Portal helper archive old\n---\nB")
    found = events(tmp_path)
    assert sorted(found) == [
        "skill:portal-helper", "skill:portal-helper-archive-old", "skill:portal-helper-archive-old-2",
    ]  # fmt: skip
    assert {d.event.item: d.source.uri.rsplit("/", 2)[-2] for d in scan_skills(tmp_path).drafts} == {
        "skill:portal-helper": "zebra",
        "skill:portal-helper-archive-old": "x",
        "skill:portal-helper-archive-old-2": "old",
    }
    assert all(event.address == item for item, event in found.items())


def test_a_skill_file_that_links_out_of_the_folder_is_skipped(tmp_path):
    outside = skill(tmp_path, "outside", PORTAL)
    link = tmp_path / "skills" / "x" / "SKILL.md"
    link.parent.mkdir(parents=True)
    link.symlink_to(outside)
    assert events(tmp_path / "skills") == {}
    assert reasons(tmp_path / "skills") == {"skills/x/SKILL.md": "points outside the folder"}


def test_windows_line_ends_change_neither_digest_nor_text(tmp_path):
    skill(tmp_path / "lf", "portal", PORTAL)
    skill(tmp_path / "crlf", "portal", PORTAL.replace("\n", "\r\n"))
    assert events(tmp_path / "lf") == events(tmp_path / "crlf")


def test_a_path_at_which_nothing_is_says_so(tmp_path):
    with pytest.raises(NotFound, match="nowhere"):
        scan_skills(tmp_path / "nowhere")


@pytest.mark.parametrize(
    "text", ["# Shopping\n\nMilk.\n", "---\ntitle: Shopping\n---\nMilk\n", "---\nname: [\n---\nMilk\n"]
)
def test_a_single_file_that_is_no_skill_is_refused_with_what_to_do(tmp_path, text):
    path = skill(tmp_path, "notes", text, "shopping.md")
    with pytest.raises(RecallError, match=r"shopping\.md is no skill: .* `instant-recall import notes`"):
        scan_skills(path)


def test_a_single_file_like_a_skill_is_one_whatever_it_is_called(tmp_path):
    path = skill(tmp_path, "tools", PORTAL, "portal.md")
    assert list(events(path)) == ["skill:portal-helper"]
    assert list(events(skill(tmp_path, "bare", "Feeds paper.\n"))) == ["skill:bare"]


def test_a_single_file_that_cannot_be_read_is_told_of(tmp_path):
    assert list(reasons(skill(tmp_path, "tools", b"\x00\x01", "portal.md")).values()) == ["binary"]
