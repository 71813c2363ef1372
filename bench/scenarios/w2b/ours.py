"""watersmeet on W2b: the merge it picks itself, and plain counting on the first 30 s."""

from bench.contract import Engine, Variant
from bench.live import prepare_live

__all__ = ["ENGINE"]

ENGINE = Engine(
    kind="streaming",
    needs="watersmeet",
    prepare=prepare_live,
    variants=(
        Variant("auto", {"batch": 8_192}),
        Variant("merge=count, 30 s prefix", {"batch": 8_192, "merge": "count"}, scale=0.3, repeats=1),
    ),
)
