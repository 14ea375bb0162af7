"""Skills: every folder that holds a `SKILL.md`."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from ..events.errors import RecallError
from ..events.types import AssetRecorded, Millis
from ..projections.naming.slugs import slug
from .folders import Found, Skipped, read_text, real_root
from .front_matter import FrontMatter, one_line, read_front_matter
from .importing import OnFile, Recorded, Scan, scan
from .markdown import first_paragraph

IMPORTER: Final = "skills"
LONGEST_NAME: Final = 200
LONGEST_DESCRIPTION: Final = 4_000
USE_WHEN_KEYS: Final = ("when_to_use", "use_when", "triggers")
"""Fields of front matter that say when a skill helps; also spelt with hyphens."""


def is_skill_file(name: str) -> bool:
    """Whether a file of this name makes its folder a skill."""
    return name.lower() == "skill.md"


def scan_skills(root: Path, *, on_file: OnFile | None = None, now: Millis | None = None) -> Scan:
    """Read every skill below `root`, `root` itself included; `root` may also be one `SKILL.md`, or a file like it.

    Each gives an `AssetRecorded` of kind skill with the id `skill:<slug of its name>`. Nothing else in a skill's front
    matter has a say in ids, audience or source.

    Raises:
        NotFound: there is nothing at `root`.
        RecallError: `root` is a file that is no skill.
    """
    _check_file(real_root(root))
    return scan(root, IMPORTER, is_skill_file, _parse, on_file=on_file, now=now)


def _check_file(file: Path) -> None:
    """Refuse a single file of another name that does not say what skill it is; any Markdown would make one."""
    if file.is_dir() or is_skill_file(file.name):
        return
    text = read_text(Found(file, file.name, file.name, ""))
    # What cannot be read is told of by the scan.
    front = None if isinstance(text, Skipped) else read_front_matter(text)
    if front and not (front.text("name", LONGEST_NAME) and front.text("description", LONGEST_DESCRIPTION)):
        raise RecallError(
            f"{file.name} is no skill: it is not called SKILL.md, and it has no front matter with name and description."
            " Name a folder with skills, or import it with `instant-recall import notes`."
        )


def asset_id(kind: str, name: str, fallback: str) -> str:
    """The id of a named asset; by its fallback name (of a folder or file) when the name has no letter or digit."""
    return f"{kind}:{slug(name) or slug(fallback) or 'unnamed'}"


def _parse(found: Found, text: str) -> list[Recorded] | Skipped:
    front = read_front_matter(text)
    if front.problem:
        return found.skip(front.problem)
    folder = one_line(found.path.parent.name, LONGEST_NAME)
    name = front.text("name", LONGEST_NAME) or folder
    description = front.text("description", LONGEST_DESCRIPTION)
    if not description:
        description = one_line(first_paragraph(front.body), LONGEST_DESCRIPTION)
    item = asset_id("skill", name, folder)
    skill = AssetRecorded(
        item=item,
        kind="skill",
        name=name,
        aliases=front.phrases("aliases"),
        purpose=front.text("purpose", LONGEST_DESCRIPTION),
        description=description,
        text=front.body.strip("\n"),
        address=item,
        use_when=_use_when(front),
    )
    return [skill]


def _use_when(front: FrontMatter) -> tuple[str, ...]:
    """What the front matter names; what the description tells of is taken from it by the projection."""
    written = front.phrases(*USE_WHEN_KEYS)
    learned = front.inside("metadata").phrases("instant_recall_keys")
    return tuple(dict.fromkeys((*written, *learned)))
