"""The report's page in a real browser: whole at every width, legible on light and dark, and nothing fetched."""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from instant_recall.ops.evaluation import suite
from instant_recall.ops.evaluation.report import report
from instant_recall.ops.evaluation.worlds import read_world

TINY = Path(__file__).parents[1] / "unit" / "tiny_world"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
DARK, LIGHT = 0, 1

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed (Debian: apt install chromium)")

LOOK = """
<script>
addEventListener('load', () => {
  document.querySelectorAll('details').forEach(each => each.open = true);
  const css = element => getComputedStyle(element);
  const numbers = colour => colour.match(/[\\d.]+/g).slice(0, 3).map(Number);
  const linear = c => c <= .04045 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4;
  const light = colour => numbers(colour).map(c => linear(c / 255))
    .reduce((sum, c, n) => sum + c * [.2126, .7152, .0722][n], 0);
  const contrast = (a, b) => (Math.max(light(a), light(b)) + .05) / (Math.min(light(a), light(b)) + .05);
  const paper = css(document.body).backgroundColor;
  const texts = [...document.querySelectorAll('p, li, td, th, a, summary, b, caption, dt, dd')];
  const charts = [...document.querySelectorAll('svg')];
  const cut = svg => { const box = svg.getBoundingClientRect();
    return [...svg.querySelectorAll('text')].filter(text => { const t = text.getBoundingClientRect();
      return t.left < box.left - 1 || t.right > box.right + 1 || t.top < box.top - 1 || t.bottom > box.bottom + 1;
    }).map(text => text.textContent) };
  const told = {
    wide: document.documentElement.scrollWidth - innerWidth, paper,
    faint: texts.filter(each => contrast(css(each).color, paper) < 4.5).map(each => each.textContent.slice(0, 40)),
    chart_faint: charts.flatMap(svg => [...svg.querySelectorAll('text')])
      .filter(each => css(each).fill != paper && contrast(css(each).fill, paper) < 4.5).map(each => each.textContent),
    charts: charts.map(svg => svg.getBoundingClientRect().height),
    letters: charts.map(svg => 9.5 * svg.getBoundingClientRect().width / svg.viewBox.baseVal.width),
    cut: charts.flatMap(cut),
    fetched: performance.getEntriesByType('resource').map(each => each.name),
  };
  document.body.innerHTML = '<pre id="told"></pre>';
  document.getElementById('told').textContent = JSON.stringify(told);
});
</script>
"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = suite.run_suite(read_world(TINY), name="tiny", named_probes=2, access_probes=2)
    written, _ = report(found, tmp_path_factory.mktemp("report"))
    # The page itself has no script; what looks at it does.
    looked_at = written.with_name("looked-at.html")
    looked_at.write_text(written.read_text(encoding="utf-8").replace("</body>", f"{LOOK}</body>"), encoding="utf-8")
    return looked_at


def seen(page: Path, width: int, scheme: int, profile: Path) -> dict[str, Any]:
    assert CHROMIUM
    done = subprocess.run(
        [
            *(CHROMIUM, *FLAGS, f"--user-data-dir={profile}", f"--window-size={width},1000"),
            *(f"--blink-settings=preferredColorScheme={scheme}", "--virtual-time-budget=5000", "--dump-dom"),
            page.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        env={**os.environ, "HOME": str(profile)},
    )
    told = re.search(r'<pre id="told">(.*?)</pre>', done.stdout, re.DOTALL)
    assert told, done.stderr
    return dict(json.loads(html.unescape(told[1])))


@pytest.mark.parametrize(
    ("width", "scheme", "paper"), [(800, DARK, "rgb(21, 24, 28)"), (1400, LIGHT, "rgb(255, 255, 255)")]
)
def test_the_page_is_whole_and_legible(page: Path, width: int, scheme: int, paper: str, tmp_path: Path) -> None:
    told = seen(page, width, scheme, tmp_path)

    assert told["paper"] == paper
    assert told["wide"] <= 0, "the page is wider than its window"
    assert told["faint"] == told["chart_faint"] == []
    assert len(told["charts"]) == 6
    assert min(told["charts"]) > 150
    assert min(told["letters"]) > 9, "letters of a chart, in pixels"
    assert told["cut"] == [], "letters that are cut off"
    assert told["fetched"] == []
