"""The `watersmeet` command: join files and pipes, explain a join, see it run.

Exit codes: 0 done, 1 the data or the engine refused, 2 the command was not understood, 130 interrupted.
"""

from __future__ import annotations

from watersmeet.cli.app import app, main

__all__ = ["app", "main"]
