"""watersmeet on W5: `wm.distance`."""

from bench.contract import Engine, Variant
from bench.live import prepare_live

__all__ = ["ENGINE"]

ENGINE = Engine(
    kind="streaming",
    needs="watersmeet",
    prepare=prepare_live,
    variants=(Variant("auto", {"batch": 64}),),
)
