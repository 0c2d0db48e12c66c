"""From results to the chapters of the report, and those as Markdown and as one HTML page."""

from __future__ import annotations

import html
import re

from poscount.experiments.report import cells as cell
from poscount.experiments.report.experiment_section import experiment_section
from poscount.experiments.report.figures import Picture
from poscount.experiments.report.results import Results
from poscount.experiments.report.sections import Section, beside_the_paper, failures, what_was_run
from poscount.experiments.report.time_and_thresholds import threshold_section, time_section
from poscount.plotting.page import picture_element, whole_page

TITLE = "Quantification from positives alone: results"

# Longer tables would only be in the way on a page.
_MOST_ROWS = 400

_CSS = """
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.85rem; font-variant-numeric: tabular-nums; }
th, td { padding: 0.2rem 0.6rem; border-bottom: 1px solid var(--line); text-align: right;
  white-space: nowrap; }
th { border-bottom: 2px solid var(--line); vertical-align: bottom; white-space: normal; }
.text { text-align: left; }
td.text { white-space: normal; min-width: 5rem; max-width: 26rem; overflow-wrap: anywhere; }
td:first-child.text { min-width: 6.5rem; overflow-wrap: break-word; position: sticky; left: 0;
  background: Canvas; }
tbody tr:nth-child(even) { background: var(--soft); }
small { font-size: 0.75rem; color: var(--quiet); }
.caption { font-weight: 600; margin: 1.5rem 0 0.3rem; }
"""


def contents(results: Results) -> list[Section]:
    """Chapters of the report; a chapter about what is not there says so."""
    evaluations = results.evaluations
    cells, counts = cell.errors(evaluations), cell.counts(evaluations)
    intervals, times = cell.intervals(evaluations), cell.seconds(evaluations)
    experiments = sorted(set(evaluations["experiment"]) - {"4"})
    return [
        what_was_run(results, counts),
        beside_the_paper(cells, times),
        *(experiment_section(e, results, cells, counts, intervals) for e in experiments),
        time_section(times),
        threshold_section(results, cells),
        failures(evaluations),
    ]


def markdown(sections: list[Section]) -> str:
    """Write the report as Markdown, with pictures and long tables as files beside it."""
    lines = [f"# {TITLE}"]
    for section in sections:
        lines += [f"## {section.title}", *section.text]
        for item in section.items:
            if isinstance(item, Picture):
                lines.append(f"![{item.title}](figures/{item.name}.png)")
            elif item.long:
                lines.append(f"{item.title}: [csv/{item.name}.csv](csv/{item.name}.csv)")
            else:
                lines.append(f"**{item.title}**\n\n{item.markdown().rstrip()}")
    return "\n\n".join(lines) + "\n"


def page(sections: list[Section]) -> str:
    """Write the report as one HTML page that needs nothing beside it."""
    links = "\n".join(
        f'<li><a href="#{_anchor(s.title)}">{html.escape(s.title)}</a></li>' for s in sections
    )
    chapters = "".join(map(_chapter, sections))
    return whole_page(TITLE, f"<nav><ul>\n{links}\n</ul></nav>\n{chapters}", _CSS)


def _chapter(section: Section) -> str:
    parts = [f'<h2 id="{_anchor(section.title)}">{html.escape(section.title)}</h2>\n']
    parts += [f"<p>{html.escape(text)}</p>\n" for text in section.text]
    for item in section.items:
        if isinstance(item, Picture):
            parts.append(picture_element(item.png, item.title))
        elif len(item.rows) > _MOST_ROWS:
            name = html.escape(f"csv/{item.name}.csv")
            title = html.escape(item.title)
            parts.append(f'<p class="note">{title}: {len(item.rows):,} rows, in {name}.</p>\n')
        else:
            parts.append(item.html())
    return "".join(parts)


def _anchor(title: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
