"""What a join did, for people: charts and reports that stand alone."""

from __future__ import annotations

from watersmeet.observe.chart import Chart, Curve, svg
from watersmeet.observe.report import Report, Section, write_report

__all__ = ["Chart", "Curve", "Report", "Section", "svg", "write_report"]
