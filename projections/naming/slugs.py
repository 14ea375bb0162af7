"""Slugs: the readable part of an id made from a name."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

LONGEST: Final = 80
"""Characters of the longest slug."""


def slug(name: str) -> str:
    """Lower case letters and digits of any script, joined by dashes: "Lab Machine > Camera" is "lab-machine-camera".

    Empty for a name without any.
    """
    plain = unicodedata.normalize("NFKC", name).casefold()
    return re.sub(r"[^\w]+|_+", "-", plain).strip("-")[:LONGEST].rstrip("-")
