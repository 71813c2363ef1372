"""watersmeet on W1: `WindowJoin`, pushed alternating batches of the two streams.

Beside the figure that is compared with the others: batches of 1k rows, windows of 0.1, 1 and 10 s with as
many keys as keep the matches per row equal, a payload of 6 columns per side gathered into the results instead
of row numbers, and results in timestamp order. A join grows from nothing; all but the line that says so run
in memory that the process has used before, as the loop's tables are touched before its clock starts.
"""

from bench.arrow_input import PAYLOAD
from bench.contract import Engine, Variant
from bench.live import prepare_live

__all__ = ["ENGINE"]

_BATCH = 65_536

ENGINE = Engine(
    kind="streaming",
    needs="watersmeet",
    prepare=prepare_live,
    variants=(
        Variant("64k batch", {"batch": _BATCH}, rehearsed=True),
        Variant("64k batch, first join of the process", {"batch": _BATCH}),
        Variant("1k batch", {"batch": 1_024}, rehearsed=True),
        Variant("64k batch, in order", {"batch": _BATCH, "order": "filter-order"}, rehearsed=True),
        Variant("1k batch, in order", {"batch": 1_024, "order": "filter-order"}, rehearsed=True),
        Variant(
            "6 payload columns gathered", {"batch": _BATCH, "payload": PAYLOAD}, checks=False, rehearsed=True
        ),
        Variant(
            "window x1", {"batch": 8_192}, resize={"window_us": 100_000, "domain": 20_000}, rehearsed=True
        ),
        Variant(
            "window x10", {"batch": 8_192}, resize={"window_us": 1_000_000, "domain": 200_000}, rehearsed=True
        ),
        Variant("window x100", {"batch": 8_192}, rehearsed=True),
    ),
)
