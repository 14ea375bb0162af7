"""The parts that a report's page is put together from: one file, nothing fetched, readable without a script."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import Final, NamedTuple

from ..output import one_line

LIGHT: Final = """
--paper:#ffffff; --ink:#1d2126; --muted:#58616c; --grid:#dde1e6; --shade:#f4f6f8; --link:#1c5fa8;
--plain:#7b8591; --base:#b9540a; --full:#0e7a6d; --make:#7c5ba6;
--step1:#5796cc; --step2:#3f85c2; --step3:#2470b3; --step4:#0c4580;
--gate1:#66707c; --gate2:#7c5ba6; --gate3:#96630a; --gate4:#2470b3; --gate5:#0e7a6d; --gate6:#b34060;
--good:#0e6f3c; --bad:#a82a20; --doubt:#7d5a00;
"""
DARK: Final = """
--paper:#15181c; --ink:#e7eaee; --muted:#a2acb8; --grid:#343b44; --shade:#1e2329; --link:#7db8f2;
--plain:#8d97a4; --base:#f2a266; --full:#45c4b4; --make:#bda2ec;
--step1:#3c6c98; --step2:#4a8fca; --step3:#70b2ee; --step4:#b4daff;
--gate1:#97a2af; --gate2:#bda2ec; --gate3:#e3ab4c; --gate4:#70b2ee; --gate5:#45c4b4; --gate6:#ef8da6;
--good:#5fd08d; --bad:#ff8f85; --doubt:#e5bd5b;
"""
"""The colours on a light and on a dark page, as variables of its style sheet."""
_LETTERS: Final = 'system-ui,-apple-system,"Segoe UI",Roboto,"Liberation Sans",sans-serif'
_RULES: Final = """
* { box-sizing:border-box }
body { margin:0; background:var(--paper); color:var(--ink); font:16px/1.5 var(--letters) }
main { max-width:68rem; margin:0 auto; padding:2rem 1.5rem 4rem }
h1 { font-size:1.9rem; line-height:1.2; margin:0 0 .3rem }
h2 { font-size:1.35rem; margin:3rem 0 .6rem; padding-top:.8rem; border-top:1px solid var(--grid) }
h3 { font-size:1.05rem; margin:1.8rem 0 .4rem }
p, li { max-width:46rem }
p { margin:.5rem 0 }
.small, figcaption, caption { color:var(--muted); font-size:.9rem }
.read::before { content:"Read it like this: "; font-weight:600 }
a { color:var(--link) }
nav ol { columns:2; column-gap:2.5rem; padding-left:1.3rem; margin:.4rem 0 } nav li { margin:0 }
figure { margin:1rem 0 }
svg { display:block; width:100%; height:auto; stroke-linejoin:round; stroke-linecap:butt }
.scroll { overflow-x:auto; margin:.8rem 0 }
table { border-collapse:collapse; font-size:.92rem; font-variant-numeric:tabular-nums }
caption { text-align:left; padding:.2rem 0 .4rem }
th, td { padding:.28rem .7rem .28rem 0; text-align:left; vertical-align:top; border-bottom:1px solid var(--grid) }
thead th { font-weight:600; color:var(--muted); vertical-align:bottom }
tbody th { font-weight:600; white-space:nowrap }
.n { text-align:right }
td.n { white-space:nowrap }
td.short { white-space:nowrap } td.long { min-width:9rem }
.range { color:var(--muted); font-size:.82em; display:block; line-height:1.1 }
.good { color:var(--good) } .bad { color:var(--bad) } .doubt { color:var(--doubt) }
b.good, b.bad, b.doubt { font-weight:600 }
details { margin:.8rem 0 } summary { cursor:pointer; color:var(--link) }
dl { display:grid; grid-template-columns:max-content 1fr; gap:.2rem 1.2rem; font-size:.95rem }
dt { color:var(--muted) } dd { margin:0; overflow-wrap:anywhere }
code { font-size:.92em; background:var(--shade); padding:.05em .3em; border-radius:3px; overflow-wrap:anywhere }
.first { background:var(--shade); border-radius:8px; padding:.8rem 1.2rem; margin:1.2rem 0 }
.first li { max-width:none }
.first ul { padding-left:1.2rem; margin:.3rem 0 } .first li { margin:.35rem 0 }
@media (max-width:40rem) { nav ol { columns:1 } main { padding:1.2rem 1rem } }
"""
_STYLE: Final = (
    f":root {{ color-scheme:light dark; --letters:{_LETTERS}; {LIGHT} }}"
    f"@media (prefers-color-scheme:dark) {{ :root {{ {DARK} }} }}"
    f"@media print {{ :root {{ color-scheme:light; {LIGHT} }} }}{_RULES}"
)


_SHORT: Final = 14
"""Letters of a cell that stays in one line."""
_LONG: Final = 24
"""Letters of a cell that needs some width."""


class Html(str):
    """Text that is markup already; all other text is escaped where it is put in."""

    __slots__ = ()


class Section(NamedTuple):
    """A part of the page with a heading of its own."""

    title: str
    body: Html


def text(value: object) -> Html:
    """What is shown as it is typed: markup in it is shown too, and control characters are not."""
    return value if isinstance(value, Html) else Html(escape(one_line(str(value))))


def join(parts: Iterable[Html]) -> Html:
    """Parts one after the other."""
    return Html("\n".join(parts))


def paragraph(what: object, css: str = "") -> Html:
    """One paragraph; `css` may be `read` (how to read a chart) or `small`."""
    return Html(f'<p class="{css}">{text(what)}</p>' if css else f"<p>{text(what)}</p>")


def heading(what: str) -> Html:
    """A heading inside a section."""
    return Html(f"<h3>{text(what)}</h3>")


def marked(what: object, css: str) -> Html:
    """A word that is `good`, `bad` or in `doubt`."""
    return Html(f'<b class="{css}">{text(what)}</b>')


def bullets(items: Iterable[Html]) -> Html:
    """A list."""
    return Html("<ul>" + "".join(f"<li>{item}</li>" for item in items) + "</ul>")


def table(caption: str, head: Sequence[str], rows: Iterable[Sequence[object]], *, numbers: Sequence[int] = ()) -> Html:
    """A table whose first column names the rows.

    Args:
        caption: what it shows.
        head: of the columns.
        rows: as many cells each.
        numbers: columns that are lined up on the right.
    """

    def cell(place: int, value: object, tag: str = "td") -> str:
        if tag == "td" and place == 0:
            tag, scope = "th", ' scope="row"'
        else:
            scope = ' scope="col"' if tag == "th" else ""
        length = len(str(value))
        size = "" if tag == "th" else "short" if length <= _SHORT else "long" if length > _LONG else ""
        css = "n" if place in numbers else size
        return f"<{tag}{scope}{f' class={css}' if css else ''}>{text(value)}</{tag}>"

    top = "".join(cell(place, name, "th") for place, name in enumerate(head))
    body = "\n".join("<tr>" + "".join(cell(n, value) for n, value in enumerate(row)) + "</tr>" for row in rows)
    return Html(
        f'<div class="scroll" tabindex="0" role="region" aria-label="{text(caption)}"><table><caption>{text(caption)}'
        f"</caption>\n<thead><tr>{top}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>"
    )


def figure(svg: str, caption: object) -> Html:
    """A chart, with how to read it."""
    return Html(f'<figure>{svg}\n<figcaption><p class="read">{text(caption)}</p></figcaption></figure>')


def folded(summary: str, body: Html) -> Html:
    """Something long that is opened by who wants it."""
    return Html(f"<details><summary>{text(summary)}</summary>\n{body}\n</details>")


def facts(pairs: Iterable[tuple[str, object]]) -> Html:
    """Names and values."""
    return Html("<dl>" + "".join(f"<dt>{text(name)}</dt><dd>{text(value)}</dd>" for name, value in pairs) + "</dl>")


def page(title: str, first: Html, sections: Sequence[Section]) -> str:
    """The whole page: one main heading, what matters most, a list of contents, the sections."""
    anchors = [re.sub(r"[^a-z]+", "-", section.title.lower()).strip("-") for section in sections]
    contents = "".join(
        f'<li><a href="#{anchor}">{text(section.title)}</a></li>'
        for anchor, section in zip(anchors, sections, strict=True)
    )
    body = "\n".join(
        f'<section aria-labelledby="{anchor}">\n<h2 id="{anchor}">{text(section.title)}</h2>\n'
        f"{section.body}\n</section>"
        for anchor, section in zip(anchors, sections, strict=True)
    )
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>{text(title)}</title>\n'
        f"<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{text(title)}</h1>\n{first}\n"
        f'<nav aria-label="Contents">\n<p><b>Contents</b></p>\n<ol>{contents}</ol>\n</nav>\n{body}\n</main>\n'
        "</body>\n</html>\n"
    )
