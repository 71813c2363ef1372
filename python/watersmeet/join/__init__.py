"""The joins that users hold: `join` for two tables, `WindowJoin` live, `MultiJoin` for more streams.

This room turns columns into what the compiled core reads, drives it, and gathers payload for its results.
"""

from __future__ import annotations

from watersmeet.join.multi_join import MultiJoin
from watersmeet.join.ring_join import RingJoin
from watersmeet.join.table_join import join
from watersmeet.join.why_not import why_not
from watersmeet.join.window_join import WindowJoin

__all__ = ["MultiJoin", "RingJoin", "WindowJoin", "join", "why_not"]
