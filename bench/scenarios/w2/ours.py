"""watersmeet on W2: the merge it picks itself, and each merge it can be told to use."""

from bench.contract import Engine, Variant
from bench.live import prepare_live

__all__ = ["ENGINE"]

ENGINE = Engine(
    kind="streaming",
    needs="watersmeet",
    prepare=prepare_live,
    variants=(
        Variant("auto", {"batch": 1_024}),
        Variant("merge=bitmap", {"batch": 1_024, "merge": "bitmap"}),
        Variant("merge=count", {"batch": 1_024, "merge": "count"}),
        Variant("merge=heap", {"batch": 1_024, "merge": "heap"}, repeats=1),
    ),
)
