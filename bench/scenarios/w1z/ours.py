"""watersmeet on W1z: batches shorter than the window, and longer ones."""

from bench.contract import Engine, Variant
from bench.live import prepare_live

__all__ = ["ENGINE"]

ENGINE = Engine(
    kind="streaming",
    needs="watersmeet",
    prepare=prepare_live,
    variants=(
        Variant("8k batch", {"batch": 8_192}, rehearsed=True),
        Variant("64k batch", {"batch": 65_536}, rehearsed=True),
    ),
)
