"""A report as one HTML file: text, a table, charts. It loads nothing from anywhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from watersmeet.observe.chart import Chart, svg

__all__ = ["Report", "Section", "write_report"]

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 720px; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.5rem } h2 { font-size: 1.1rem; margin-top: 2rem }
table { border-collapse: collapse; width: 100% } td, th { padding: .3rem .6rem; text-align: right }
th:first-child, td:first-child { text-align: left } tr + tr { border-top: 1px solid #ddd }
svg { width: 100%; height: auto }
"""


@dataclass(frozen=True, slots=True)
class Section:
    """A heading, a sentence or two, and a chart."""

    heading: str
    text: str
    chart: Chart


@dataclass(frozen=True, slots=True)
class Report:
    """A title, what was done, a table (first row: headings), and sections."""

    title: str
    text: str
    table: Sequence[Sequence[str]]
    sections: Sequence[Section]

    def html(self) -> str:
        """The whole page."""
        head, *rows = self.table
        cells = "".join(f"<th>{escape(cell)}</th>" for cell in head)
        body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
        sections = "".join(
            f"<h2>{escape(part.heading)}</h2><p>{escape(part.text)}</p>{svg(part.chart)}"
            for part in self.sections
        )
        return (
            f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(self.title)}</title>'
            f"<style>{_STYLE}</style></head><body><h1>{escape(self.title)}</h1><p>{escape(self.text)}</p>"
            f"<table><tr>{cells}</tr>{body}</table>{sections}</body></html>\n"
        )


def write_report(report: Report, path: Path) -> None:
    """Write the page to a file."""
    path.write_text(report.html(), encoding="utf-8")
